//! What does a durable task cost above what its store needs for the same writes?
//!
//! A task is submitted, assigned and completed by the service of a part, over the embedded store:
//! one write, one write, two writes, each durable before anybody is told. The reference are
//! transactions with those writes alone, committed to the same kind of store: nothing that keeps
//! a record of each step can be faster. With 64 tasks in flight, and one at a time.
//!
//! Tasks are *numbered*, so that their records lie together as those of one family do
//! (`TaskId::of`), or *scattered*, each of a family of its own: then there is a page to write for
//! each record. How long the disk takes to sync one page is said as well: most of what one task
//! alone takes.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::collections::BTreeMap;
use std::error::Error;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_bench::{Comparison, compare};
use tidings_tasks::service::{Connection, Options, Service};
use tidings_tasks::store::Store;
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Message, Request, Submission};
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::transaction::Transaction;
use tokio::runtime::Runtime;

/// The bytes of a payload, and of a result.
const PAYLOAD_BYTES: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let as_json = std::env::args().any(|argument| argument == "--json");
    let repetitions = if is_bench { 15 } else { 1 };
    for ids in [Ids::Numbered, Ids::Scattered] {
        for (in_flight, tasks) in [(64, 6_400), (1, 500)] {
            let tasks = if is_bench { tasks } else { in_flight as u64 };
            let (comparison, middle) = durable(ids, in_flight, tasks, repetitions)?;
            if as_json {
                println!("{}", serde_json::to_string(&comparison)?);
                continue;
            }
            let each = comparison.micros / tasks as f64;
            println!("{}", comparison.line());
            print!("  {:.0} tasks a second, {each:.0} µs a task; ", 1e6 / each);
            println!("half of them in {:.2} ms from submission to end", middle * 1e3);
        }
    }
    if !as_json {
        println!("fdatasync of one page: {:.0} µs", sync_page(10 * repetitions)? * 1e6);
    }
    Ok(())
}

/// Which ids the tasks have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ids {
    Numbered,
    Scattered,
}

impl Ids {
    fn id(self, name: &str, number: u64) -> TaskId {
        match self {
            Self::Numbered => TaskId::of(name, number),
            Self::Scattered => TaskId::of(&format!("{name} {number}"), 0),
        }
    }
}

/// The median time, in seconds, to write a page and sync it.
fn sync_page(repetitions: usize) -> Result<f64, Box<dyn Error>> {
    let file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut times = Vec::new();
    for number in 0..repetitions as u64 {
        let begun = Instant::now();
        file.write_all_at(&[number as u8; 4_096], 0)?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    Ok(median(&mut times))
}

/// The median, in seconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}

/// The time of so many tasks beside that of their writes, and the median time of one task in
/// seconds.
fn durable(
    ids: Ids,
    in_flight: usize,
    tasks: u64,
    repetitions: usize,
) -> Result<(Comparison, f64), Box<dyn Error>> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let at = |name: &str| Address::File(folder.path().join(name));
    let raw = runtime.block_on(at("raw").open("bench"))?;
    let store = runtime.block_on(at("tasks").open("bench"))?;
    let mut bench = runtime.block_on(Bench::begin(store, ids, in_flight))?;
    let (mut first_raw, mut first) = (0, 0);
    let name = format!("{ids:?}").to_lowercase();
    let comparison = compare(
        &format!("a task, {name}, synced, {in_flight} in flight"),
        "its writes alone",
        repetitions,
        || {
            let raw_ids: Vec<_> =
                (first_raw..first_raw + tasks).map(|number| ids.id("raw", number)).collect();
            write_alone(&runtime, &*raw, in_flight, &raw_ids);
            first_raw += tasks;
        },
        || {
            runtime.block_on(bench.run(first..first + tasks)).expect("the service serves");
            first += tasks;
        },
    );
    Ok((comparison, median(&mut bench.times)))
}

/// The writes of these tasks, so many of them in each transaction.
fn write_alone(runtime: &Runtime, store: &dyn Store, in_flight: usize, ids: &[TaskId]) {
    let part = Part(0);
    for group in ids.chunks(in_flight) {
        let [mut submitted, mut assigned, mut completed] = [(); 3].map(|()| Transaction::default());
        for &id in group {
            submitted.put(keys::task(part, id), [1; 2 * PAYLOAD_BYTES]);
            assigned.put(keys::task(part, id), [2; 2 * PAYLOAD_BYTES]);
            completed.delete(keys::task(part, id));
            completed.put(keys::finished(part, id), [3; 2 * PAYLOAD_BYTES]);
        }
        // An idle worker is given a task by the same commit that submits it.
        let steps = if in_flight == 1 {
            vec![submitted, completed]
        } else {
            vec![submitted, assigned, completed]
        };
        for step in steps {
            runtime.block_on(store.commit(step)).expect("the store commits");
        }
    }
}

/// A service, with a client that submits and a worker that completes.
struct Bench {
    client: Connection,
    worker: Connection,
    ids: Ids,
    in_flight: usize,
    last_call: u64,
    /// When the tasks in flight were submitted, and how long those took that have ended.
    submitted: BTreeMap<TaskId, Instant>,
    times: Vec<Duration>,
}

impl Bench {
    async fn begin(
        store: Arc<dyn Store>,
        ids: Ids,
        in_flight: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let candidate = Candidate {
            name: "bench".to_owned(),
            host: "here".to_owned(),
            address: String::new(),
            session: None,
        };
        // The session lasts while the reference runs.
        let session_ttl = Duration::from_secs(3_600);
        let options = Options { session_ttl, ..Options::default() };
        let (service, running) = Service::begin(store, Part(0), &candidate, options).await?;
        tokio::spawn(running);
        let (client, worker) = (service.connect().await?, service.connect().await?);
        let (name, host) = ("worker".to_owned(), "here".to_owned());
        worker.send(Call(1), Request::Join { name, host, holding: Vec::new() }).await?;
        // Room for twice as many: the worker is never what is waited for.
        let slots = 2 * in_flight as u32;
        let (queues, resources) = (Vec::new(), Vec::new());
        worker.send(Call(2), Request::Offer { queues, slots, resources, ahead: 0 }).await?;
        let (submitted, times) = (BTreeMap::new(), Vec::new());
        Ok(Self { client, worker, ids, in_flight, last_call: 2, submitted, times })
    }

    /// Has all of these tasks done.
    async fn run(&mut self, tasks: std::ops::Range<u64>) -> Result<(), Box<dyn Error>> {
        let (mut waiting, mut left) = (tasks.clone(), tasks.count());
        for number in waiting.by_ref().take(self.in_flight) {
            self.submit(number).await?;
        }
        let mut completions = BTreeMap::new();
        while left > 0 {
            let message = tokio::select! {
                message = self.worker.receive() => message.ok_or("the service has ended")?,
                _ = self.client.receive() => continue,
            };
            match message {
                Message::Assign { task, attempt, .. } => {
                    let call = self.next_call();
                    completions.insert(call, task);
                    self.worker.send(call, completion(task, attempt)).await?;
                }
                Message::Answer(call, Answer::Done) => {
                    // The offer has no task.
                    let Some(task) = completions.remove(&call) else { continue };
                    left -= 1;
                    self.times.extend(self.submitted.remove(&task).map(|at| at.elapsed()));
                    if let Some(number) = waiting.next() {
                        self.submit(number).await?;
                    }
                }
                Message::Answer(_, Answer::Joined(_)) => {}
                other => return Err(format!("unexpected: {other:?}").into()),
            }
        }
        Ok(())
    }

    async fn submit(&mut self, number: u64) -> Result<(), Box<dyn Error>> {
        let id = self.ids.id("bench", number);
        self.submitted.insert(id, Instant::now());
        let task = Submission::new(id, "bench", [1; PAYLOAD_BYTES]);
        let call = self.next_call();
        Ok(self.client.send(call, Request::Submit { tasks: vec![task] }).await?)
    }

    fn next_call(&mut self) -> Call {
        self.last_call += 1;
        Call(self.last_call)
    }
}

fn completion(task: TaskId, attempt: Attempt) -> Request {
    let (children, effects) = (Vec::new(), Vec::new());
    Request::Complete { task, attempt, result: vec![2; PAYLOAD_BYTES], children, effects }
}
