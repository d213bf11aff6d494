//! A worker or client: it hears at once, and says at once what follows from that. When a task that
//! it has ends is a choice of the path.

use std::collections::BTreeMap;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{
    Answer, Call, Effect, Message, Peer, Refusal, Request, Submission,
};
use tidings_tasks_core::retry::Cause;

/// The payload of a task that has a child.
pub(crate) const PARENT: &[u8] = b"parent";

/// What is said, by which request of its.
pub(crate) type Said = Vec<(Call, Request)>;

#[derive(Debug)]
pub(crate) struct Party {
    number: u64,
    life: u64,
    pub(crate) slots: u32,
    pub(crate) peer: Peer,
    /// The tasks it has, and their payloads; without those whose end was said.
    pub(crate) hand: BTreeMap<(TaskId, Attempt), Vec<u8>>,
    /// Those whose end was said, and not answered.
    ending: BTreeMap<Call, (TaskId, Attempt)>,
    /// What was not answered.
    calls: BTreeMap<Call, Request>,
    last_call: u64,
    /// By which request it joins: until that is answered it says nothing else.
    joining: Option<Call>,
    /// What it was told while it was cut off; none if it is not.
    pub(crate) unheard: Option<Vec<Message>>,
}

impl Party {
    pub(crate) fn new(number: u64, slots: u32) -> Self {
        Self {
            number,
            life: 1,
            slots,
            peer: Peer(0),
            hand: BTreeMap::new(),
            ending: BTreeMap::new(),
            calls: BTreeMap::new(),
            last_call: 0,
            joining: None,
            unheard: None,
        }
    }

    pub(crate) fn host(&self) -> String {
        format!("h{}", self.number)
    }

    /// It is started again, and knows of nothing.
    pub(crate) fn restart(&mut self) {
        let (life, last_call) = (self.life + 1, self.last_call);
        *self = Self { life, last_call, ..Self::new(self.number, self.slots) };
    }

    /// It joins over a new connection, or once more over its own.
    pub(crate) fn join(&mut self, peer: Peer) -> Said {
        self.peer = peer;
        let holding = self.hand.keys().chain(self.ending.values()).copied().collect();
        let name = format!("p{}.{}", self.number, self.life);
        let join = self.number(Request::Join { name, host: self.host(), holding });
        self.joining = Some(join.0);
        vec![join]
    }

    /// It has joined: it takes tasks, and asks again what was not answered.
    fn joined(&mut self) -> Said {
        self.joining = None;
        let mut said = Said::new();
        if self.slots > 0 {
            let (queues, resources, slots) = (Vec::new(), Vec::new(), self.slots);
            said.push(self.number(Request::Offer {
                queues,
                slots,
                resources,
                ahead: 0,
                full: None,
            }));
        }
        said.extend(self.calls.clone());
        said
    }

    /// A request that is not asked again.
    pub(crate) fn number(&mut self, request: Request) -> (Call, Request) {
        self.last_call += 1;
        (Call(self.last_call), request)
    }

    pub(crate) fn ask(&mut self, request: Request) -> Said {
        let (call, request) = self.number(request);
        self.calls.insert(call, request.clone());
        if self.joining.is_some() { Said::new() } else { vec![(call, request)] }
    }

    /// A task that it has ends.
    pub(crate) fn complete(&mut self, key: (TaskId, Attempt)) -> Said {
        let Some(payload) = self.hand.remove(&key) else { return Said::new() };
        let (task, attempt) = key;
        let is_parent = payload == PARENT;
        let child = is_parent.then(|| Submission::new(task.child(0), "q", "plain"));
        let result = attempt.0.to_be_bytes().to_vec();
        let own = format!("sum/{task}").into_bytes();
        // It expects nothing: that it is written once is up to the attempt alone.
        let effect = Effect { key: own, value: Some(result.clone().into()), expect: None };
        let (children, effects) = (child.into_iter().collect(), vec![effect]);
        self.end(
            key,
            Request::Complete { task, attempt, result, children, effects, puts: Vec::new() },
        )
    }

    fn end(&mut self, key: (TaskId, Attempt), request: Request) -> Said {
        self.ending.insert(Call(self.last_call + 1), key);
        self.ask(request)
    }

    pub(crate) fn hear(&mut self, message: Message) -> Said {
        match message {
            Message::Assign { task, attempt, payload, .. } => {
                let key = (task, attempt);
                if !self.ending.values().any(|one| *one == key) {
                    self.hand.insert(key, payload);
                }
                Said::new()
            }
            Message::Stop { task, attempt } => {
                let (cause, text, detail) = (Cause::Signal, String::new(), Vec::new());
                match self.hand.remove(&(task, attempt)) {
                    Some(_) => self
                        .end((task, attempt), Request::Fail { task, attempt, cause, text, detail }),
                    None => Said::new(),
                }
            }
            Message::Ended => self.join(self.peer),
            Message::Answer(call, Answer::Joined(_)) if self.joining == Some(call) => self.joined(),
            Message::Answer(call, Answer::Refused(Refusal::Elsewhere))
                if self.joining == Some(call) =>
            {
                self.join(self.peer)
            }
            // What it asked before it joined it asks again when it has.
            Message::Answer(_, Answer::Refused(Refusal::Elsewhere | Refusal::NoSession))
                if self.joining.is_some() =>
            {
                Said::new()
            }
            Message::Answer(call, Answer::Refused(Refusal::Elsewhere)) => {
                self.calls.get(&call).map(|request| (call, request.clone())).into_iter().collect()
            }
            Message::Answer(call, Answer::Refused(Refusal::NoSession))
                if self.calls.contains_key(&call) =>
            {
                self.join(self.peer)
            }
            Message::Answer(call, _) => {
                self.calls.remove(&call);
                self.ending.remove(&call);
                Said::new()
            }
        }
    }
}
