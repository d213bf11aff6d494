//! What a task costs the machine alone: submitted, assigned, completed, its end told and its record
//! forgotten, in groups of 64 and as an executor in memory has it; first with a store that
//! acknowledges at once and keeps nothing, then with a ledger.
//!
//! `cargo run --release -p tidings-tasks-core --example throughput`; an argument is the number of
//! groups.

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::ledger::{Ledger, Page};
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Request, Submission};
use tidings_tasks_core::transaction::{CommitError, Revision, Transaction, Write};

const GROUP: u64 = 64;
const ROUNDS: u64 = 5_000;

/// The bytes of changes that a store in memory holds.
const HISTORY_BYTES: usize = 1 << 20;

const WORKER: Peer = Peer(1);
const CLIENT: Peer = Peer(2);

fn main() {
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |count| count.parse().expect("a number"));
    measure("a store that keeps nothing", rounds, Nothing(1));
    measure("a ledger", rounds, Ledger::default());
}

/// What a store does for a coordinator.
trait Store {
    fn commit(&mut self, transaction: Transaction) -> Result<Revision, CommitError>;
    fn read(&self, read: &Read) -> Reply;
    /// Whether it has what is to be forgotten.
    const KEEPS: bool;
}

/// The last revision of a store that keeps nothing.
struct Nothing(u64);

impl Store for Nothing {
    const KEEPS: bool = false;

    fn commit(&mut self, _: Transaction) -> Result<Revision, CommitError> {
        self.0 += 1;
        Ok(Revision(self.0))
    }

    fn read(&self, _: &Read) -> Reply {
        Reply::Page(Page { records: Vec::new(), revision: Revision(self.0), next: None })
    }
}

impl Store for Ledger {
    const KEEPS: bool = true;

    fn commit(&mut self, transaction: Transaction) -> Result<Revision, CommitError> {
        let revision = self.take(transaction)?;
        self.bound_history(HISTORY_BYTES);
        Ok(revision)
    }

    fn read(&self, read: &Read) -> Reply {
        match read {
            Read::Get(keys) => {
                Reply::Records(keys.iter().filter_map(|key| self.get(key)).collect())
            }
            Read::Scan { from, end, limit } => Reply::Page(self.scan(from, end.as_ref(), *limit)),
        }
    }
}

/// A coordinator, its store, and those who speak with it.
struct Place<S> {
    coordinator: Coordinator,
    store: S,
    last_call: u64,
    ended: Vec<TaskId>,
}

impl<S: Store> Place<S> {
    fn new(store: S) -> Self {
        let coordinator = Coordinator::new(Settings::in_memory(), Instant::EPOCH);
        Self { coordinator, store, last_call: 0, ended: Vec::new() }
    }

    fn ask(&mut self, peer: Peer, request: Request) {
        self.last_call += 1;
        self.coordinator.handle_request(Instant::EPOCH, peer, Call(self.last_call), request);
    }

    /// Lets the store answer all, and returns what was assigned, as done.
    fn settle(&mut self) -> Vec<Request> {
        let now = Instant::EPOCH;
        loop {
            if let Some((ticket, read)) = self.coordinator.poll_read() {
                self.coordinator.handle_read(now, ticket, self.store.read(&read));
            } else if let Some((ticket, transaction)) = self.coordinator.poll_commit() {
                let answer = self.store.commit(transaction);
                self.coordinator.handle_commit(now, ticket, answer);
            } else {
                break;
            }
        }
        let mut completions = Vec::new();
        while let Some((_, message)) = self.coordinator.poll_message() {
            match message {
                Message::Assign { task, attempt, .. } => completions.push(Request::Complete {
                    task,
                    attempt,
                    result: vec![1; 80],
                    children: Vec::new(),
                    effects: Vec::new(),
                    puts: Vec::new(),
                }),
                Message::Answer(call, Answer::Outcome(_)) => self.ended.push(task_of(call)),
                _ => {}
            }
        }
        completions
    }

    fn round(&mut self, round: u64) {
        let numbers = round * GROUP..(round + 1) * GROUP;
        let tasks = numbers.clone().map(submission).collect();
        self.ask(CLIENT, Request::Submit { tasks });
        let completions = self.settle();
        for number in numbers {
            let task = TaskId::of("t", number);
            let call = Call(OF_WAITS + number);
            self.coordinator.handle_request(Instant::EPOCH, CLIENT, call, Request::Wait { task });
        }
        for completion in completions {
            self.ask(WORKER, completion);
        }
        self.settle();
        let tasks = core::mem::take(&mut self.ended);
        if S::KEEPS {
            self.ask(CLIENT, Request::Forget { tasks });
            self.settle();
        }
    }
}

/// The numbers of calls that wait for a task begin here.
const OF_WAITS: u64 = 1 << 40;

fn task_of(call: Call) -> TaskId {
    TaskId::of("t", call.0 - OF_WAITS)
}

fn submission(number: u64) -> Submission {
    let group = "me".into();
    Submission { group, ..Submission::new(TaskId::of("t", number), "jobs", [1; 200]) }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures the machine from outside"
)]
fn measure<S: Store>(what: &str, rounds: u64, mut store: S) {
    let mut role = Transaction::default();
    for key in [tidings_tasks_core::keys::role, tidings_tasks_core::keys::fence] {
        let value = Box::from(&b"here"[..]);
        role.writes.push(Write::Put { key: key(Settings::in_memory().part), value, session: None });
    }
    store.commit(role).expect("it is the first");
    let mut place = Place::new(store);
    place.settle();
    let (name, host) = ("w".to_owned(), "h".to_owned());
    place.ask(WORKER, Request::Join { name, host, holding: vec![] });
    let offer = Request::Offer {
        queues: vec![],
        slots: GROUP as u32,
        resources: Vec::new(),
        ahead: 0,
        full: None,
    };
    place.ask(WORKER, offer);
    let start = std::time::Instant::now();
    for round in 0..rounds {
        place.round(round);
    }
    let each = start.elapsed().as_nanos() / u128::from(rounds * GROUP);
    let counters = place.coordinator.counters();
    assert_eq!(counters.done, rounds * GROUP);
    assert_eq!(counters.forgotten, if S::KEEPS { rounds * GROUP } else { 0 });
    println!("{each} ns a task in groups of {GROUP}, with {what}");
}
