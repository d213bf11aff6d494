//! How does mcphoton's time grow to 4,096 workers, in virtual time?
//!
//! The coordinator is the real one. The network, the store's disk and the processor of the process
//! that holds the store are a model with four measured costs:
//!
//! - the processor that a task takes there, half when it is submitted, half when it is completed;
//! - the processor that a worker takes there without a task;
//! - a commit, of which one is on its way at a time and carries all that waits;
//! - the way of a message, each way.
//!
//! Invariant: the holder does one thing at a time, so what arrives meanwhile waits in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value};
use tidings_primitives::Instant;
use tidings_studies::table::{self, Made};
use tidings_tasks_core::coordinator::{Coordinator, Reply, Settings, Ticket};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Request, Submission};
use tidings_tasks_core::transaction::Revision;

/// The numbers of workers, from one to these powers of two.
const MEASURED: u32 = 12;
const TINY: u32 = 3;

/// The time of a task and how many of them a worker has, as in `measure.rs`.
const LENGTHS: [(u64, u64); 2] = [(1_000, 10), (50, 200)];

/// Tasks that are submitted by one request.
const GROUP: u64 = 256;

/// In nanoseconds: no work here takes so long.
const DAY: u64 = 86_400_000_000_000;

/// The program that submits.
const CLIENT: Peer = Peer(0);

/// What things cost, in nanoseconds.
#[derive(Clone, Copy)]
struct Costs {
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
    /// A worker has done its task.
    Done(u64, TaskId, Attempt),
    /// A second has passed.
    Second,
}

/// A cluster: so many workers, a program that submits, and a holder between them.
struct Cluster {
    costs: Costs,
    workers: u64,
    task_ns: u64,
    coordinator: Coordinator,
    /// What will happen, the earliest first, in the order in which it was caused.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    caused: u64,
    /// Until when the holder is busy, in nanoseconds.
    busy_until: u64,
    requests: BTreeMap<u64, (Peer, Request)>,
    commits: BTreeMap<u64, Ticket>,
    revision: u64,
    unsubmitted: std::ops::Range<u64>,
    ended: u64,
    last_end: u64,
}

fn main() -> ExitCode {
    let costs = costs();
    table::make("simulated", "studies/weak-scaling/run", None, |is_measured| {
        Ok::<_, Infallible>(measure(if is_measured { MEASURED } else { TINY }, costs))
    })
}

/// The costs in microseconds, as `run` takes them from the table of hosts.
fn costs() -> Costs {
    let cost = |name: &str, usual: f64| {
        let given = std::env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
        (given.unwrap_or(usual) * 1e3) as u64
    };
    Costs {
        task: cost("TASK_US", 200.0),
        worker_second: cost("WORKER_SECOND_US", 100.0),
        commit: cost("COMMIT_US", 500.0),
        way: cost("WAY_US", 100.0),
    }
}

fn measure(powers: u32, costs: Costs) -> Made {
    let mut table = "workers,task_ms,tasks,seconds,efficiency,holder_busy\n".to_owned();
    for (task_ms, each) in LENGTHS {
        for workers in (0..=powers).map(|power| 1 << power) {
            let (seconds, busy) = Cluster::new(costs, workers, task_ms, workers * each).run();
            let efficiency = (task_ms * each) as f64 / 1e3 / seconds;
            let tasks = workers * each;
            let row = format!("{workers},{task_ms},{tasks},{seconds:.3},{efficiency:.4},{busy:.3}");
            let _ = writeln!(std::io::stderr(), "{row}"); // who does not read wants no more
            table.push_str(&row);
            table.push('\n');
        }
    }
    let mut facts = Map::new();
    let Costs { task, worker_second, commit, way } = costs;
    let named = [
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

impl Cluster {
    fn new(costs: Costs, workers: u64, task_ms: u64, tasks: u64) -> Self {
        // Sessions are not renewed here: what that costs is in the cost of a worker.
        let session_ttl = Duration::from_secs(1_000_000);
        // All payloads stay in memory: the store is read at the beginning only.
        let (queue_capacity, cached_bytes) = (10_000_000, 1 << 34);
        let settings =
            Settings { session_ttl, queue_capacity, cached_bytes, ..Settings::in_memory() };
        Self {
            costs,
            workers,
            task_ns: task_ms * 1_000_000,
            coordinator: Coordinator::new(settings, Instant::EPOCH),
            events: BinaryHeap::new(),
            caused: 0,
            busy_until: 0,
            requests: BTreeMap::new(),
            commits: BTreeMap::new(),
            revision: 1,
            unsubmitted: 0..tasks,
            ended: 0,
            last_end: 0,
        }
    }

    /// Does all tasks. Returns the seconds from the first submission to the last end as the client
    /// sees it, and the share of them that the holder was busy.
    fn run(mut self) -> (f64, f64) {
        let tasks = self.unsubmitted.end;
        self.begin();
        self.submit(0);
        let mut busy = 0;
        while self.ended < tasks {
            let Some(Reverse((at, _, event))) = self.events.pop() else {
                unreachable!("seconds pass")
            };
            assert!(at < DAY, "a day has passed, and {} of {tasks} have ended", self.ended);
            busy += self.happen(at, event);
        }
        let whole = self.last_end + self.costs.way;
        (whole as f64 / 1e9, busy as f64 / whole as f64)
    }

    /// Workers join and offer a slot, before time begins.
    fn begin(&mut self) {
        self.answer_reads();
        for worker in 1..=self.workers {
            let (name, host) = (format!("w{worker}"), format!("h{worker}"));
            let offer =
                Request::Offer { queues: vec![], slots: 1, resources: Vec::new(), ahead: 0 };
            let join = Request::Join { name, host, holding: vec![] };
            for request in [join, offer] {
                self.pass(0, Peer(worker), request);
                while let Some((ticket, _)) = self.coordinator.poll_commit() {
                    self.revision += 1;
                    let revision = Revision(self.revision);
                    self.coordinator.handle_commit(Instant::EPOCH, ticket, Ok(revision));
                }
            }
        }
        while self.coordinator.poll_message().is_some() {}
        self.cause(1_000_000_000, Event::Second);
    }

    fn answer_reads(&mut self) {
        while let Some((ticket, _)) = self.coordinator.poll_read() {
            let page = Page { records: Vec::new(), revision: Revision(1), next: None };
            self.coordinator.handle_read(Instant::EPOCH, ticket, Reply::Page(page));
        }
    }

    /// The client submits the next group, if there is one.
    fn submit(&mut self, now: u64) {
        let first = self.unsubmitted.start;
        let end = self.unsubmitted.end.min(first + GROUP);
        self.unsubmitted.start = end;
        if first < end {
            let submission = |number| Submission::new(TaskId::of("t", number), "jobs", [1; 176]);
            let tasks = (first..end).map(submission).collect();
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

    /// Lets it happen. Returns for how long the holder was busy with it.
    fn happen(&mut self, at: u64, event: Event) -> u64 {
        let begin = self.busy_until.max(at);
        let cost = match event {
            Event::Arrives(number) => {
                let (peer, request) = self.requests.remove(&number).expect("it was sent");
                let cost = self.cost(&request);
                self.pass(begin + cost, peer, request);
                cost
            }
            Event::Committed(number) => {
                let ticket = self.commits.remove(&number).expect("it was sent");
                self.revision += 1;
                let now = Instant::EPOCH + Duration::from_nanos(begin);
                self.coordinator.handle_commit(now, ticket, Ok(Revision(self.revision)));
                0
            }
            Event::Done(worker, task, attempt) => {
                let (result, children, effects) = (vec![1; 8], Vec::new(), Vec::new());
                let done = Request::Complete { task, attempt, result, children, effects };
                self.send(at, Peer(worker), done);
                return 0;
            }
            Event::Second => {
                self.cause(at + 1_000_000_000, Event::Second);
                self.costs.worker_second * self.workers
            }
        };
        self.busy_until = begin + cost;
        self.serve(self.busy_until);
        cost
    }

    fn cost(&self, request: &Request) -> u64 {
        match request {
            Request::Submit { tasks } => self.costs.task / 2 * tasks.len() as u64,
            Request::Complete { .. } => self.costs.task / 2,
            _ => 0,
        }
    }

    /// What the coordinator wants goes out.
    fn serve(&mut self, now: u64) {
        while let Some((ticket, _)) = self.coordinator.poll_commit() {
            let number = self.caused;
            self.commits.insert(number, ticket);
            self.cause(now + self.costs.commit, Event::Committed(number));
        }
        while let Some((peer, message)) = self.coordinator.poll_message() {
            let there = now + self.costs.way;
            match message {
                Message::Assign { task, attempt, .. } => {
                    self.cause(there + self.task_ns, Event::Done(peer.0, task, attempt));
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
