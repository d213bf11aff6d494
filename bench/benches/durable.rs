//! What does a durable task cost above what its store needs for the same writes?
//!
//! A task is submitted, assigned and completed by the service of a part, over the embedded store:
//! one write, one write, two writes, each durable before anybody is told. The reference are
//! transactions with those writes alone, committed to the same kind of store: nothing that keeps
//! a record of each step can be faster. With 64 tasks in flight, and one at a time.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

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
    for (in_flight, tasks) in [(64, 6_400), (1, 500)] {
        let tasks = if is_bench { tasks } else { in_flight as u64 };
        let comparison = durable(in_flight, tasks, repetitions)?;
        if as_json {
            println!("{}", serde_json::to_string(&comparison)?);
        } else {
            let each = comparison.micros / tasks as f64;
            println!("{}", comparison.line());
            println!("  {:.0} tasks a second, {each:.0} µs a task", 1e6 / each);
        }
    }
    Ok(())
}

/// The time of so many tasks beside that of their writes.
fn durable(in_flight: usize, tasks: u64, repetitions: usize) -> Result<Comparison, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let at = |name: &str| Address::File(folder.path().join(name));
    let raw = runtime.block_on(at("raw").open("bench"))?;
    let store = runtime.block_on(at("tasks").open("bench"))?;
    let mut bench = runtime.block_on(Bench::begin(store, in_flight))?;
    let (mut first_raw, mut first) = (0, 0);
    Ok(compare(
        &format!("a task, synced, {in_flight} in flight"),
        "its writes alone",
        repetitions,
        || {
            write_alone(&runtime, &*raw, in_flight, first_raw..first_raw + tasks);
            first_raw += tasks;
        },
        || {
            runtime.block_on(bench.run(first..first + tasks)).expect("the service serves");
            first += tasks;
        },
    ))
}

/// The writes of these tasks, so many of them in each transaction.
fn write_alone(
    runtime: &Runtime,
    store: &dyn Store,
    in_flight: usize,
    tasks: std::ops::Range<u64>,
) {
    let ids: Vec<TaskId> = tasks.map(|number| TaskId::of("raw", number)).collect();
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
    in_flight: usize,
    last_call: u64,
}

impl Bench {
    async fn begin(store: Arc<dyn Store>, in_flight: usize) -> Result<Self, Box<dyn Error>> {
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
        worker
            .send(Call(2), Request::Offer { queues: Vec::new(), slots, resources: Vec::new() })
            .await?;
        Ok(Self { client, worker, in_flight, last_call: 2 })
    }

    /// Has all of these tasks done.
    async fn run(&mut self, tasks: std::ops::Range<u64>) -> Result<(), Box<dyn Error>> {
        let (mut waiting, mut left) = (tasks.clone(), tasks.count());
        for number in waiting.by_ref().take(self.in_flight) {
            {
                let call = self.next_call();
                self.client.send(call, submission(number)).await?;
            };
        }
        let mut completions = BTreeSet::new();
        while left > 0 {
            let message = tokio::select! {
                message = self.worker.receive() => message.ok_or("the service has ended")?,
                _ = self.client.receive() => continue,
            };
            match message {
                Message::Assign { task, attempt, .. } => {
                    let call = self.next_call();
                    completions.insert(call);
                    self.worker.send(call, completion(task, attempt)).await?;
                }
                Message::Answer(call, Answer::Done) if completions.remove(&call) => {
                    left -= 1;
                    if let Some(number) = waiting.next() {
                        {
                            let call = self.next_call();
                            self.client.send(call, submission(number)).await?;
                        };
                    }
                }
                Message::Answer(_, Answer::Done | Answer::Joined(_)) => {}
                other => return Err(format!("unexpected: {other:?}").into()),
            }
        }
        Ok(())
    }

    fn next_call(&mut self) -> Call {
        self.last_call += 1;
        Call(self.last_call)
    }
}

fn submission(number: u64) -> Request {
    let task = Submission::new(TaskId::of("bench", number), "bench", [1; PAYLOAD_BYTES]);
    Request::Submit { tasks: vec![task] }
}

fn completion(task: TaskId, attempt: Attempt) -> Request {
    let (children, effects) = (Vec::new(), Vec::new());
    Request::Complete { task, attempt, result: vec![2; PAYLOAD_BYTES], children, effects }
}
