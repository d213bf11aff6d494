//! The processes of one machine that use one store: whoever holds it serves, and when it dies
//! another takes over; sessions do not see it.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod children;
mod parties;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use children::{Killed, child_that_says};
use parties::{assigned, check, completion, offer, submit, work};
use tidings_tasks::member::Member;
use tidings_tasks::replies::Replies;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::reign::Candidate;

/// Names the store to the process that the last test starts.
const STORE: &str = "TIDINGS_TEST_STORE";

/// What it prints when it holds it.
const HOLDS: &str = "holds the store";

fn member(file: &Path, name: &str) -> Arc<Member> {
    let (name, host) = (name.to_owned(), "here".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let address = Address::File(file.into());
    Arc::new(Member::join(address, "test", candidate, Options::default()))
}

#[tokio::test]
async fn two_processes_use_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let first = member(&file, "first");
    let (client, _told) = Session::open(first.clone(), "client", "here");
    assert_eq!(submit(&client, 0..100).await, 100);
    assert!(first.holds());

    let second = member(&file, "second");
    let (worker, notices) = Session::open(second.clone(), "worker", "here");
    offer(&worker, 8).await;
    assert!(!second.holds());
    tokio::spawn(work(worker, notices));
    check(&client, 0..100).await;
    assert_eq!(submit(&client, 90..110).await, 10);
    check(&client, 100..110).await;
}

#[tokio::test]
async fn answers_about_many_tasks_come_in_one_queue() {
    let folder = tempfile::tempdir().unwrap();
    let here = member(&folder.path().join("store"), "here");
    let (client, _told) = Session::open(here.clone(), "client", "here");
    let (worker, notices) = Session::open(here, "worker", "here");
    assert_eq!(submit(&client, 0..20).await, 20);
    let replies = Replies::default();
    for number in 0..20 {
        let task = TaskId::of("task", number);
        client.post(task, Request::Wait { task }, &replies).await.unwrap();
    }
    offer(&worker, 3).await;
    tokio::spawn(work(worker, notices));
    let mut ended = BTreeSet::new();
    while ended.len() < 20 {
        for (task, answer) in replies.take().await {
            assert!(matches!(answer, Answer::Outcome(_)), "{answer:?}");
            assert!(ended.insert(task), "{task} has ended before");
        }
    }
}

#[tokio::test]
async fn a_session_that_has_ended_says_why_and_takes_nothing() {
    let nowhere = member(Path::new("/no/such/folder/store"), "here");
    let (client, _told) = Session::open(nowhere, "client", "here");
    let why = client.closed().await.to_string();
    assert!(why.contains("/no/such/folder/store"), "{why}");
    let (task, replies) = (TaskId::of("task", 1), Replies::default());
    assert!(client.post(task, Request::Wait { task }, &replies).await.is_err());
}

#[tokio::test]
async fn when_the_holder_ends_another_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let first = member(&file, "first");
    let (early, _told) = Session::open(first.clone(), "early", "here");
    assert_eq!(submit(&early, 0..10).await, 10);

    let second = member(&file, "second");
    let (worker, mut notices) = Session::open(second.clone(), "worker", "here");
    let (client, _told) = Session::open(second.clone(), "client", "here");
    offer(&worker, 1).await;
    let in_hand = assigned(&mut notices).await;
    drop((early, first));
    // It was given by the coordinator before, and counts for the one after it.
    let answer = worker.ask(completion(&in_hand)).await.unwrap();
    assert_eq!(answer, Answer::Done);
    tokio::spawn(work(worker, notices));
    check(&client, 0..10).await;
    assert!(second.holds());
}

#[tokio::test]
async fn a_session_learns_that_another_has_taken_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = member(&folder.path().join("store"), "here");
    let (first, mut told) = Session::open(here.clone(), "same", "here");
    assert_eq!(first.ask(Request::Heartbeat).await.unwrap(), Answer::Done);
    let (_second, _) = Session::open(here, "same", "here");
    assert!(matches!(told.recv().await, Some(Notice::Lapsed(_))));
}

#[tokio::test]
async fn a_session_says_why_it_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let here = member(&folder.path().join("store"), "here");
    let (session, _) = Session::open(here, "", "here");
    let error = session.ask(Request::Heartbeat).await.unwrap_err();
    assert!(error.to_string().contains("1 to 255 bytes"), "{error}");

    let other = member(&folder.path().join("no/such/folder/store"), "there");
    let (session, _) = Session::open(other, "there", "here");
    let error = session.ask(Request::Heartbeat).await.unwrap_err();
    assert!(error.to_string().contains("no/such/folder"), "{error}");
}

/// Not a test by itself: the process that `a_holder_that_is_killed_is_replaced` starts and kills.
#[tokio::test]
async fn hold_the_store_that_is_named() {
    let Some(file) = std::env::var_os(STORE) else { return };
    let holder = member(Path::new(&file), "holder");
    let _link = holder.link().await.unwrap();
    assert!(holder.holds());
    println!("{HOLDS}");
    // Until it is killed, or whoever started it has ended.
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await.unwrap().ok();
}

/// Starts a process that holds the store, and waits until it does.
fn start_holder(file: &Path) -> Killed {
    child_that_says("hold_the_store_that_is_named", (STORE, file.as_os_str()), HOLDS)
}

/// Not a test by itself: as that one, and it has a task in hand when it says so.
#[tokio::test]
async fn hold_the_store_and_a_task() {
    let Some(file) = std::env::var_os(STORE) else { return };
    let holder = member(Path::new(&file), "holder");
    let (worker, mut notices) = Session::open(holder.clone(), "holder-worker", "here");
    assert_eq!(submit(&worker, 0..1).await, 1);
    offer(&worker, 1).await;
    assigned(&mut notices).await;
    println!("{HOLDS}");
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await.unwrap().ok();
}

#[tokio::test]
async fn what_a_killed_holder_had_in_hand_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let store = (STORE, file.as_os_str());
    let holder = child_that_says("hold_the_store_and_a_task", store, HOLDS);
    let here = member(&file, "here");
    let (worker, mut notices) = Session::open(here.clone(), "here-worker", "here");
    offer(&worker, 1).await;
    drop(holder);
    let in_hand = assigned(&mut notices).await;
    assert_eq!(worker.ask(completion(&in_hand)).await.unwrap(), Answer::Done);
    let answer = worker.ask(Request::Wait { task: in_hand.task }).await.unwrap();
    let Answer::Outcome(finished) = answer else { panic!("{answer:?}") };
    let why: Vec<&str> = finished.task.failures.iter().map(|failure| &*failure.text).collect();
    assert!(why.len() == 1 && why[0].contains("its process has ended"), "{why:?}");
}

#[tokio::test]
async fn a_holder_that_is_killed_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let holder = start_holder(&file);
    let here = member(&file, "here");
    let (client, _told) = Session::open(here.clone(), "client", "here");
    let (worker, mut notices) = Session::open(here.clone(), "worker", "here");
    assert_eq!(submit(&client, 0..200).await, 200);
    offer(&worker, 2).await;
    let in_hand = assigned(&mut notices).await;
    assert!(!here.holds());
    drop(holder);
    assert_eq!(worker.ask(completion(&in_hand)).await.unwrap(), Answer::Done);
    assert!(here.holds());
    tokio::spawn(work(worker, notices));
    check(&client, 0..200).await;
    // All were acknowledged by the one that was killed.
    assert_eq!(submit(&client, 0..200).await, 0);
}
