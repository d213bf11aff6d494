//! Payloads and results of any length, from one member of a store to another.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks::blobs::{self, Blobs};
use tidings_tasks::keeper;
use tidings_tasks::member::Member;
use tidings_tasks::payloads::Payloads;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::address::Address;
use tidings_tasks::store::embedded::Embedded;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::mpsc;

fn member(file: &Path, name: &str) -> Arc<Member> {
    let (name, host) = (name.to_owned(), "here".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let address = Address::File(file.into());
    Arc::new(Member::join(address, "test", candidate, Options::default()))
}

fn submission(number: u64, payload: Vec<u8>) -> Submission {
    Submission::new(TaskId::of("task", number), "q", payload)
}

/// The result of each task is its payload backwards.
async fn work(worker: Session, payloads: Payloads, mut notices: mpsc::Receiver<Notice>) {
    worker
        .ask(Request::Offer {
            queues: Vec::new(),
            slots: 4,
            resources: Vec::new(),
            ahead: 0,
            full: None,
        })
        .await
        .unwrap();
    while let Some(notice) = notices.recv().await {
        let Notice::Assigned(assigned) = notice else { continue };
        let (task, attempt) = (assigned.task, assigned.attempt);
        let mut result = payloads.whole(assigned.payload).await.unwrap();
        result.reverse();
        let result = payloads.shorten(task, result).await.unwrap();
        let (children, effects) = (Vec::new(), Vec::new());
        let done = Request::Complete { task, attempt, result, children, effects, puts: Vec::new() };
        assert_eq!(worker.ask(done).await.unwrap(), Answer::Done);
    }
}

#[tokio::test]
async fn what_is_long_comes_whole_and_goes_with_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let (holder, other) = (member(&file, "holder"), member(&file, "other"));
    let (client, _told) = Session::open(holder, "client", "here");
    let (worker, notices) = Session::open(other, "worker", "here");
    let payloads = Payloads::beside(&file);
    let working = tokio::spawn(work(worker, Payloads::beside(&file), notices));

    let content = |number: u64| -> Vec<u8> {
        (0..10_000 + 20_000 * number).map(|at| (at * (at + number) / 8) as u8).collect()
    };
    let tasks: Vec<Submission> = (0..4).map(|number| submission(number, content(number))).collect();
    let answer = payloads.submit(&client, tasks.clone(), &[]).await.unwrap();
    assert_eq!(answer, Answer::Submitted(4));
    for task in tasks {
        let answer = payloads.outcome(&client, task.id).await.unwrap();
        let Answer::Outcome(finished) = answer else { panic!("{answer:?}") };
        let backwards = task.payload.into_iter().rev().collect();
        assert!(finished.outcome == Outcome::Done(backwards));
    }
    let forget = Request::Forget { tasks: vec![TaskId::of("task", 3)] };
    assert_eq!(client.ask(forget).await.unwrap(), Answer::Forgotten(1));
    working.abort();
    let _ = working.await;
    drop(client);

    // Nobody holds the store now, or soon: then its keeper is this test.
    let store = loop {
        match Embedded::open(&file, "test") {
            Ok(store) => break store,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let blobs = Arc::new(Blobs::open(&blobs::beside(&file)).unwrap());
    let free = async || keeper::free(&store, 1, &blobs, Duration::ZERO).await.unwrap();
    // Payload and result of a task that is forgotten; others that have ended keep theirs.
    assert_eq!(free().await, 140_000);
    assert_eq!(blobs.bytes().unwrap(), 2 * (30_000 + 50_000));
}

/// As many tasks as a submission takes, each as long as a record takes, are more than a frame.
#[tokio::test]
async fn the_largest_submission_fits_into_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let _holder = member(&file, "holder");
    let (client, _told) = Session::open(member(&file, "other"), "client", "here");
    let tasks = (0..1_000).map(|number| submission(number, vec![number as u8; 16 * 1_024]));
    let payloads = Payloads::beside(&file);
    let answer = payloads.submit(&client, tasks.collect(), &[]).await.unwrap();
    assert_eq!(answer, Answer::Submitted(1_000));
}
