//! What many processes do together: values that one writes, and results that all combine.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod here;

use std::sync::Arc;

use here::member;
use tidings_tasks::collection::{CollectError, Collection};
use tidings_tasks::items;
use tidings_tasks::member::Member;
use tidings_tasks::payloads::Payloads;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::value::{Value, ValueError};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, MAX_INLINE_BYTES, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::Cause;
use tokio::sync::{mpsc, oneshot};

/// A store that one process holds, and places for what is long.
struct Together {
    folder: tempfile::TempDir,
    member: Arc<Member>,
    payloads: Payloads,
}

impl Together {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let member = member(folder.path(), "here");
        let payloads = Payloads::beside(&folder.path().join("store"));
        Self { folder, member, payloads }
    }

    fn session(&self, name: &str) -> (Session, mpsc::Receiver<Notice>) {
        Session::open(self.member.clone(), name, "here")
    }

    /// A session of another process.
    fn away(&self, name: &str) -> (Session, mpsc::Receiver<Notice>) {
        Session::open(member(self.folder.path(), name), name, "here")
    }

    /// Adds the tasks `0..count` of `leaf`.
    async fn submit(&self, count: u64) {
        let leaf = |index| Submission {
            need: items::need(),
            ..Submission::new(TaskId::of("leaf", index), "leaves", index.to_string())
        };
        let (session, _) = self.session("submits");
        let answer = session.ask(Request::Submit { tasks: (0..count).map(leaf).collect() }).await;
        assert_eq!(answer.unwrap(), Answer::Submitted(count as u32));
    }

    /// Does so many of them: the result is the payload and a comma. `failing` fails.
    async fn work(&self, count: u64, failing: &str) {
        let (session, mut notices) = self.session("works");
        session.ask(items::offer("leaves", 3)).await.unwrap();
        for _ in 0..count {
            let Some(Notice::Assigned(assigned)) = notices.recv().await else { panic!("a task") };
            let (task, attempt) = (assigned.task, assigned.attempt);
            let end = if assigned.payload == failing.as_bytes() {
                let (text, detail) = ("no".to_owned(), Vec::new());
                Request::Fail { task, attempt, cause: Cause::Error, text, detail }
            } else {
                let result = [&assigned.payload[..], b","].concat();
                let (children, effects) = (Vec::new(), Vec::new());
                Request::Complete { task, attempt, result, children, effects, puts: Vec::new() }
            };
            assert_eq!(session.ask(end).await.unwrap(), Answer::Done);
        }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "others may fail")]
fn joined(inputs: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    Ok(inputs.concat())
}

/// What the tasks come to, in order.
fn whole(count: u64) -> Outcome {
    Outcome::Done((0..count).flat_map(|index| format!("{index},").into_bytes()).collect())
}

#[tokio::test]
async fn all_who_collect_have_the_whole_in_order() {
    let together = Together::new();
    let collection = Collection::of("leaf", 600).unwrap();
    together.submit(600).await;
    let collects = |name| collection.collect(&together.payloads, together.away(name), joined);
    let (a, b, c, ()) =
        tokio::join!(collects("a"), collects("b"), collects("c"), together.work(600, "none"));
    for finished in [a, b, c] {
        assert_eq!(finished.unwrap().outcome, whole(600));
    }
    // Who comes later has it at once.
    let late = collection.collect(&together.payloads, together.away("late"), joined).await;
    assert_eq!(late.unwrap().outcome, whole(600));
}

#[tokio::test]
async fn what_one_has_that_ends_in_the_middle_is_combined_by_others() {
    let together = Together::new();
    let collection = Collection::of("leaf", 300).unwrap();
    together.submit(300).await;
    together.work(300, "none").await;
    let (combining, has_combined) = oneshot::channel();
    let mut combining = Some(combining);
    let first = collection.collect(&together.payloads, together.away("first"), |inputs| {
        // Its own word, which is not counted: it is gone before that.
        combining.take().map(|combining| combining.send(()));
        Ok(inputs.concat())
    });
    tokio::select! {
        _ = first => panic!("it was to end in the middle"),
        told = has_combined => told.unwrap(),
    }
    let second = collection.collect(&together.payloads, together.away("second"), joined).await;
    assert_eq!(second.unwrap().outcome, whole(300));
}

#[tokio::test]
async fn the_whole_fails_with_one_of_its_parts() {
    let together = Together::new();
    let collection = Collection::of("leaf", 40).unwrap();
    together.submit(40).await;
    together.work(40, "33").await;
    let finished = collection.collect(&together.payloads, together.away("it"), joined).await;
    let finished = finished.unwrap();
    assert_eq!(finished.outcome, Outcome::Failed);
    let why = &finished.task.failures.last().unwrap().text;
    assert_eq!(why, "node 2 of level 1 has failed: task 33 has failed: no");
}

#[tokio::test]
async fn what_is_not_there_is_not_collected() {
    let together = Together::new();
    together.submit(5).await;
    together.work(5, "none").await;
    let collection = Collection::of("leaf", 6).unwrap();
    let error = collection.collect(&together.payloads, together.away("it"), joined).await;
    assert!(matches!(&error, Err(CollectError::Missing(what)) if what == "task 5"), "{error:?}");
    assert!(matches!(Collection::of("leaf", 0), Err(CollectError::Leaves(0))));
}

#[tokio::test]
async fn a_value_is_written_once_and_read_by_all() {
    let together = Together::new();
    let bytes = vec![7; 3 * MAX_INLINE_BYTES];
    let value = Value::named("parameters");
    let (reader, _) = together.away("reader");
    value.expect(&reader).await.unwrap();
    let write = |name, bytes| value.write(&together.payloads, together.away(name), bytes);
    let read = value.read(&together.payloads, &reader);
    let (read, a, b) = tokio::join!(read, write("a", bytes.clone()), write("b", bytes.clone()));
    assert_eq!(read.unwrap(), bytes);
    a.unwrap();
    b.unwrap();
    let other = write("c", vec![8]).await;
    assert!(matches!(other, Err(ValueError::Written)), "{other:?}");
    assert_eq!(value.read(&together.payloads, &reader).await.unwrap(), bytes);
}
