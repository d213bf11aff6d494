//! Back-pressure: who submits without end is held up, and the memory of all that takes part is
//! bounded.
//!
//! The store is the one in memory: so what it keeps counts as well, whatever is left of a task that
//! has ended shows after some million tasks. In a file it would show on the disk, and nothing would
//! be learnt but how fast that syncs.
//!
//! `TIDINGS_SUBMITS=100000000` has so many tasks submitted, instead of 200,000, which take some
//! 15 s. The more there are, the shorter are their payloads. Half of the time is the allocator's: a
//! task takes 12 µs with jemalloc (`LD_PRELOAD`), and 30 with that of glibc.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod children;

use std::sync::Arc;

use children::{child, folder_of_child, lines};
use rustix::process::{Resource, Rlimit, setrlimit};
use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, MAX_TASKS, Request, Submission};
use tidings_tasks_core::reign::Candidate;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What the process may have: its heap and all else that it alone can write to.
const LIMIT_BYTES: u64 = 256 << 20;

/// The tasks of the queue that have not ended.
const CAPACITY: u64 = 20_000;

/// The payload of each of so many tasks: those of all alone would be too much.
fn payload_bytes(total: u64) -> usize {
    (2 * LIMIT_BYTES / total).clamp(16, 2_000) as usize
}

/// The tasks of a request, and requests without an answer.
const BATCH: u64 = 500;
const IN_FLIGHT: usize = 8;

/// What the worker has at a time.
const SLOTS: u32 = 256;

#[allow(clippy::disallowed_methods, reason = "how many tasks")]
fn total() -> u64 {
    let asked = std::env::var("TIDINGS_SUBMITS").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or(200_000)
}

#[test]
fn who_submits_without_end_is_held_up_and_all_is_done_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = child("child_that_submits_without_end", folder.path());
    let said: Vec<String> = lines(&mut child, "all of ").collect();
    assert!(child.wait().unwrap().success(), "{LIMIT_BYTES} bytes do not suffice");
    assert_eq!(said, [format!("{} are done", total())]);
}

#[test]
fn child_that_submits_without_end() {
    if folder_of_child().is_none() {
        return;
    }
    let limit = Some(LIMIT_BYTES);
    setrlimit(Resource::Data, Rlimit { current: limit, maximum: limit }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(all_done());
}

async fn all_done() {
    let candidate = Candidate {
        name: "bounded".to_owned(),
        host: "here".to_owned(),
        address: String::new(),
        session: None,
    };
    let options = Options { queue_capacity: CAPACITY as usize, board: None, ..Options::default() };
    let member = Arc::new(Member::join(Address::Memory, "test", candidate, options));
    let (client, _) = Session::open(member.clone(), "client", "here");
    let (worker, notices) = Session::open(member, "worker", "here");
    let submitting = tokio::spawn(submit(client.clone()));
    // Nobody takes tasks: the queue fills, and then nothing is taken any more.
    while live(&client).await < CAPACITY {}
    for _ in 0..100 {
        assert_eq!(live(&client).await, CAPACITY, "the queue is full");
    }
    assert!(!submitting.is_finished(), "who submits is held up");
    let done = work(worker, notices).await;
    submitting.await.unwrap();
    assert_eq!((done, live(&client).await), (total(), 0));
    println!("all of {done} are done");
}

/// How many tasks have not ended.
async fn live(client: &Session) -> u64 {
    match client.ask(Request::Overview).await {
        Ok(Answer::Overview(overview)) => overview.tasks,
        other => panic!("an overview was asked for: {other:?}"),
    }
}

/// Submits as fast as it may.
async fn submit(client: Session) {
    let (mut asked, total) = (JoinSet::new(), total());
    for first in (0..total).step_by(BATCH as usize) {
        let task = |number| {
            let payload = vec![1; payload_bytes(total)];
            Submission::new(TaskId::of("bounded", number), "jobs", payload)
        };
        let tasks = (first..(first + BATCH).min(total)).map(task).collect();
        let client = client.clone();
        asked.spawn(async move { client.ask(Request::Submit { tasks }).await });
        if asked.len() >= IN_FLIGHT {
            let answer = asked.join_next().await.expect("some are there").unwrap();
            assert!(matches!(answer, Ok(Answer::Submitted(_))), "{answer:?}");
        }
    }
    let rest = asked.join_all().await;
    assert!(rest.iter().all(|answer| matches!(answer, Ok(Answer::Submitted(_)))), "{rest:?}");
}

/// Does all tasks, and has them forgotten. Returns how many were.
async fn work(worker: Session, mut notices: mpsc::Receiver<Notice>) -> u64 {
    let (queues, resources) = (vec!["jobs".to_owned()], Vec::new());
    let offer = Request::Offer { queues, slots: SLOTS, resources, ahead: 0, full: None };
    assert_eq!(worker.ask(offer).await.unwrap(), Answer::Done);
    let (over, ended) = mpsc::channel(MAX_TASKS);
    let forgetting = tokio::spawn(forget(worker.clone(), ended));
    let mut reporting = JoinSet::new();
    for _ in 0..total() {
        let Some(Notice::Assigned(task)) = notices.recv().await else { panic!("a task") };
        let (id, attempt) = (task.task, task.attempt);
        let (children, effects, puts) = (Vec::new(), Vec::new(), Vec::new());
        let report =
            Request::Complete { task: id, attempt, result: vec![2; 8], children, effects, puts };
        let (worker, over) = (worker.clone(), over.clone());
        reporting.spawn(async move {
            assert_eq!(worker.ask(report).await.unwrap(), Answer::Done);
            over.send(id).await.unwrap();
        });
        while let Some(reported) = reporting.try_join_next() {
            reported.unwrap();
        }
    }
    reporting.join_all().await;
    drop(over);
    forgetting.await.unwrap()
}

/// Forgets tasks, as many at a time as have come.
async fn forget(worker: Session, mut ended: mpsc::Receiver<TaskId>) -> u64 {
    let (mut count, mut tasks) = (0, Vec::new());
    while ended.recv_many(&mut tasks, MAX_TASKS).await > 0 {
        let tasks = core::mem::take(&mut tasks);
        match worker.ask(Request::Forget { tasks }).await {
            Ok(Answer::Forgotten(forgotten)) => count += u64::from(forgotten),
            other => panic!("they have ended: {other:?}"),
        }
    }
    count
}
