//! What a process does that is killed: a coordinator, a worker and a client of one store, which do
//! a small computation and note in a file what they know.
//!
//! A process that follows one that was killed does the same again: tasks have names of their own,
//! so what is there is not submitted a second time. A note is one write to the end of the file,
//! which a kill does not take back.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Assigned, Notice, Session};
use tidings_tasks::store::Store;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Effect, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub(crate) const SEMAPHORE: &str = "one at a time";
const PLAIN: u64 = 3;
const CHILDREN: u64 = 2;
const TURNS: u32 = 2;

/// The notes of all processes that worked on one store.
#[derive(Clone)]
pub(crate) struct Notes(Arc<File>);

impl Notes {
    pub(crate) fn open(path: &Path) -> Self {
        let opened = File::options().create(true).append(true).open(path);
        Self(Arc::new(opened.unwrap()))
    }

    fn add(&self, line: &str) {
        (&*self.0).write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// The tasks that are submitted, and those that one of them has as children.
pub(crate) fn tasks() -> Vec<TaskId> {
    let children = (0..CHILDREN).map(|number| parent().child(number));
    submissions().iter().map(|task| task.id).chain(children).collect()
}

fn parent() -> TaskId {
    TaskId::of("parent", 0)
}

/// What each process submits.
pub(crate) fn submissions() -> Vec<Submission> {
    let plain = |name: &str, number| Submission::new(TaskId::of(name, number), "q", "plain");
    let behind = |number: u64, inputs: &[u64]| {
        let inputs = inputs.iter().map(|&input| TaskId::of("node", input)).collect();
        Submission { inputs, ..plain("node", number) }
    };
    let mut all: Vec<_> = (0..PLAIN).map(|number| plain("plain", number)).collect();
    all.push(Submission::new(parent(), "q", "parent"));
    all.extend([behind(0, &[]), behind(1, &[0]), behind(2, &[0]), behind(3, &[1, 2])]);
    all
}

/// Does the computation, or what is left of it. The names of sessions end with the process.
pub(crate) async fn compute(store: Arc<dyn Store>, notes: Notes) {
    let own = std::process::id();
    let (name, host) = (format!("coordinator{own}"), "here".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let session_ttl = Duration::from_secs(1);
    let options = Options { board: None, session_ttl, ..Options::default() };
    let member = Arc::new(Member::join_opened(store, "test", candidate, options));
    let (worker, told) = Session::open(member.clone(), &format!("worker{own}"), "here");
    tokio::spawn(work(worker, told, notes.clone()));
    let (client, _told) = Session::open(member.clone(), &format!("client{own}"), "here");
    let asked = client.ask(Request::Submit { tasks: submissions() }).await.unwrap();
    let Answer::Submitted(new) = asked else { panic!("{asked:?}") };
    notes.add(&format!("submitted {new}"));
    take_turns(&member, &client).await;
    for task in tasks() {
        let asked = client.ask(Request::Wait { task }).await.unwrap();
        let Answer::Outcome(finished) = asked else { panic!("{asked:?}") };
        assert!(matches!(finished.outcome, Outcome::Done(_)), "{task}: {finished:?}");
        notes.add(&format!("done {task} {}", finished.task.attempt.0));
    }
    member.leave().await;
}

/// Sessions acquire the one permit, one after the other, and end; then the client has it.
async fn take_turns(member: &Arc<Member>, client: &Session) {
    let make = Request::SetPermits { semaphore: SEMAPHORE.to_owned(), permits: 1 };
    assert_eq!(client.ask(make).await.unwrap(), Answer::Done);
    let within = Arc::new(AtomicU32::new(0));
    let mut turns = JoinSet::new();
    for turn in 0..TURNS {
        let name = format!("turn{turn}of{}", std::process::id());
        let (session, _told) = Session::open(member.clone(), &name, "here");
        let within = within.clone();
        turns.spawn(async move {
            acquire(&session).await;
            assert_eq!(within.fetch_add(1, Ordering::Relaxed), 0, "{name} is not alone");
            tokio::task::yield_now().await;
            within.fetch_sub(1, Ordering::Relaxed);
        });
    }
    while let Some(turn) = turns.join_next().await {
        turn.unwrap();
    }
    acquire(client).await;
}

async fn acquire(session: &Session) {
    let acquire = Request::Acquire { semaphore: SEMAPHORE.to_owned(), permits: 1 };
    assert_eq!(session.ask(acquire).await.unwrap(), Answer::Done);
}

/// A worker: does two tasks at a time.
async fn work(worker: Session, mut told: mpsc::Receiver<Notice>, notes: Notes) {
    let (queues, resources) = (Vec::new(), Vec::new());
    worker.ask(Request::Offer { queues, slots: 2, resources, ahead: 0, full: None }).await.unwrap();
    while let Some(notice) = told.recv().await {
        if let Notice::Assigned(assigned) = notice {
            notes.add(&format!("begun {}", assigned.task));
            tokio::spawn(perform(worker.clone(), assigned, notes.clone()));
        }
    }
}

async fn perform(worker: Session, assigned: Assigned, notes: Notes) {
    let (task, attempt) = (assigned.task, assigned.attempt);
    let child = |number| Submission::new(task.child(number), "q", "plain");
    let is_parent = assigned.payload[..] == *b"parent";
    let children = if is_parent { (0..CHILDREN).map(child).collect() } else { Vec::new() };
    // The key must have no value before: a second completion would be refused.
    let key = [b"did/", task.to_string().as_bytes()].concat();
    let effects = vec![Effect { key, value: Some(b"1".to_vec().into()), expect: Some(0) }];
    let result = assigned.payload;
    let complete = Request::Complete { task, attempt, result, children, effects, puts: Vec::new() };
    match worker.ask(complete).await {
        Ok(Answer::Done) => notes.add(&format!("done {task} {}", attempt.0)),
        Ok(answer) => notes.add(&format!("refused {task} {answer:?}")),
        // The computation has ended before the answer came.
        Err(_) => {}
    }
}
