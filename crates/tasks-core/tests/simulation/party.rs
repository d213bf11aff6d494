//! A worker or client: what it wants, what it has in hand, and what it has not been answered.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use tidings_primitives::{Chance, Instant};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{
    Answer, Call, Effect, Message, Peer, Refusal, Request, Submission,
};
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::{Cause, Retry};

use crate::process::{Health, TTL};
use crate::tokens::Desk;

/// How a task behaves: the first byte of its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Plain,
    Parent,
    WithEffect,
    /// Its effect is on a key that others write too.
    Rival,
    Fails,
    FailsFirst,
    Poison,
}

pub(crate) const KINDS: [Kind; 7] = [
    Kind::Plain,
    Kind::Parent,
    Kind::WithEffect,
    Kind::Rival,
    Kind::Fails,
    Kind::FailsFirst,
    Kind::Poison,
];

impl Kind {
    pub(crate) fn of(payload: &[u8]) -> Self {
        KINDS[usize::from(payload[0]) % KINDS.len()]
    }
}

/// The children of a parent: more than the smallest commits carry.
pub(crate) const CHILDREN: u64 = 5;

/// A new task.
pub(crate) fn submission(id: TaskId, kind: Kind, chance: &mut Chance) -> Submission {
    let losses = if kind == Kind::Poison { 2 } else { 60 };
    let errors = if kind == Kind::FailsFirst { 9 } else { 1 };
    let delay_ms = if chance.happens(0.3) { 50 + chance.below(800) as u64 } else { 0 };
    Submission {
        id,
        queue: format!("q{}", chance.below(3)).into(),
        group: format!("g{}", chance.below(3)).into(),
        priority: chance.below(2) as i16,
        delay_ms,
        payload: vec![kind as u8; 1 + chance.below(64)],
        retry: Retry { losses, errors, signals: 0, backoff_ms: 20, ..Retry::default() },
        need: need(chance),
        filter: String::new(),
        inputs: Vec::new(),
        copies: 0,
    }
}

/// A need, of the sizes that occur: most fit everywhere.
fn need(chance: &mut Chance) -> Need {
    let cpus = 1_000 * (1 + chance.below(3) as u64).saturating_sub(chance.below(2) as u64);
    let mut need = vec![("cpus".to_owned(), cpus)];
    if chance.happens(0.3) {
        need.push(("mem".to_owned(), (1 + chance.below(2) as u64) << 30));
    }
    Need::new(need).expect("two resources")
}

/// What is in hand: until when it runs; `None` when it is to be reported.
type Hand = BTreeMap<(TaskId, Attempt), (Kind, Option<Instant>)>;

/// What a party tells the world.
#[derive(Debug)]
pub(crate) enum Deed {
    Send(Peer, Call, Request),
    Connect,
    Hangup(Peer),
    /// A poisonous task has killed it.
    Die,
}

pub(crate) struct Party {
    pub(crate) number: usize,
    pub(crate) health: Health,
    pub(crate) life: u64,
    pub(crate) host: String,
    pub(crate) slots: u32,
    pub(crate) peer: Option<Peer>,
    is_joined: bool,
    pub(crate) is_leaving: bool,
    pub(crate) hand: Hand,
    /// What is not answered: when it is to be sent again.
    pub(crate) calls: BTreeMap<Call, (Request, Option<Instant>)>,
    next_call: u64,
    heard: Instant,
    beat: Instant,
    /// The time from one heartbeat to the next.
    period: Duration,
    /// Permits that it has, and until when.
    pub(crate) permits: BTreeMap<Call, Instant>,
    pub(crate) inbox: VecDeque<(Peer, Message)>,
    desk: Desk,
}

impl Party {
    pub(crate) fn new(number: usize, host: usize, slots: u32) -> Self {
        Self {
            number,
            health: Health::Up,
            life: 1,
            host: format!("h{host}"),
            slots,
            peer: None,
            is_joined: false,
            is_leaving: false,
            hand: Hand::new(),
            calls: BTreeMap::new(),
            next_call: 0,
            heard: Instant::EPOCH,
            beat: Instant::EPOCH,
            period: TTL / 3,
            permits: BTreeMap::new(),
            inbox: VecDeque::new(),
            desk: Desk::default(),
        }
    }

    /// Its name, and of which life.
    pub(crate) fn name(&self) -> String {
        format!("p{}.{}", self.number, self.life)
    }

    /// What it offers: a worker that takes all queues could hold any task.
    fn resources(&self) -> Vec<(String, u64)> {
        let cpus = match self.number {
            0 => return Vec::new(),
            2 => 4_000,
            number => 1_000 + 1_000 * (number as u64 % 2),
        };
        vec![("cpus".to_owned(), cpus), ("mem".to_owned(), 2 << 30)]
    }

    /// It is started again, and knows of nothing.
    pub(crate) fn restart(&mut self) {
        let life = self.life + 1;
        let next_call = self.next_call;
        let host = self.host.clone();
        *self = Self { life, host, next_call, ..Self::new(self.number, 0, self.slots) };
    }

    pub(crate) fn ask(&mut self, request: Request, now: Instant) -> Call {
        self.next_call += 1;
        self.calls.insert(Call(self.next_call), (request, Some(now)));
        Call(self.next_call)
    }

    /// It wants something of the tokens, or no longer.
    pub(crate) fn wish_for_tokens(&mut self, next: &mut i64, now: Instant, chance: &mut Chance) {
        if self.is_leaving {
            return;
        }
        if let Some(request) = self.desk.wish(next, chance) {
            let call = self.ask(request, now);
            if let Some(before) = self.desk.numbered(call) {
                self.calls.remove(&before);
            }
        }
    }

    /// What it asked for is of no interest any more.
    pub(crate) fn forget_tokens(&mut self) {
        self.desk = Desk::default();
    }

    pub(crate) fn connected(&mut self, peer: Peer, now: Instant) {
        self.peer = Some(peer);
        (self.heard, self.is_joined) = (now, false);
        self.calls.retain(|_, (request, _)| !is_of_session(request));
        let holding = self.hand.keys().copied().collect();
        let (name, host) = (self.name(), self.host.clone());
        self.ask(Request::Join { name, host, holding }, now);
        if self.is_leaving {
            self.ask(Request::Leave, now);
        }
    }

    pub(crate) fn disconnected(&mut self, peer: Peer) {
        if self.peer == Some(peer) {
            (self.peer, self.is_joined) = (None, false);
        }
    }

    /// What it does now.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Deed> {
        let Some(peer) = self.peer else { return vec![Deed::Connect] };
        if now.saturating_since(self.heard) > TTL {
            self.peer = None;
            return vec![Deed::Hangup(peer)];
        }
        if self.is_joined && now.saturating_since(self.beat) > self.period {
            self.beat = now;
            self.ask(Request::Heartbeat, now);
        }
        let ready = |until: &Option<Instant>| until.is_some_and(|until| until <= now);
        let done: Vec<_> = self.hand.iter().filter(|(_, (_, until))| ready(until)).collect();
        let done: Vec<_> = done.into_iter().map(|(key, (kind, _))| (*key, *kind)).collect();
        for ((id, attempt), kind) in done {
            if kind == Kind::Poison {
                return vec![Deed::Die];
            }
            self.hand.insert((id, attempt), (kind, None));
            self.ask(report(id, attempt, kind), now);
        }
        let over: Vec<Call> = self
            .permits
            .iter()
            .filter(|(_, until)| **until <= now)
            .map(|(&call, _)| call)
            .collect();
        for acquired in over {
            self.permits.remove(&acquired);
            self.ask(Request::Release { semaphore: "s".to_owned(), acquired }, now);
        }
        self.due(peer, now)
    }

    /// The requests that are to be sent now, or again.
    fn due(&mut self, peer: Peer, now: Instant) -> Vec<Deed> {
        let mut deeds = Vec::new();
        for (&call, (request, due)) in &mut self.calls {
            let may_go = self.is_joined || matches!(request, Request::Join { .. });
            if !may_go || due.is_none_or(|due| due > now) {
                continue;
            }
            // Who waits for long is answered when it is time; a new connection asks again.
            let is_long = matches!(
                request,
                Request::Wait { .. } | Request::Acquire { .. } | Request::Execute { .. }
            );
            *due = (!is_long).then(|| now + TTL);
            deeds.push(Deed::Send(peer, call, request.clone()));
        }
        deeds
    }

    /// A message; returns the request that was answered with it.
    pub(crate) fn hear(
        &mut self,
        (from, message): (Peer, Message),
        now: Instant,
        chance: &mut Chance,
    ) -> Option<(Call, Request, Answer)> {
        if self.peer != Some(from) {
            return None;
        }
        self.heard = now;
        match message {
            Message::Assign { task, attempt, payload, .. } => {
                let until = now + Duration::from_millis(5 + chance.below(250) as u64);
                self.hand.entry((task, attempt)).or_insert((Kind::of(&payload), Some(until)));
                None
            }
            Message::Stop { task, attempt } => {
                if self.hand.remove(&(task, attempt)).is_some() {
                    self.ask(failure(task, attempt, Cause::Signal, "stopped"), now);
                }
                None
            }
            Message::Ended => {
                self.rejoin(now);
                None
            }
            Message::Answer(call, answer) => {
                let (request, due) = self.calls.get_mut(&call)?;
                match answer {
                    // Somebody else may have the role: look for it.
                    Answer::Refused(Refusal::Elsewhere) if !self.is_joined => {
                        self.heard = Instant::EPOCH;
                    }
                    Answer::Refused(Refusal::Elsewhere) => *due = Some(now + TTL / 9),
                    // Somebody makes the semaphore; a copy of this request may be granted before.
                    Answer::Refused(Refusal::NoSemaphore | Refusal::Full(_)) => {
                        *due = Some(now + TTL / 2);
                    }
                    Answer::Refused(Refusal::NoSession) => self.rejoin(now),
                    answer => {
                        let request = request.clone();
                        self.calls.remove(&call);
                        self.answered(&request, &answer, now, chance, call);
                        return Some((call, request, answer));
                    }
                }
                None
            }
        }
    }

    fn rejoin(&mut self, now: Instant) {
        if let Some(peer) = self.peer {
            self.connected(peer, now);
        }
    }

    fn answered(
        &mut self,
        request: &Request,
        answer: &Answer,
        now: Instant,
        chance: &mut Chance,
        call: Call,
    ) {
        match (request, answer) {
            (Request::Join { .. }, Answer::Joined(term_ms)) => {
                self.is_joined = true;
                self.period = Duration::from_millis(*term_ms) / 3;
                for (_, due) in self.calls.values_mut() {
                    *due = Some(now);
                }
                let slots = self.slots;
                let named = (0..2).map(|n| format!("q{}", (self.number + n) % 3)).collect();
                let queues = if self.number % 2 == 0 { Vec::new() } else { named };
                if !self.is_leaving {
                    let resources = self.resources();
                    self.ask(
                        Request::Offer { queues, slots, resources, ahead: 2, full: None },
                        now,
                    );
                }
            }
            (
                &Request::Complete { task, attempt, .. },
                Answer::Refused(Refusal::EffectConflict(_)),
            ) => {
                self.ask(failure(task, attempt, Cause::Error, "a rival was first"), now);
            }
            (Request::Complete { task, attempt, .. } | Request::Fail { task, attempt, .. }, _) => {
                self.hand.remove(&(*task, *attempt));
            }
            (Request::Execute { .. } | Request::GiveUp { .. }, answer) => {
                self.desk.answered(call, answer);
            }
            (Request::Acquire { .. }, Answer::Done) => {
                let until = now + Duration::from_millis(chance.below(200) as u64);
                self.permits.insert(call, until);
            }
            _ => {}
        }
    }
}

/// Requests that have no meaning for a later session.
fn is_of_session(request: &Request) -> bool {
    matches!(
        request,
        Request::Join { .. } | Request::Heartbeat | Request::Offer { .. } | Request::Leave
    )
}

fn failure(task: TaskId, attempt: Attempt, cause: Cause, text: &str) -> Request {
    Request::Fail { task, attempt, cause, text: text.to_owned(), detail: Vec::new() }
}

fn report(task: TaskId, attempt: Attempt, kind: Kind) -> Request {
    let fails = kind == Kind::Fails || kind == Kind::FailsFirst && attempt.0 <= 2;
    if fails {
        return failure(task, attempt, Cause::Error, "it fails");
    }
    let mut chance = Chance::new(task.to_string().bytes().map(u64::from).sum());
    let children = if kind == Kind::Parent { 0..CHILDREN } else { 0..0 };
    let child = |n| {
        let child = submission(task.child(n), Kind::Plain, &mut chance);
        match n {
            // One waits for a sister that comes after it, the others for their parent.
            1 => Submission { inputs: vec![task.child(4)], delay_ms: 0, ..child },
            _ if n % 2 == 1 => Submission { inputs: vec![task], delay_ms: 0, ..child },
            _ => child,
        }
    };
    let children = children.map(child).collect();
    let own = format!("of/{task}").into_bytes();
    let result = attempt.0.to_be_bytes().to_vec();
    let effect = |key, expect| Effect { key, value: Some(result.clone().into()), expect };
    let effects = match kind {
        // It expects nothing: that it is written once is up to the attempt alone.
        Kind::WithEffect => vec![effect(own, None)],
        Kind::Rival => vec![effect(b"shared".to_vec(), Some(0))],
        _ => Vec::new(),
    };
    Request::Complete { task, attempt, result, children, effects, puts: Vec::new() }
}
