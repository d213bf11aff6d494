//! Many workers at one store: nobody refuses anybody, and a long task runs once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::memory::Memory;
use tidings_tasks::store::{Lost, SessionError, Snapshot, Store, Watch, WatchError};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::transaction::Session as StoreSession;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Transaction};
use tokio::task::JoinSet;

use crate::workload::pass;

const WORKERS: usize = 64;
const TASKS: u64 = 1_000;

/// A store that counts commits, and those that it has refused.
#[derive(Default)]
struct Counting {
    memory: Memory,
    commits: AtomicU64,
    refused: AtomicU64,
}

#[async_trait]
impl Store for Counting {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let answer = self.memory.commit(transaction).await;
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.refused.fetch_add(u64::from(answer.is_err()), Ordering::Relaxed);
        answer
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        self.memory.get(keys).await
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        self.memory.scan(from, end, limit).await
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.memory.watch(prefix, after).await
    }

    async fn open_session(&self, ttl: Duration) -> Result<StoreSession, SessionError> {
        self.memory.open_session(ttl).await
    }

    async fn keep_session(&self, session: StoreSession) -> Result<(), SessionError> {
        self.memory.keep_session(session).await
    }

    async fn close_session(&self, session: StoreSession) -> Result<(), SessionError> {
        self.memory.close_session(session).await
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.memory.compact(before).await
    }

    fn limits(&self) -> Limits {
        self.memory.limits()
    }
}

fn member(store: Arc<dyn Store>) -> Arc<Member> {
    let (name, host) = ("coordinator".to_owned(), "here".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    // Several commits at a time: they could refuse each other.
    let options = Options { board: None, pipeline: 4, ..Options::default() };
    Arc::new(Member::join_opened(store, "test", candidate, options))
}

/// Does tasks, one at a time, each for so long.
async fn work(worker: Session, mut notices: tokio::sync::mpsc::Receiver<Notice>, long: Duration) {
    let (queues, resources) = (Vec::new(), Vec::new());
    worker.ask(Request::Offer { queues, slots: 1, resources, ahead: 0, full: None }).await.unwrap();
    while let Some(notice) = notices.recv().await {
        let Notice::Assigned(assigned) = notice else { continue };
        pass(long).await;
        let (task, attempt, result) = (assigned.task, assigned.attempt, assigned.payload);
        let (children, effects) = (Vec::new(), Vec::new());
        let complete =
            Request::Complete { task, attempt, result, children, effects, puts: Vec::new() };
        let _ = worker.ask(complete).await;
    }
}

async fn submit(client: &Session, count: u64) {
    let tasks = (0..count).map(|at| Submission::new(TaskId::of("t", at), "q", [7]));
    let asked = client.ask(Request::Submit { tasks: tasks.collect() }).await.unwrap();
    assert_eq!(asked, Answer::Submitted(count as u32));
}

/// The attempts of tasks, counted, when all have ended.
async fn attempts(client: &Session, count: u64) -> BTreeMap<u32, u64> {
    let mut attempts = BTreeMap::new();
    for at in 0..count {
        let asked = client.ask(Request::Wait { task: TaskId::of("t", at) }).await.unwrap();
        let Answer::Outcome(finished) = asked else { panic!("{asked:?}") };
        *attempts.entry(finished.task.attempt.0).or_default() += 1;
    }
    attempts
}

/// Trap 21 of peers: workers that claim by scanning fight for the first key.
#[tokio::test(start_paused = true)]
async fn no_commit_of_many_workers_is_refused() {
    let store = Arc::new(Counting::default());
    let member = member(store.clone());
    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        let (worker, notices) = Session::open(member.clone(), &format!("w{number}"), "here");
        workers.spawn(work(worker, notices, Duration::from_millis(3 + number as u64 % 5)));
    }
    let (client, _) = Session::open(member.clone(), "client", "here");
    submit(&client, TASKS).await;
    assert_eq!(attempts(&client, TASKS).await, BTreeMap::from([(1, TASKS)]));
    // What is asked while a commit is on its way is committed together, however many ask.
    let commits = store.commits.load(Ordering::Relaxed);
    assert!(commits > TASKS / WORKERS as u64, "{commits} commits: a worker has one task at a time");
    assert_eq!(store.refused.load(Ordering::Relaxed), 0, "commits that were refused");
}

/// Trap 2 of peers: a lease that is a guess of a task's length runs long tasks twice. Here a worker
/// lives as long as it is heard of, however long its task is; that it has died is noticed all the
/// same.
#[tokio::test(start_paused = true)]
async fn a_task_of_ten_times_a_session_runs_once_and_a_death_is_noticed() {
    let long = 10 * Options::default().session_ttl;
    let member = member(Arc::new(Memory::default()));
    let (worker, notices) = Session::open(member.clone(), "first", "here");
    let first = tokio::spawn(work(worker, notices, long));
    let (client, _) = Session::open(member.clone(), "client", "here");
    submit(&client, 1).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(attempts(&client, 1).await, BTreeMap::from([(1, 1)]));
    assert!(begun.elapsed() >= long, "it was not that long");
    // The same again, and its worker dies in the middle of it.
    let again = Submission::new(TaskId::of("again", 0), "q", [7]);
    let asked = client.ask(Request::Submit { tasks: vec![again] }).await.unwrap();
    assert_eq!(asked, Answer::Submitted(1));
    pass(long / 2).await;
    first.abort();
    let died = tokio::time::Instant::now();
    let (worker, notices) = Session::open(member.clone(), "second", "there");
    tokio::spawn(work(worker, notices, Duration::ZERO));
    let asked = client.ask(Request::Wait { task: TaskId::of("again", 0) }).await.unwrap();
    let Answer::Outcome(finished) = asked else { panic!("{asked:?}") };
    assert_eq!(finished.task.attempt.0, 2);
    assert!(died.elapsed() <= Options::default().session_ttl, "it was noticed that late");
}
