//! What does a durable task cost above what its store needs for the same writes?
//!
//! A task is submitted, assigned and completed by the service of a part, over the embedded store:
//! one write, one write, two writes, each durable before anybody is told. The reference are
//! transactions with those writes alone, committed to the same kind of store: nothing that keeps
//! a record of each step can be faster. With 64 tasks in flight, and one at a time.
//!
//! Tasks are *numbered*, so that their records lie together as those of one family do
//! (`TaskId::of`), or *scattered*, each of a family of its own: then there is a page to write for
//! each record. In a *graph* each task of a layer of 64 reads two of the layer before, and half of
//! what is in flight waits for its inputs. How long the disk takes to sync one page is said as
//! well: most of what one task alone takes.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
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
    for (shape, in_flight, tasks) in CASES {
        let tasks = if is_bench { tasks } else { in_flight as u64 };
        let measured = durable(shape, in_flight, tasks, repetitions)?;
        if as_json {
            println!("{}", serde_json::to_string(&measured.comparison)?);
            continue;
        }
        let each = measured.comparison.micros / tasks as f64;
        println!("{}", measured.comparison.line());
        print!("  {:.0} tasks a second, {each:.0} µs a task; ", 1e6 / each);
        println!("half of them in {:.2} ms from submission to end", measured.middle * 1e3);
        print!("  processor of a task: {:.0} µs of the service, ", measured.service_us);
        println!("with what submits and completes, {:.0} µs of the store", measured.store_us);
    }
    if !as_json {
        println!("fdatasync of one page: {:.0} µs", sync_page(10 * repetitions)? * 1e6);
    }
    Ok(())
}

/// Which tasks, how many in flight, and how many.
const CASES: [(Shape, usize, u64); 5] = [
    (Shape::Numbered, 64, 6_400),
    (Shape::Numbered, 1, 500),
    (Shape::Scattered, 64, 6_400),
    (Shape::Scattered, 1, 500),
    (Shape::Graph, 2 * WIDTH as usize, 6_400),
];

/// The tasks in a layer of a graph.
const WIDTH: u64 = 64;

/// Which ids the tasks have, and which they read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Numbered,
    Scattered,
    Graph,
}

impl Shape {
    fn id(self, name: &str, number: u64) -> TaskId {
        match self {
            Self::Numbered | Self::Graph => TaskId::of(name, number),
            Self::Scattered => TaskId::of(&format!("{name} {number}"), 0),
        }
    }

    /// The tasks that one reads.
    fn inputs(self, name: &str, number: u64) -> Vec<TaskId> {
        let above = number.checked_sub(WIDTH).filter(|_| self == Self::Graph);
        let Some(above) = above else { return Vec::new() };
        let layer = above - above % WIDTH;
        [above, layer + (above + 1) % WIDTH].map(|number| self.id(name, number)).to_vec()
    }
}

/// What a case came to.
struct Measured {
    comparison: Comparison,
    /// The median time of a task, in seconds.
    middle: f64,
    /// The processor of a task, in microseconds: of this thread, and of the others.
    service_us: f64,
    store_us: f64,
}

/// The processor that this thread has had, and that all others of the process, in microseconds.
fn processor_us() -> (f64, f64) {
    let spent = |path: &Path| {
        let text = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
    };
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let all: f64 = threads.map(|thread| spent(&thread.path())).sum();
    let own = spent(Path::new("/proc/thread-self"));
    (own, all - own)
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

/// The time of so many tasks beside that of their writes.
fn durable(
    shape: Shape,
    in_flight: usize,
    tasks: u64,
    repetitions: usize,
) -> Result<Measured, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let at = |name: &str| Address::File(folder.path().join(name));
    let raw = runtime.block_on(at("raw").open("bench"))?;
    let store = runtime.block_on(at("tasks").open("bench"))?;
    let mut bench = runtime.block_on(Bench::begin(store, shape, in_flight))?;
    let (mut first_raw, mut first) = (0, 0);
    let (mut service_us, mut store_us) = (0.0, 0.0);
    let name = format!("{shape:?}").to_lowercase();
    let comparison = compare(
        &format!("a task, {name}, synced, {in_flight} in flight"),
        "its writes alone",
        repetitions,
        || {
            let raw_ids: Vec<_> =
                (first_raw..first_raw + tasks).map(|number| shape.id("raw", number)).collect();
            write_alone(&runtime, &*raw, in_flight, &raw_ids);
            first_raw += tasks;
        },
        || {
            let before = processor_us();
            runtime.block_on(bench.run(first..first + tasks)).expect("the service serves");
            let after = processor_us();
            service_us += after.0 - before.0;
            store_us += after.1 - before.1;
            first += tasks;
        },
    );
    let all = first as f64;
    let (service_us, store_us) = (service_us / all, store_us / all);
    Ok(Measured { comparison, middle: median(&mut bench.times), service_us, store_us })
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
    shape: Shape,
    in_flight: usize,
    last_call: u64,
    /// When the tasks in flight were submitted, and how long those took that have ended.
    submitted: BTreeMap<TaskId, Instant>,
    times: Vec<Duration>,
}

impl Bench {
    async fn begin(
        store: Arc<dyn Store>,
        shape: Shape,
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
        Ok(Self { client, worker, shape, in_flight, last_call: 2, submitted, times })
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
        let id = self.shape.id("bench", number);
        self.submitted.insert(id, Instant::now());
        let inputs = self.shape.inputs("bench", number);
        let task = Submission { inputs, ..Submission::new(id, "bench", [1; PAYLOAD_BYTES]) };
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
