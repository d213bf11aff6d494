//! The stage: a store and who coordinates, and what is passed in and out step by step.

use core::time::Duration;

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings, Ticket};
use tidings_tasks_core::id::{Attempt, Epoch, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Refusal, Request, Submission};
use tidings_tasks_core::record::{Finished, Task, decode};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::{Durability, Limits, Record, Transaction};

pub(crate) const PART: Part = Part(0);
pub(crate) const TTL: Duration = Duration::from_secs(3);
pub(crate) const CLIENT: Peer = Peer(100);

/// A store and who coordinates.
pub(crate) struct Stage {
    pub(crate) ledger: Ledger,
    pub(crate) coordinator: Coordinator,
    pub(crate) now: Instant,
    pub(crate) last_call: u64,
    pub(crate) messages: Vec<(Peer, Message)>,
}

pub(crate) fn settings(ledger: &mut Ledger, epoch: u64) -> Settings {
    let candidate = Candidate {
        name: format!("c{epoch}"),
        host: "h".to_owned(),
        address: String::new(),
        session: None,
    };
    let seen = ledger.get(&keys::role(PART));
    let (take, _) = reign::take(PART, seen.as_ref(), &candidate).expect("a reign");
    Settings {
        part: PART,
        parts: 1,
        epoch: Epoch(epoch),
        role: ledger.commit(&take).expect("nobody else wants it"),
        limits: Limits { operations: 10_000, bytes: 1 << 24, durability: Durability::Synced },
        session_ttl: TTL,
        detector: tidings_tasks_core::detector::Detector::Session,
        reconnect: Duration::from_secs(1),
        queue_capacity: 1_000,
        pipeline: 4,
        cached_bytes: 1 << 20,
        epoch_ms: 0,
    }
}

pub(crate) fn task(number: u64) -> Submission {
    let group = "g".into();
    Submission { group, ..Submission::new(TaskId::of("t", number), "q", [7; 10]) }
}

pub(crate) fn complete(id: TaskId, attempt: u32) -> Request {
    let (result, children, effects) = (vec![attempt as u8], Vec::new(), Vec::new());
    Request::Complete {
        task: id,
        attempt: Attempt(attempt),
        result,
        children,
        effects,
        puts: Vec::new(),
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(set: impl Fn(&mut Settings)) -> Self {
        let mut ledger = Ledger::default();
        let mut settings = settings(&mut ledger, 1);
        set(&mut settings);
        let now = Instant::EPOCH;
        let coordinator = Coordinator::new(settings, now);
        let mut stage = Self { ledger, coordinator, now, last_call: 0, messages: Vec::new() };
        stage.settle();
        stage
    }

    /// Another process takes the role.
    pub(crate) fn succeed(&mut self, epoch: u64) -> Coordinator {
        self.succeed_with(epoch, |_| {})
    }

    /// Another process takes the role, with other settings.
    pub(crate) fn succeed_with(&mut self, epoch: u64, set: impl Fn(&mut Settings)) -> Coordinator {
        let mut settings = settings(&mut self.ledger, epoch);
        set(&mut settings);
        let next = Coordinator::new(settings, self.now);
        let before = core::mem::replace(&mut self.coordinator, next);
        self.settle();
        before
    }

    /// Another process takes the role, and hears something before it has read anything.
    pub(crate) fn succeed_hearing(
        &mut self,
        epoch: u64,
        hear: impl FnOnce(&mut Coordinator, Instant),
    ) {
        let settings = settings(&mut self.ledger, epoch);
        self.coordinator = Coordinator::new(settings, self.now);
        hear(&mut self.coordinator, self.now);
        self.settle();
    }

    pub(crate) fn request(&mut self, peer: Peer, request: Request) -> Call {
        self.last_call += 1;
        self.again(peer, Call(self.last_call), request)
    }

    pub(crate) fn again(&mut self, peer: Peer, call: Call, request: Request) -> Call {
        self.coordinator.handle_request(self.now, peer, call, request);
        call
    }

    pub(crate) fn read(&self, read: &Read) -> Reply {
        match read {
            Read::Get(keys) => {
                Reply::Records(keys.iter().filter_map(|key| self.ledger.get(key)).collect())
            }
            Read::Scan { from, end, limit } => {
                Reply::Page(self.ledger.scan(from, end.as_ref(), *limit))
            }
        }
    }

    /// Answers what is read, and gives out the commits that are to be made.
    pub(crate) fn commits(&mut self) -> Vec<(Ticket, Transaction)> {
        while let Some((ticket, read)) = self.coordinator.poll_read() {
            let reply = self.read(&read);
            self.coordinator.handle_read(self.now, ticket, reply);
        }
        let mut commits = Vec::new();
        while let Some(commit) = self.coordinator.poll_commit() {
            commits.push(commit);
        }
        while let Some(message) = self.coordinator.poll_message() {
            self.messages.push(message);
        }
        commits
    }

    /// Lets the store do all that is asked of it; returns what was said.
    pub(crate) fn settle(&mut self) -> Vec<(Peer, Message)> {
        for _ in 0..1_000 {
            let commits = self.commits();
            if commits.is_empty() {
                return core::mem::take(&mut self.messages);
            }
            for (ticket, transaction) in commits {
                let answer = self.ledger.commit(&transaction);
                self.coordinator.handle_commit(self.now, ticket, answer);
            }
        }
        panic!("it commits for ever");
    }

    /// Lets time pass, as a driver does that sleeps until it is to wake.
    pub(crate) fn pass(&mut self, time: Duration) -> Vec<(Peer, Message)> {
        let end = self.now + time;
        let mut said = Vec::new();
        while let Some(due) = self.coordinator.poll_timeout().filter(|due| *due <= end) {
            assert!(due >= self.now, "it wakes at {due:?}, at {:?}", self.now);
            self.now = due;
            self.coordinator.handle_timeout(self.now);
            said.append(&mut self.settle());
            assert!(self.coordinator.poll_timeout().is_none_or(|next| next > due));
        }
        self.now = end;
        said
    }

    pub(crate) fn join(
        &mut self,
        peer: Peer,
        name: &str,
        holding: &[(TaskId, Attempt)],
        slots: u32,
    ) {
        let (host, holding) = (format!("host-{name}"), holding.to_vec());
        self.request(peer, Request::Join { name: name.to_owned(), host, holding });
        if slots > 0 {
            self.request(
                peer,
                Request::Offer {
                    queues: Vec::new(),
                    slots,
                    resources: Vec::new(),
                    ahead: 0,
                    full: None,
                },
            );
        }
    }

    pub(crate) fn submit(&mut self, tasks: &[Submission]) -> Call {
        self.request(CLIENT, Request::Submit { tasks: tasks.to_vec() })
    }

    pub(crate) fn finished(&self, id: TaskId) -> Option<Finished> {
        get(self.ledger.get(&keys::finished(PART, id)))
    }

    pub(crate) fn live(&self, id: TaskId) -> Option<Task> {
        get(self.ledger.get(&keys::task(PART, id)))
    }

    pub(crate) fn semaphore(&self, name: &str) -> Semaphore {
        get(self.ledger.get(&keys::semaphore(PART, name))).expect("the semaphore")
    }
}

pub(crate) fn get<T: for<'b> minicbor::Decode<'b, ()>>(record: Option<Record>) -> Option<T> {
    record.map(|record| decode(&record).expect("a record"))
}

pub(crate) fn assigned(said: &[(Peer, Message)]) -> Vec<(Peer, TaskId, u32)> {
    let one = |(peer, message): &(Peer, Message)| match message {
        Message::Assign { task, attempt, .. } => Some((*peer, *task, attempt.0)),
        _ => None,
    };
    said.iter().filter_map(one).collect()
}

pub(crate) fn answer(said: &[(Peer, Message)], of: Call) -> Option<&Answer> {
    said.iter().find_map(|(_, message)| match message {
        Message::Answer(call, answer) if *call == of => Some(answer),
        _ => None,
    })
}

pub(crate) const fn refused(refusal: Refusal) -> Answer {
    Answer::Refused(refusal)
}

pub(crate) const A: Peer = Peer(1);
pub(crate) const B: Peer = Peer(2);
