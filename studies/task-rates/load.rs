//! The load: tasks that are submitted, done and waited for, and plain transactions beside them.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidings_bench::durable::middle;
use tidings_tasks::member::Member;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::transaction::{Expect, Transaction};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Conditions and writes of a transaction that etcd takes.
const OPERATIONS: usize = 128;

/// What a task takes of them, besides the role: two conditions and a write to be submitted, a
/// condition and a write to be assigned, a condition and two writes to be completed.
pub(crate) const OPERATIONS_A_TASK: f64 = 8.0;

/// Transactions on their way at a time.
const WRITERS: u64 = 8;

/// Tasks on their way at a time.
pub(crate) const IN_FLIGHT: u64 = 64;

/// The ended tasks that are forgotten by one request.
const FORGOTTEN_AT_ONCE: usize = 64;

/// Bytes of a payload, and of a record.
const BYTES: usize = 64;

/// Why a load ended early.
pub(crate) type Failed = Box<dyn Error + Send + Sync>;

/// How many operations are committed in a second.
pub(crate) async fn writes(address: &str, time: Duration) -> Result<f64, Failed> {
    let store = address.parse::<Address>()?.open("test").await?;
    let (mut writing, began) = (JoinSet::new(), Instant::now());
    for writer in 0..WRITERS {
        let store = store.clone();
        writing.spawn(async move {
            let mut done = 0;
            while began.elapsed() < time {
                let mut transaction = Transaction::default();
                for _ in 0..OPERATIONS / 2 {
                    let key = keys::task(Part(0), TaskId::of(&writer.to_string(), done));
                    transaction.expect(key.clone(), Expect::Absent);
                    transaction.put(key, [1; 2 * BYTES]);
                    done += 1;
                }
                store.commit(transaction).await?;
            }
            Ok::<_, Failed>(2 * done)
        });
    }
    let mut all = 0;
    while let Some(done) = writing.join_next().await {
        all += done??;
    }
    Ok(all as f64 / began.elapsed().as_secs_f64())
}

/// What becomes of the record of a task that has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It stays, as with `tidings run`.
    Kept,
    /// It is deleted once its result is there, as by an executor.
    Forgotten,
}

impl Ended {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Forgotten => "forgotten",
        }
    }
}

/// A client that submits and waits, and a worker.
pub(crate) struct Load {
    client: Session,
    next: Arc<AtomicU64>,
    ended: Ended,
}

impl Load {
    pub(crate) fn begin(member: Arc<Member>, ended: Ended) -> Self {
        let (worker, notices) = Session::open(member.clone(), "worker", "here");
        tokio::spawn(work(worker, notices));
        let (client, _told) = Session::open(member, "client", "here");
        Self { client, next: Arc::default(), ended }
    }

    /// Has tasks done for so long, so many at a time.
    pub(crate) async fn run_for(&mut self, time: Duration) -> Result<Done, Failed> {
        self.run(move |began, _| began.elapsed() < time).await
    }

    /// Has so many tasks done.
    pub(crate) async fn run_count(&mut self, count: u64) -> Result<Done, Failed> {
        let last = self.next.load(Ordering::Relaxed) + count;
        self.run(move |_, number| number < last).await
    }

    /// Has tasks done as long as `goes_on` says so of the time at which it began and of the number
    /// of the next one.
    async fn run(
        &mut self,
        goes_on: impl Fn(Instant, u64) -> bool + Copy + Send + 'static,
    ) -> Result<Done, Failed> {
        let (mut running, began) = (JoinSet::new(), Instant::now());
        for _ in 0..IN_FLIGHT {
            let (client, next, ended) = (self.client.clone(), self.next.clone(), self.ended);
            running.spawn(async move {
                let (mut times, mut here) = (Vec::new(), Vec::new());
                while goes_on(began, next.load(Ordering::Relaxed)) {
                    let submitted = Instant::now();
                    here.push(follow(&client, next.fetch_add(1, Ordering::Relaxed)).await?);
                    times.push(submitted.elapsed());
                    if here.len() == FORGOTTEN_AT_ONCE {
                        release(&client, ended, &mut here).await?;
                    }
                }
                release(&client, ended, &mut here).await?;
                Ok::<_, Failed>(times)
            });
        }
        let mut times = Vec::new();
        while let Some(done) = running.join_next().await {
            times.extend(done??);
        }
        let per_second = times.len() as f64 / began.elapsed().as_secs_f64();
        Ok(Done { per_second, middle: middle(&mut times) })
    }
}

/// How tasks went.
pub(crate) struct Done {
    /// How many were done in a second.
    pub(crate) per_second: f64,
    /// The median from the submission of a task to its end.
    pub(crate) middle: Duration,
}

/// Has a task done.
async fn follow(client: &Session, number: u64) -> Result<TaskId, Failed> {
    let id = TaskId::of("load", number);
    let tasks = vec![Submission::new(id, "load", [1; BYTES])];
    let submitted = client.ask(Request::Submit { tasks }).await?;
    let ended = client.ask(Request::Wait { task: id }).await?;
    match (submitted, ended) {
        (Answer::Submitted(_), Answer::Outcome(_)) => Ok(id),
        other => Err(format!("{other:?}").into()),
    }
}

/// Has tasks forgotten whose results are here, if that is done with them.
async fn release(client: &Session, ended: Ended, here: &mut Vec<TaskId>) -> Result<(), Failed> {
    let tasks = std::mem::take(here);
    if ended == Ended::Kept || tasks.is_empty() {
        return Ok(());
    }
    let all = tasks.len();
    match client.ask(Request::Forget { tasks }).await? {
        Answer::Forgotten(count) if usize::try_from(count) == Ok(all) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

async fn work(worker: Session, mut notices: mpsc::Receiver<Notice>) {
    let offer = Request::Offer {
        queues: Vec::new(),
        slots: 2 * IN_FLIGHT as u32,
        resources: Vec::new(),
        ahead: 0,
        full: None,
    };
    if worker.ask(offer).await.is_err() {
        return;
    }
    while let Some(notice) = notices.recv().await {
        let Notice::Assigned(assigned) = notice else { continue };
        let worker = worker.clone();
        let done = Request::Complete {
            task: assigned.task,
            attempt: assigned.attempt,
            result: vec![2; BYTES],
            children: Vec::new(),
            effects: Vec::new(),
            puts: Vec::new(),
        };
        // If it does not count, another try of it does.
        tokio::spawn(async move { worker.ask(done).await });
    }
}
