//! A small computation that uses all that a store holds for programs, and what is left of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use minicbor::Decode;
use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Assigned, Notice, Session};
use tidings_tasks::space::{Space, Spaces};
use tidings_tasks::store::Store;
use tidings_tasks::store::faulty::LATE;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Effect, Request, Submission};
use tidings_tasks_core::record::{Finished, Outcome};
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::Key;
use tidings_tasks_core::tuple::{Field, Stored, Template, Tuple, Type};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// In virtual time: nothing takes as long, whatever fails once.
const WATCHDOG: Duration = Duration::from_secs(600);

const PLAIN: u64 = 3;
const CHILDREN: u64 = 3;
const TUPLES: i64 = 4;
const PULLERS: u64 = 2;
const SEMAPHORE: &str = "one at a time";

/// Does the computation over a store.
///
/// # Panics
/// An answer is wrong, something is done twice, or it hangs.
pub(crate) fn run(store: Arc<dyn Store>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let all = async { tokio::time::timeout(WATCHDOG, compute(store)).await };
    runtime.block_on(all).expect("it hangs");
}

async fn compute(store: Arc<dyn Store>) {
    let (name, host) = ("coordinator".to_owned(), "here".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let options = Options { board: None, ..Options::default() };
    let member = Arc::new(Member::join_opened(store, "test", candidate, options));
    let seen = Shared::default();
    for name in ["w0", "w1"] {
        let (worker, notices) = Session::open(member.clone(), name, name);
        tokio::spawn(work(worker, notices, seen.clone()));
    }
    let (client, _) = Session::open(member.clone(), "client", "here");
    put_tuples(&client).await;
    let tasks = submissions();
    // Inputs first: what waits for them may be asked for only when they are known.
    for part in tasks.chunks(tasks.len().div_ceil(2)) {
        let asked = client.ask(Request::Submit { tasks: part.to_vec() }).await.unwrap();
        assert!(matches!(asked, Answer::Submitted(_)), "{asked:?}");
    }
    take_turns(&member, &client).await;
    let children = (0..CHILDREN).map(|number| parent().child(number));
    for task in tasks.iter().map(|task| task.id).chain(children) {
        let asked = client.ask(Request::Wait { task }).await.unwrap();
        let Answer::Outcome(finished) = asked else { panic!("{asked:?}") };
        assert!(matches!(finished.outcome, Outcome::Done(_)), "{task}: {finished:?}");
    }
    member.leave().await;
    // What is late comes now, if it comes.
    pass(2 * LATE).await;
    assert!(seen.lock().unwrap().complaints.is_empty(), "{seen:?}");
}

/// Lets virtual time pass: the clock is paused, so nobody waits for it.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep_until(tokio::time::Instant::now() + time).await;
}

fn parent() -> TaskId {
    TaskId::of("parent", 0)
}

fn submissions() -> Vec<Submission> {
    let task = |name: &str, number, kind: &str| {
        Submission::new(TaskId::of(name, number), "q", kind.as_bytes())
    };
    let behind = |inputs: &[u64], number| {
        let inputs = inputs.iter().map(|input| TaskId::of("node", *input)).collect();
        Submission { inputs, ..task("node", number, "plain") }
    };
    let mut all: Vec<_> = (0..PLAIN).map(|number| task("plain", number, "plain")).collect();
    all.push(task("parent", 0, "parent"));
    all.extend((0..PULLERS).map(|number| task("pulls", number, "pulls")));
    all.extend([behind(&[], 0), behind(&[0], 1), behind(&[0], 2), behind(&[1, 2], 3)]);
    all.push(Submission { delay_ms: 300, ..task("late", 0, "plain") });
    all
}

fn tuples(session: &Session) -> Space {
    Spaces::new(session.clone()).space("tuples")
}

fn any() -> Template {
    Template(vec![Type::Int.into()])
}

async fn put_tuples(client: &Session) {
    let space = tuples(client);
    for number in 0..TUPLES {
        space.put(Tuple::new(vec![Field::Int(number)])).await.unwrap();
    }
}

/// Two sessions acquire the same permit, one after the other, and end.
async fn take_turns(member: &Arc<Member>, client: &Session) {
    let make = Request::SetPermits { semaphore: SEMAPHORE.to_owned(), permits: 1 };
    assert_eq!(client.ask(make).await.unwrap(), Answer::Done);
    let within = Arc::new(AtomicU32::new(0));
    let mut turns = JoinSet::new();
    for name in ["first", "second", "third"] {
        let (session, _) = Session::open(member.clone(), name, "here");
        let within = within.clone();
        turns.spawn(async move {
            acquire(&session).await;
            assert_eq!(within.fetch_add(1, Ordering::Relaxed), 0, "{name} is not alone");
            pass(Duration::from_millis(30)).await;
            within.fetch_sub(1, Ordering::Relaxed);
        });
    }
    while let Some(turn) = turns.join_next().await {
        turn.unwrap();
    }
    // All of them have given it back, one way or the other, once it is to be had.
    acquire(client).await;
}

async fn acquire(session: &Session) {
    let acquire = Request::Acquire { semaphore: SEMAPHORE.to_owned(), permits: 1 };
    assert_eq!(session.ask(acquire).await.unwrap(), Answer::Done);
}

/// What workers have seen.
#[derive(Debug, Default)]
struct Seen {
    begun: BTreeSet<TaskId>,
    /// What must not be. A worker is a task of its own, whose panic nobody would notice.
    complaints: Vec<String>,
}

type Shared = Arc<Mutex<Seen>>;

/// A worker: does two tasks at a time.
async fn work(worker: Session, mut notices: mpsc::Receiver<Notice>, seen: Shared) {
    let (queues, resources) = (Vec::new(), Vec::new());
    let offer = Request::Offer { queues, slots: 2, resources, ahead: 0, full: None };
    worker.ask(offer).await.unwrap();
    let spaces = Spaces::new(worker.clone());
    while let Some(notice) = notices.recv().await {
        let assigned = match notice {
            Notice::Assigned(assigned) => assigned,
            // It has ended, as its answer is going to say.
            Notice::Stop(..) => continue,
            Notice::Lapsed(_) => {
                seen.lock().unwrap().complaints.push("nobody was silent".to_owned());
                continue;
            }
        };
        // No worker has died, so nothing is to be done again. A try that has not reached its
        // worker may be followed by another.
        if !seen.lock().unwrap().begun.insert(assigned.task) {
            seen.lock().unwrap().complaints.push(format!("begun twice: {assigned:?}"));
        }
        tokio::spawn(perform(worker.clone(), spaces.clone(), assigned, seen.clone()));
    }
}

async fn perform(worker: Session, spaces: Spaces, assigned: Assigned, seen: Shared) {
    let (task, attempt) = (assigned.task, assigned.attempt);
    let children = match &assigned.payload[..] {
        b"parent" => {
            let child = |number| Submission::new(task.child(number), "q", "plain");
            (0..CHILDREN).map(child).collect()
        }
        b"pulls" => {
            let space = spaces.of_task(task, attempt).space("tuples");
            // It is consumed with the completion.
            space.pull(any(), None).await.unwrap().unwrap();
            Vec::new()
        }
        _ => Vec::new(),
    };
    pass(Duration::from_millis(20)).await;
    // The key must have no value before: a second completion would be refused.
    let key = [b"did/", task.to_string().as_bytes()].concat();
    let effects = vec![Effect { key, value: Some(b"1".to_vec().into()), expect: Some(0) }];
    let result = assigned.payload;
    let complete = Request::Complete { task, attempt, result, children, effects, puts: Vec::new() };
    let answer = worker.ask(complete).await;
    // The computation may end before the answer comes.
    if let Ok(Answer::Refused(refusal)) = answer {
        seen.lock().unwrap().complaints.push(format!("{task} was done, but {refusal}"));
    }
}

/// What is left in a store.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct End {
    results: BTreeMap<TaskId, Outcome>,
    effects: BTreeMap<Key, Box<[u8]>>,
    tuples: Vec<Tuple>,
    held: Vec<String>,
    /// Tasks that have not ended, children that are none yet, tuples with an owner.
    rest: usize,
}

impl End {
    /// What is left in this one.
    pub(crate) fn of(ledger: &Ledger) -> Self {
        let part = Part(0);
        let finished: Vec<(Key, Finished)> = all(ledger, &keys::all_finished(part));
        let of_task = |(key, finished): (Key, Finished)| {
            (keys::id_of(&key).expect("it ends with its id"), finished.outcome)
        };
        let stored: Vec<(Key, Stored)> = all(ledger, &keys::tuples(part));
        let claimed = stored.iter().filter(|(_, tuple)| tuple.claim.is_some()).count();
        let semaphores: Vec<(Key, Semaphore)> = all(ledger, &keys::semaphores(part));
        let grants = semaphores.into_iter().flat_map(|(_, it)| [it.held, it.waiting]).flatten();
        let count = |prefix: Key| records(ledger, &prefix).len();
        let effects = records(ledger, &keys::effects(b"").expect("it is short"));
        let tuples = stored.into_iter().map(|(_, tuple)| tuple.tuple).collect();
        Self {
            results: finished.into_iter().map(of_task).collect(),
            effects: effects.into_iter().collect(),
            tuples,
            held: grants.map(|grant| grant.holder).collect(),
            rest: count(keys::tasks(part)) + count(keys::all_staged(part)) + claimed,
        }
    }

    /// It is what it has to be.
    pub(crate) fn check(&self) {
        let tasks = submissions().len() + CHILDREN as usize;
        assert_eq!((self.results.len(), self.effects.len(), self.rest), (tasks, tasks, 0));
        assert_eq!(self.tuples.len(), TUPLES as usize - PULLERS as usize);
        assert_eq!(self.held, ["client"]);
    }
}

fn records(ledger: &Ledger, prefix: &Key) -> Vec<(Key, Box<[u8]>)> {
    let page = ledger.scan(prefix, prefix.after_prefix().as_ref(), usize::MAX);
    page.records.into_iter().map(|record| (record.key, record.value)).collect()
}

fn all<T: for<'b> Decode<'b, ()>>(ledger: &Ledger, prefix: &Key) -> Vec<(Key, T)> {
    let decoded = |(key, value): (Key, Box<[u8]>)| (key, minicbor::decode(&value).unwrap());
    records(ledger, prefix).into_iter().map(decoded).collect()
}
