//! How does mcphoton's time grow to 4,096 workers, in virtual time? With `--flow` as a dataflow.
//!
//! The coordinator is the real one. The network, the store's disk and the processor of the process
//! that holds the store are a model with measured costs:
//!
//! - the processor that a task takes there while it is busy, half when the task is submitted, half
//!   when it is completed, and that a worker takes there each second;
//! - the processor of a turn: the holder takes all that has arrived, and turns to the next when it
//!   has done it. So one that has little to do spends more on a task;
//! - a commit, of which one is on its way at a time and carries all that waits;
//! - the way of a message, each way.
//!
//! A store of several parts has a holder for each, on a processor of its own, and the workers of
//! each part have a queue in it. What is simulated is the first part, which has the most to do: the
//! workers of all parts tell its holder that they are there, since it knows how many parts there
//! are.
//!
//! As a dataflow the batches are followed by the joins of the tree that `mcphoton flow` declares,
//! each of which waits for eight tasks and takes no time of its own; each part has a flow, whose
//! sums the program adds.
//!
//! The costs of a turn and of a way are such that one worker with tasks of 50 ms has here what was
//! measured with it. More workers are a test of the model.
//!
//! Invariant: the holder does one thing at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value};
use tidings_primitives::Instant;
use tidings_studies::table::{self, Made};
use tidings_studies::work::Work;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings, Ticket};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Request};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::transaction::Transaction;

/// The numbers of workers, from one to these powers of two.
const MEASURED: u32 = 12;
const TINY: u32 = 3;

/// The numbers of parts of the store, and the fewest workers that each part has.
const PARTS: [u64; 4] = [1, 4, 16, 64];
const WORKERS_OF_PART: u64 = 16;

/// The time of a task and how many of them a worker has, as in `measure.rs`.
const LENGTHS: [(u64, u64); 2] = [(1_000, 10), (50, 200)];

/// The time of a task by which the model is fitted.
const ALONE_MS: u64 = 50;
const ALONE_TASKS: u64 = 200;

/// Tasks that are submitted by one request.
const GROUP: u64 = 256;

/// In nanoseconds. No work here takes a day.
const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

/// The program that submits.
const CLIENT: Peer = Peer(0);

/// What was measured, in nanoseconds.
#[derive(Clone, Copy)]
struct Measured {
    task: u64,
    worker_second: u64,
    commit: u64,
    /// Of one worker with tasks of [`ALONE_MS`]: the holder's processor, and the time, of a task.
    alone: u64,
    each: u64,
}

/// What things cost, in nanoseconds.
#[derive(Clone, Copy)]
struct Costs {
    turn: u64,
    task: u64,
    worker_second: u64,
    commit: u64,
    way: u64,
}

/// What happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request of this number arrives at the holder.
    Arrives(u64),
    /// The store has a commit of this number.
    Committed(u64),
    /// The holder has done what it took.
    Turned,
    /// A worker has done its task.
    Done(u64, TaskId, Attempt),
    /// A worker says that it is there.
    Beats(u64),
}

/// What a run came to.
struct Ran {
    /// From the first submission to the last end as the client sees it.
    seconds: f64,
    /// The share of them that the holder was busy, and how often it turned to something.
    busy: f64,
    turns: u64,
}

/// A part of a cluster: so many workers, a program that submits, and a holder between them.
struct Cluster {
    costs: Costs,
    workers: u64,
    /// The workers of all parts.
    telling: u64,
    work: Work,
    coordinator: Coordinator,
    store: Ledger,
    /// What will happen, the earliest first, in the order in which it was caused.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    caused: u64,
    /// What has arrived and the holder has not begun, and what it is at.
    waiting: Vec<Event>,
    in_hand: Vec<Event>,
    busy_ns: u64,
    turns: u64,
    requests: BTreeMap<u64, (Peer, Request)>,
    commits: BTreeMap<u64, (Ticket, Transaction)>,
    unsubmitted: std::ops::Range<u64>,
    ended: u64,
    last_end: u64,
}

fn main() -> ExitCode {
    let measured = measured();
    let is_flow = std::env::args().any(|argument| argument == "--flow");
    let name = if is_flow { "simulated-dataflow" } else { "simulated" };
    table::make(name, "studies/weak-scaling/run", None, |is_measured| {
        let powers = if is_measured { MEASURED } else { TINY };
        Ok::<_, Infallible>(simulate(powers, fitted(measured, is_flow), is_flow))
    })
}

/// What was measured, in microseconds, as `run` takes it from the table of hosts.
fn measured() -> Measured {
    let cost = |name: &str, usual: f64| {
        let given = std::env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
        (given.unwrap_or(usual) * 1e3) as u64
    };
    Measured {
        task: cost("TASK_US", 200.0),
        worker_second: cost("WORKER_SECOND_US", 100.0),
        commit: cost("COMMIT_US", 500.0),
        alone: cost("ALONE_US", 600.0),
        each: cost("EACH_US", 52_000.0),
    }
}

/// The costs with which one worker has here what was measured with it. What is measured is told by
/// the batch, joins included.
fn fitted(measured: Measured, is_flow: bool) -> Costs {
    let Measured { task, worker_second, commit, alone, each } = measured;
    let work = || Work::of(ALONE_TASKS, ALONE_MS, is_flow);
    let task = task * ALONE_TASKS / work().tasks();
    let mut costs = Costs { turn: 0, task, worker_second, commit, way: 0 };
    let simulated = |costs| Cluster::new(costs, (1, 1), work()).run();
    let Ran { seconds, busy, turns } = simulated(costs);
    let cheap = (seconds * busy * 1e9) as u64 / ALONE_TASKS;
    costs.turn = alone.saturating_sub(cheap) * ALONE_TASKS / turns;
    let quick = (simulated(costs).seconds * 1e9) as u64 / ALONE_TASKS;
    costs.way = each.saturating_sub(quick) / 2;
    costs
}

fn simulate(powers: u32, costs: Costs, is_flow: bool) -> Made {
    let mut table = "workers,parts,task_ms,tasks,seconds,efficiency,holder_busy\n".to_owned();
    for (task_ms, each) in LENGTHS {
        for (workers, parts) in sizes(powers) {
            let own = workers / parts;
            let work = Work::of(own * each, task_ms, is_flow);
            let part = Cluster::new(costs, (own, workers), work);
            let Ran { seconds, busy, .. } = part.run();
            let (tasks, efficiency) = (workers * each, (task_ms * each) as f64 / 1e3 / seconds);
            let size = format!("{workers},{parts},{task_ms},{tasks}");
            let row = format!("{size},{seconds:.3},{efficiency:.4},{busy:.3}");
            let _ = writeln!(std::io::stderr(), "{row}"); // who does not read wants no more
            table.push_str(&row);
            table.push('\n');
        }
    }
    let mut facts = Map::new();
    let Costs { turn, task, worker_second, commit, way } = costs;
    let named = [
        ("turn_us", turn),
        ("task_us", task),
        ("worker_second_us", worker_second),
        ("commit_us", commit),
        ("way_us", way),
    ];
    for (name, cost) in named {
        facts.insert(name.to_owned(), Value::from(cost as f64 / 1e3));
    }
    (table, facts)
}

/// Numbers of workers and of parts.
fn sizes(powers: u32) -> impl Iterator<Item = (u64, u64)> {
    let all = (0..=powers).map(|power| 1 << power);
    all.flat_map(|workers| {
        let is_large = move |parts: &u64| *parts == 1 || workers / parts >= WORKERS_OF_PART;
        PARTS.into_iter().filter(is_large).map(move |parts| (workers, parts))
    })
}

/// A store in which this process has just taken the role.
fn taken() -> (Ledger, Settings) {
    let mut store = Ledger::default();
    store.bound_history(0);
    let settings = Settings::in_memory();
    let (name, host, address) = ("holder".to_owned(), "h".to_owned(), String::new());
    let candidate = Candidate { name, host, address, session: None };
    let (take, _) = reign::take(settings.part, None, &candidate).expect("nobody has it");
    let role = store.commit(&take).expect("nobody else wants it");
    debug_assert!(store.get(&keys::role(settings.part)).is_some(), "the role is taken");
    (store, Settings { role, ..settings })
}

impl Cluster {
    /// One with so many workers of its own and of all parts.
    fn new(costs: Costs, (workers, telling): (u64, u64), work: Work) -> Self {
        // Sessions are not renewed here: what that costs is in the cost of a worker.
        let session_ttl = Duration::from_secs(1_000_000);
        // All payloads stay in memory: the store is read at the beginning only.
        let (queue_capacity, cached_bytes) = (10_000_000, 1 << 34);
        let (store, settings) = taken();
        let settings = Settings { session_ttl, queue_capacity, cached_bytes, ..settings };
        Self {
            costs,
            workers,
            telling,
            unsubmitted: 0..work.tasks(),
            work,
            coordinator: Coordinator::new(settings, Instant::EPOCH),
            store,
            events: BinaryHeap::new(),
            caused: 0,
            waiting: Vec::new(),
            in_hand: Vec::new(),
            busy_ns: 0,
            turns: 0,
            requests: BTreeMap::new(),
            commits: BTreeMap::new(),
            ended: 0,
            last_end: 0,
        }
    }

    /// Does all tasks.
    fn run(mut self) -> Ran {
        let tasks = self.unsubmitted.end;
        self.begin();
        self.submit(0);
        while self.ended < tasks {
            let Some(Reverse((at, _, event))) = self.events.pop() else {
                unreachable!("workers say that they are there")
            };
            assert!(at < DAY, "a day has passed, and {} of {tasks} have ended", self.ended);
            self.happen(at, event);
        }
        let whole = (self.last_end + self.costs.way) as f64;
        Ran { seconds: whole / 1e9, busy: self.busy_ns as f64 / whole, turns: self.turns }
    }

    /// Workers join and offer a slot, before time begins.
    fn begin(&mut self) {
        self.answer_reads(0);
        for worker in 1..=self.workers {
            let (name, host) = (format!("w{worker}"), format!("h{worker}"));
            let offer = Request::Offer {
                queues: vec![],
                slots: 1,
                resources: Vec::new(),
                ahead: 0,
                full: None,
            };
            let join = Request::Join { name, host, holding: vec![] };
            for request in [join, offer] {
                self.pass(0, Peer(worker), request);
                while let Some((ticket, transaction)) = self.coordinator.poll_commit() {
                    let committed = self.store.commit(&transaction);
                    self.coordinator.handle_commit(Instant::EPOCH, ticket, committed);
                }
            }
        }
        while self.coordinator.poll_message().is_some() {}
        for worker in 0..self.telling {
            self.cause(worker * SECOND / self.telling, Event::Beats(worker));
        }
    }

    /// What the coordinator reads it has at once: it is in the cache of the store.
    fn answer_reads(&mut self, at: u64) {
        let now = Instant::EPOCH + Duration::from_nanos(at);
        while let Some((ticket, read)) = self.coordinator.poll_read() {
            let reply = match read {
                Read::Get(keys) => {
                    Reply::Records(keys.iter().filter_map(|key| self.store.get(key)).collect())
                }
                Read::Scan { from, end, limit } => {
                    Reply::Page(self.store.scan(&from, end.as_ref(), limit))
                }
            };
            self.coordinator.handle_read(now, ticket, reply);
        }
    }

    /// The client submits the next group, if there is one.
    fn submit(&mut self, now: u64) {
        let first = self.unsubmitted.start;
        let end = self.unsubmitted.end.min(first + GROUP);
        self.unsubmitted.start = end;
        if first < end {
            let tasks = (first..end).map(|at| self.work.submission(at)).collect();
            self.send(now, CLIENT, Request::Submit { tasks });
        }
    }

    fn cause(&mut self, at: u64, event: Event) {
        self.caused += 1;
        self.events.push(Reverse((at, self.caused, event)));
    }

    /// A request goes to the holder.
    fn send(&mut self, at: u64, peer: Peer, request: Request) {
        let number = self.caused;
        self.requests.insert(number, (peer, request));
        self.cause(at + self.costs.way, Event::Arrives(number));
    }

    fn pass(&mut self, at: u64, peer: Peer, request: Request) {
        let now = Instant::EPOCH + Duration::from_nanos(at);
        self.caused += 1;
        self.coordinator.handle_request(now, peer, Call(self.caused), request);
    }

    /// Lets it happen.
    fn happen(&mut self, at: u64, event: Event) {
        match event {
            Event::Turned => {
                for event in std::mem::take(&mut self.in_hand) {
                    self.hand_over(at, event);
                }
                self.serve(at);
            }
            Event::Done(worker, task, attempt) => {
                let (result, children, effects) = (vec![1; 8], Vec::new(), Vec::new());
                let done = Request::Complete {
                    task,
                    attempt,
                    result,
                    children,
                    effects,
                    puts: Vec::new(),
                };
                self.send(at, Peer(worker), done);
            }
            Event::Arrives(_) | Event::Committed(_) => self.waiting.push(event),
            Event::Beats(worker) => {
                self.cause(at + SECOND, Event::Beats(worker));
                self.waiting.push(event);
            }
        }
        if self.in_hand.is_empty() && !self.waiting.is_empty() {
            self.in_hand = std::mem::take(&mut self.waiting);
            let (turns, cost) = (self.has_turned(), self.cost());
            self.turns += turns;
            let cost = cost + turns * self.costs.turn;
            self.busy_ns += cost;
            self.cause(at + cost, Event::Turned);
        }
    }

    /// The coordinator is given what the holder had in hand.
    fn hand_over(&mut self, at: u64, event: Event) {
        match event {
            Event::Arrives(number) => {
                let (peer, request) = self.requests.remove(&number).expect("it was sent");
                self.pass(at, peer, request);
            }
            Event::Committed(number) => {
                let (ticket, transaction) = self.commits.remove(&number).expect("it was sent");
                let now = Instant::EPOCH + Duration::from_nanos(at);
                let committed = self.store.commit(&transaction);
                self.coordinator.handle_commit(now, ticket, committed);
            }
            Event::Turned | Event::Done(..) | Event::Beats(_) => {}
        }
    }

    /// One if what the holder has in hand costs a turn: what a worker costs without tasks has its
    /// turns in it.
    fn has_turned(&self) -> u64 {
        u64::from(!self.in_hand.iter().all(|event| matches!(event, Event::Beats(_))))
    }

    /// What the holder has in hand costs, without the turn.
    fn cost(&self) -> u64 {
        let of_request = |request: &Request| match request {
            Request::Submit { tasks } => self.costs.task / 2 * tasks.len() as u64,
            Request::Complete { .. } => self.costs.task / 2,
            _ => 0,
        };
        let of_event = |event: &Event| match event {
            Event::Arrives(number) => of_request(&self.requests[number].1),
            Event::Beats(_) => self.costs.worker_second,
            _ => 0,
        };
        self.in_hand.iter().map(of_event).sum()
    }

    /// What the coordinator wants goes out.
    fn serve(&mut self, now: u64) {
        self.answer_reads(now);
        while let Some(commit) = self.coordinator.poll_commit() {
            let number = self.caused;
            self.commits.insert(number, commit);
            self.cause(now + self.costs.commit, Event::Committed(number));
        }
        while let Some((peer, message)) = self.coordinator.poll_message() {
            let there = now + self.costs.way;
            match message {
                Message::Assign { task, attempt, .. } => {
                    self.cause(there + self.work.takes(task), Event::Done(peer.0, task, attempt));
                }
                Message::Answer(_, Answer::Done) => {
                    self.ended += 1;
                    self.last_end = now;
                }
                Message::Answer(_, Answer::Submitted(_)) => self.submit(there),
                other => unreachable!("no request is answered so: {other:?}"),
            }
        }
    }
}
