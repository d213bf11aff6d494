//! Clients and workers of a store: what they submit, do and check.

#![allow(dead_code, reason = "each program of tests uses a part of it")]

use tidings_tasks::session::{Assigned, Notice, Session};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tokio::sync::mpsc;

pub(crate) fn submission(number: u64) -> Submission {
    Submission::new(TaskId::of("task", number), "q", number.to_be_bytes())
}

pub(crate) async fn submit(client: &Session, numbers: core::ops::Range<u64>) -> u32 {
    let tasks = numbers.map(submission).collect();
    match client.ask(Request::Submit { tasks }).await.unwrap() {
        Answer::Submitted(new) => new,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn offer(worker: &Session, slots: u32) {
    let (queues, resources) = (Vec::new(), Vec::new());
    let answer = worker
        .ask(Request::Offer { queues, slots, resources, ahead: 0, full: None })
        .await
        .unwrap();
    assert_eq!(answer, Answer::Done);
}

pub(crate) async fn assigned(notices: &mut mpsc::Receiver<Notice>) -> Assigned {
    loop {
        if let Notice::Assigned(assigned) = notices.recv().await.unwrap() {
            return assigned;
        }
    }
}

/// The result is the payload, doubled.
pub(crate) fn completion(of: &Assigned) -> Request {
    let (task, attempt) = (of.task, of.attempt);
    let result = [&of.payload[..], &of.payload].concat();
    Request::Complete {
        task,
        attempt,
        result,
        children: Vec::new(),
        effects: Vec::new(),
        puts: Vec::new(),
    }
}

/// Does all tasks that it is given, for ever.
pub(crate) async fn work(worker: Session, mut notices: mpsc::Receiver<Notice>) {
    while let Some(notice) = notices.recv().await {
        let Notice::Assigned(assigned) = notice else { continue };
        worker.ask(completion(&assigned)).await.unwrap();
    }
}

/// Waits for the results of these tasks, and checks them.
pub(crate) async fn check(client: &Session, numbers: core::ops::Range<u64>) {
    for number in numbers {
        let task = TaskId::of("task", number);
        let Answer::Outcome(finished) = client.ask(Request::Wait { task }).await.unwrap() else {
            panic!("task {number} has no outcome");
        };
        let once = number.to_be_bytes();
        assert_eq!(finished.outcome, Outcome::Done([once, once].concat()), "task {number}");
    }
}
