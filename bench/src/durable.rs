//! Tasks through the service of a part, beside transactions with their writes alone.
//!
//! A task is submitted, assigned and completed: one write, one write, two writes, each durable
//! before anybody is told. The reference are transactions with those writes alone, committed to the
//! same kind of store: nothing that keeps a record of each step can be faster.
//!
//! Tasks are *numbered*, so that their records lie together as those of one family do
//! (`TaskId::of`), or *scattered*, each of a family of its own: then there is a page to write for
//! each record. In a *graph* each task of a layer of 64 reads two of the layer before, and half of
//! what is in flight waits for its inputs.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidings_tasks::service::{Connection, Options, Service};
use tidings_tasks::store::Store;
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Message, Request, Submission};
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::transaction::Transaction;
use tokio::runtime::Runtime;

use crate::pair;

/// Why a load ended early.
type Failed = Box<dyn Error + Send + Sync>;

/// The bytes of a payload, and of a result.
const PAYLOAD_BYTES: usize = 64;

/// Which tasks, how many in flight, and how many in a repetition.
pub const CASES: [(Shape, usize, u64); 5] = [
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
pub enum Shape {
    /// Records that lie together.
    Numbered,
    /// Records that lie apart.
    Scattered,
    /// Each reads two.
    Graph,
}

impl Shape {
    /// Its name in tables.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

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

/// What one repetition came to.
#[derive(Clone, Copy, Debug)]
pub struct Repetition {
    /// The time of the writes alone, and of the tasks.
    pub reference: Duration,
    /// The time of the tasks.
    pub tasks: Duration,
    /// The median from the submission of a task to its end.
    pub middle: Duration,
    /// The processor of a task, in microseconds: of the thread of service, client and worker, and
    /// of the others, which are the store's.
    pub service_us: f64,
    /// See `service_us`.
    pub store_us: f64,
}

/// Two embedded stores, one of which a service has, as long as a case is repeated.
pub struct Case {
    shape: Shape,
    in_flight: usize,
    runtime: Runtime,
    raw: Arc<dyn Store>,
    load: Load,
    first_raw: u64,
    first: u64,
    _folder: TempDir,
}

impl Case {
    /// Makes the stores in a folder of their own below `place`.
    ///
    /// # Errors
    /// A store cannot be made, or its service does not begin. What was made is removed.
    pub fn begin(shape: Shape, in_flight: usize, place: &Path) -> Result<Self, Failed> {
        let folder = tempfile::tempdir_in(place)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let at = |name: &str| Address::File(folder.path().join(name));
        let raw = runtime.block_on(at("raw").open("bench"))?;
        let store = runtime.block_on(at("tasks").open("bench"))?;
        let load = runtime.block_on(Load::begin(store, shape, in_flight))?;
        let (first_raw, first) = (0, 0);
        Ok(Self { shape, in_flight, runtime, raw, load, first_raw, first, _folder: folder })
    }

    /// So many writes alone, then as many tasks.
    ///
    /// # Panics
    /// The service or a store ends.
    pub fn repeat(&mut self, tasks: u64) -> Repetition {
        let mut spent = (0.0, 0.0);
        let Self { runtime, raw, load, first_raw, first, shape, in_flight, .. } = self;
        load.times.clear();
        let (reference, time) = pair(
            || {
                let numbers = *first_raw..*first_raw + tasks;
                let ids: Vec<_> = numbers.map(|number| shape.id("raw", number)).collect();
                write_alone(runtime, &**raw, *in_flight, &ids);
                *first_raw += tasks;
            },
            || {
                let before = processor_us();
                let numbers = *first..*first + tasks;
                runtime.block_on(load.run(numbers)).expect("the service serves");
                let after = processor_us();
                spent = (after.0 - before.0, after.1 - before.1);
                *first += tasks;
            },
        );
        let (service_us, store_us) = (spent.0 / tasks as f64, spent.1 / tasks as f64);
        let middle = middle(&mut load.times);
        Repetition { reference, tasks: time, middle, service_us, store_us }
    }
}

/// The median of times; none of none.
pub fn middle(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
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
struct Load {
    client: Connection,
    worker: Connection,
    shape: Shape,
    in_flight: usize,
    last_call: u64,
    /// When the tasks in flight were submitted, and how long those took that have ended.
    submitted: BTreeMap<TaskId, Instant>,
    times: Vec<Duration>,
}

impl Load {
    async fn begin(store: Arc<dyn Store>, shape: Shape, in_flight: usize) -> Result<Self, Failed> {
        let candidate = Candidate {
            name: "bench".to_owned(),
            host: "here".to_owned(),
            address: String::new(),
            session: None,
        };
        // The session lasts while the reference runs.
        let session_ttl = Duration::from_secs(3_600);
        let options = Options { session_ttl, ..Options::default() };
        let (service, running) = Service::begin(store, Part(0), &candidate, options, false).await?;
        tokio::spawn(running);
        let (client, worker) = (service.connect().await?, service.connect().await?);
        let (name, host) = ("worker".to_owned(), "here".to_owned());
        worker.send(Call(1), Request::Join { name, host, holding: Vec::new() }).await?;
        // Room for twice as many: the worker is never what is waited for.
        let slots = 2 * in_flight as u32;
        let (queues, resources) = (Vec::new(), Vec::new());
        worker
            .send(Call(2), Request::Offer { queues, slots, resources, ahead: 0, full: None })
            .await?;
        let (submitted, times) = (BTreeMap::new(), Vec::new());
        Ok(Self { client, worker, shape, in_flight, last_call: 2, submitted, times })
    }

    /// Has all of these tasks done.
    async fn run(&mut self, tasks: std::ops::Range<u64>) -> Result<(), Failed> {
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

    async fn submit(&mut self, number: u64) -> Result<(), Failed> {
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
    Request::Complete {
        task,
        attempt,
        result: vec![2; PAYLOAD_BYTES],
        children,
        effects,
        puts: Vec::new(),
    }
}
