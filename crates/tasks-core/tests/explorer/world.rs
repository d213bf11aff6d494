//! What can happen next, what follows from it, and what must hold.

use core::hash::{Hash as _, Hasher as _};
use core::time::Duration;
use std::collections::BTreeMap;
use std::hash::DefaultHasher;

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings, Ticket};
use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Message, Peer, Request, Submission};
use tidings_tasks_core::record::{Finished, Outcome};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::transaction::{CommitError, Key, Revision, Transaction, Write};

use crate::party::{PARENT, Party, Said};

const PART: Part = Part(0);

/// How often time may pass at the end of a path.
const WAITS: usize = 100;

/// How a commit goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    Answered,
    AnswerLost,
    CallLost,
    /// Nothing is answered; it is done at some later time.
    Late,
}

/// What can happen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Commit(usize, How),
    /// A commit of which nobody expects anything any more.
    Late(usize),
    /// A task of a party ends.
    End(usize, (TaskId, Attempt)),
    /// Another coordinator begins.
    Take,
    /// The connections of a party that was cut off work again.
    Mend(usize),
    Crash,
    Kill(usize),
    /// A party lives, and is taken as dead; it does not hear of it.
    Cut(usize),
}

pub(crate) struct World {
    ledger: Ledger,
    now: Instant,
    epoch: u64,
    last_peer: u64,
    coordinator: Option<Coordinator>,
    parties: Vec<Party>,
    pending: Vec<(Ticket, Transaction)>,
    late: Vec<Transaction>,
    faults_left: usize,
    is_checked: bool,
    /// How often each effect and each end was written.
    written: BTreeMap<Key, u32>,
}

/// The tasks: one has a child, and another waits for it.
fn tasks() -> Vec<Submission> {
    let [first, second] = [0, 1].map(|number| TaskId::of("t", number));
    let parent = Submission::new(first, "q", PARENT);
    let behind = Submission { inputs: vec![first], ..Submission::new(second, "q", "plain") };
    vec![parent, behind]
}

impl World {
    pub(crate) fn new(faults: usize, is_checked: bool) -> Self {
        // Two workers, and a client that submits.
        let mut parties = vec![Party::new(0, 1), Party::new(1, 1), Party::new(2, 0)];
        // It is asked when it joins.
        let _ = parties[2].ask(Request::Submit { tasks: tasks() });
        let mut world = Self {
            ledger: Ledger::default(),
            now: Instant::EPOCH,
            epoch: 0,
            last_peer: 0,
            coordinator: None,
            parties,
            pending: Vec::new(),
            late: Vec::new(),
            faults_left: faults,
            is_checked,
            written: BTreeMap::new(),
        };
        world.take();
        world
    }

    pub(crate) fn faults_left(&self) -> usize {
        self.faults_left
    }

    /// What two states that behave the same have in common.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let inside = (&self.ledger, &self.coordinator, &self.parties, &self.pending, &self.late);
        format!("{inside:?}").hash(&mut hasher);
        hasher.finish()
    }

    /// What can happen next, after time has passed if nothing else can; none if all is over.
    pub(crate) fn next_events(&mut self) -> Option<Vec<Event>> {
        for _ in 0..WAITS {
            let events = self.events();
            if !events.is_empty() {
                return Some(events);
            }
            if self.is_over() {
                return None;
            }
            self.wait();
        }
        panic!("nothing happens any more: {:?} {:?}", self.coordinator, self.parties)
    }

    /// What can happen now; faults come last.
    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let has = self.coordinator.is_some();
        let pending = 0..self.pending.len();
        events.extend(pending.clone().map(|at| Event::Commit(at, How::Answered)));
        for (at, party) in self.parties.iter().enumerate() {
            events.extend(party.hand.keys().map(|key| Event::End(at, *key)));
            events.extend(party.unheard.is_some().then_some(Event::Mend(at)));
        }
        events.extend((0..self.late.len()).map(Event::Late));
        events.extend((!has).then_some(Event::Take));
        if self.faults_left == 0 || !has || self.is_over() {
            return events;
        }
        for at in pending {
            let hows = [How::AnswerLost, How::CallLost, How::Late];
            events.extend(hows.map(|how| Event::Commit(at, how)));
        }
        events.push(Event::Crash);
        for (at, party) in self.parties.iter().enumerate() {
            if party.slots > 0 && party.unheard.is_none() {
                events.extend([Event::Kill(at), Event::Cut(at)]);
            }
        }
        events
    }

    pub(crate) fn happen(&mut self, event: Event) {
        match event {
            Event::Commit(at, how) => self.commit(at, how),
            Event::Late(at) => {
                let transaction = self.late.remove(at);
                let _ = self.write(&transaction);
            }
            Event::End(at, key) => {
                let said = self.parties[at].complete(key);
                self.say(at, said);
            }
            Event::Take => self.take(),
            Event::Mend(at) => {
                for message in self.parties[at].unheard.take().unwrap_or_default() {
                    let said = self.parties[at].hear(message);
                    self.say(at, said);
                }
            }
            Event::Crash => self.crash(),
            Event::Kill(at) => {
                let peer = self.parties[at].peer;
                self.parties[at].restart();
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.handle_gone(self.now, peer);
                }
                self.join(at);
            }
            Event::Cut(at) => {
                let host = self.parties[at].host();
                self.parties[at].unheard = Some(Vec::new());
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.handle_host_lost(self.now, &host);
                }
            }
        }
        let is_fault = match event {
            Event::Commit(_, how) => !matches!(how, How::Answered),
            Event::Crash | Event::Kill(_) | Event::Cut(_) => true,
            Event::Late(_) | Event::End(..) | Event::Take | Event::Mend(_) => false,
        };
        self.faults_left -= usize::from(is_fault);
        self.settle();
    }

    fn commit(&mut self, at: usize, how: How) {
        let (ticket, transaction) = self.pending.remove(at);
        let answer = match how {
            How::Answered => self.write(&transaction),
            How::AnswerLost => self.write(&transaction).and(Err(CommitError::Unknown)),
            How::CallLost => Err(CommitError::Unknown),
            How::Late => {
                self.late.push(transaction);
                Err(CommitError::Unknown)
            }
        };
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.handle_commit(self.now, ticket, answer);
        }
    }

    /// The store does it, or not.
    fn write(&mut self, transaction: &Transaction) -> Result<Revision, CommitError> {
        let mut transaction = transaction.clone();
        if !self.is_checked {
            transaction.conditions.clear();
        }
        let revision = self.ledger.commit(&transaction)?;
        for write in &transaction.writes {
            let text = write.key().to_string();
            let is_counted = text.starts_with("e/") || text.contains("/f/");
            if is_counted && matches!(write, Write::Put { .. }) {
                let count = self.written.entry(write.key().clone()).or_default();
                *count += 1;
                assert_eq!(*count, 1, "{text} is written once");
            }
        }
        Ok(revision)
    }

    fn crash(&mut self) {
        self.coordinator = None;
        // They may be on their way still.
        self.late.extend(core::mem::take(&mut self.pending).into_iter().map(|(_, one)| one));
    }

    /// A coordinator takes the role, and all parties come to it.
    fn take(&mut self) {
        self.epoch += 1;
        let (name, host) = (format!("c{}", self.epoch), "c".to_owned());
        let candidate = Candidate { name, host, address: String::new(), session: None };
        let seen = self.ledger.get(&keys::role(PART));
        let (take, reign) = reign::take(PART, seen.as_ref(), &candidate).expect("a reign");
        let role = self.ledger.commit(&take).expect("nobody else wants it");
        let settings = Settings { part: PART, epoch: reign.epoch, role, ..Settings::in_memory() };
        self.coordinator = Some(Coordinator::new(settings, self.now));
        for at in 0..self.parties.len() {
            self.join(at);
        }
        self.settle();
    }

    fn join(&mut self, at: usize) {
        self.last_peer += 1;
        let said = self.parties[at].join(Peer(self.last_peer));
        self.say(at, said);
    }

    fn say(&mut self, at: usize, said: Said) {
        let peer = self.parties[at].peer;
        let Some(coordinator) = &mut self.coordinator else { return };
        for (call, request) in said {
            coordinator.handle_request(self.now, peer, call, request);
        }
    }

    /// Reads are answered, and what is said is heard, until nothing but commits is on its way.
    fn settle(&mut self) {
        loop {
            let Some(coordinator) = &mut self.coordinator else { return };
            if coordinator.is_deposed() {
                return self.crash();
            }
            if let Some((ticket, read)) = coordinator.poll_read() {
                let reply = reply(&self.ledger, &read);
                coordinator.handle_read(self.now, ticket, reply);
            } else if let Some(commit) = coordinator.poll_commit() {
                self.pending.push(commit);
            } else if let Some((peer, message)) = coordinator.poll_message() {
                self.hear(peer, message);
            } else {
                return;
            }
        }
    }

    fn hear(&mut self, peer: Peer, message: Message) {
        // The others are connections that nobody has any more.
        let Some(at) = self.parties.iter().position(|party| party.peer == peer) else { return };
        if let Some(unheard) = &mut self.parties[at].unheard {
            return unheard.push(message);
        }
        let said = self.parties[at].hear(message);
        self.say(at, said);
    }

    /// Time passes until a coordinator does something by itself; who lives is heard of.
    fn wait(&mut self) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let due = coordinator.poll_timeout();
        self.now = due.unwrap_or(self.now + Duration::from_millis(1)).max(self.now);
        for at in 0..self.parties.len() {
            let beat = self.parties[at].number(Request::Heartbeat);
            self.say(at, vec![beat]);
        }
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.handle_timeout(self.now);
        }
        self.settle();
    }

    fn all() -> Vec<TaskId> {
        let own = tasks().into_iter().map(|task| task.id);
        own.chain([TaskId::of("t", 0).child(0)]).collect()
    }

    /// Whether all tasks have ended, and nobody knows of anything to be done.
    fn is_over(&self) -> bool {
        let ended = |id| self.ledger.get(&keys::finished(PART, id)).is_some();
        Self::all().into_iter().all(ended) && self.parties.iter().all(|one| one.hand.is_empty())
    }

    /// Each task was done once, by the attempt that its effect names.
    pub(crate) fn check_end(&self) {
        let all = Self::all();
        for id in &all {
            let record = self.ledger.get(&keys::finished(PART, *id)).expect("all have ended");
            let finished: Finished = minicbor::decode(&record.value).expect("a record");
            let key = keys::effect(format!("sum/{id}").as_bytes()).expect("a short key");
            let effect = self.ledger.get(&key).map(|record| record.value.into_vec());
            assert_eq!(Some(finished.outcome), effect.map(Outcome::Done), "the try that counts");
        }
        let count = |prefix: Key| {
            let end = prefix.after_prefix();
            self.ledger.scan(&prefix, end.as_ref(), usize::MAX).records.len()
        };
        assert_eq!(count(keys::tasks(PART)), 0, "none is left");
        let effects = keys::effects(b"").expect("a short key");
        assert_eq!((count(keys::all_finished(PART)), count(effects)), (all.len(), all.len()));
    }
}

fn reply(ledger: &Ledger, read: &Read) -> Reply {
    match read {
        Read::Get(keys) => Reply::Records(keys.iter().filter_map(|key| ledger.get(key)).collect()),
        Read::Scan { from, end, limit } => Reply::Page(ledger.scan(from, end.as_ref(), *limit)),
    }
}
