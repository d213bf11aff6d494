//! A worker with real processes: what they say, how they end, and that nothing of them is left.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod here;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use here::{Here, first_line, member, next, rest, settings};
use tidings_tasks::blobs::Blobs;
use tidings_tasks::session::Session;
use tidings_tasks::work::{What, Work};
use tidings_tasks::worker::{Event, Settings, Worker};
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::{Cause, Retry};

/// Names the folder to the process that the last test starts.
const FOLDER: &str = "TIDINGS_TEST_FOLDER";

fn shell(script: &str) -> Work {
    Work::command("test", vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()])
}

/// A script that makes a named pipe, says so by it, and never ends by itself.
fn endless(pipe: &Path) -> String {
    format!("echo begun > {}; while :; do sleep 1000; done", pipe.display())
}

#[tokio::test]
async fn a_command_says_what_it_has_done() {
    let mut here = Here::new();
    let (_worker, mut events) = here.worker();
    let mut work = shell("cat; echo $TIDINGS_ATTEMPT $TIDINGS_QUEUE $A; echo oh >&2; pwd");
    let What::Command { environment, directory, stdin, .. } = &mut work.what else { panic!() };
    environment.push(("A".to_owned(), "variable".to_owned()));
    *directory = Some("/".to_owned());
    *stdin = vec![b'x'; 12_000];
    let task = here.submit(&work).await;
    let report = here.report(task).await;
    let tail = String::from_utf8(report.stdout.tail).unwrap();
    assert!(tail.ends_with("x1 q variable\n/\n"), "{tail}");
    assert_eq!(report.stdout.bytes_total, 12_000 + "1 q variable\n/\n".len() as u64);
    assert_eq!((report.stderr.tail, report.status), (b"oh\n".to_vec(), 0));
    assert_eq!((report.host.as_str(), report.stdout.blob), ("here", None));
    assert!(report.wall_us > 0 && report.max_rss_bytes > 0);
    let started = events.recv().await.unwrap();
    assert!(matches!(started, Event::Started { slot: 0, name, .. } if name == "test"));
    let ended = events.recv().await.unwrap();
    assert!(matches!(ended, Event::Ended { cause: None, report: Some(_), .. }), "{ended:?}");
}

#[tokio::test]
async fn long_output_is_kept_whole() {
    let mut here = Here::new();
    let blobs = Arc::new(Blobs::open(&here.path("blobs")).unwrap());
    let settings = Settings { blobs: Some(blobs.clone()), ..here.settings() };
    let (_worker, _events) = Worker::begin(here.member.clone(), settings);
    let task = here.submit(&shell("seq 1 20000; seq 1 10 >&2")).await;
    let report = here.report(task).await;
    let expected: String =
        (1..=20_000).flat_map(|number| [number.to_string(), "\n".to_owned()]).collect();
    let whole = blobs.get(&report.stdout.blob.unwrap()).unwrap();
    assert!(whole[..] == *expected.as_bytes());
    assert!(expected.as_bytes().ends_with(&report.stdout.tail));
    assert_eq!(report.stderr.blob, None);
}

#[tokio::test]
async fn a_failure_has_its_cause_and_the_last_lines() {
    let mut here = Here::new();
    let (_worker, _events) = here.worker();
    let exit = here.submit(&shell("echo one; echo two >&2; exit 3")).await;
    let signal = here.submit(&shell("kill -SEGV $$")).await;
    let (cause, text) = here.failure(exit).await;
    let sentence = "it ended with status 3; the last of its standard error:\ntwo";
    assert_eq!((cause, text.as_str()), (Cause::Exit, sentence));
    let (cause, text) = here.failure(signal).await;
    assert_eq!((cause, text.as_str()), (Cause::Signal, "signal 11 ended it"));
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let mut here = Here::new();
    let (_worker, mut events) = here.worker();
    let file = here.path("file");
    std::fs::write(&file, "no program").unwrap();
    let command = |program: &str| Work::command("test", vec![program.to_owned()]);
    let mut nowhere = command("true");
    let What::Command { directory, .. } = &mut nowhere.what else { panic!() };
    *directory = Some("/no/such/folder".to_owned());
    let cases = [
        (command("no-such-program"), 127, "there is no program \"no-such-program\""),
        (command(file.to_str().unwrap()), 126, "check its mode"),
        (nowhere, 126, "there is no folder \"/no/such/folder\""),
    ];
    for (work, status, expected) in cases {
        let task = here.submit(&work).await;
        let (cause, text) = here.failure(task).await;
        assert_eq!(cause, Cause::Exit);
        assert!(text.contains(expected), "{text}");
        let ended = next(&mut events, |event| matches!(event, Event::Ended { .. })).await;
        let Event::Ended { report: Some(report), .. } = ended else { panic!("{ended:?}") };
        assert_eq!(report.status, status);
    }
}

#[tokio::test]
async fn a_payload_that_is_no_work_fails() {
    let mut here = Here::new();
    let (_worker, _events) = here.worker();
    let task = here.submit(&Work::command("", Vec::new())).await;
    let (cause, text) = here.failure(task).await;
    assert_eq!((cause, text.as_str()), (Cause::Error, "the command is empty: name a program"));
}

#[tokio::test]
async fn what_takes_too_long_ends_with_all_that_it_has_started() {
    let mut here = Here::new();
    let (_worker, _events) = here.worker();
    let pipe = here.pipe("pipe");
    // Both ignore the request to end; one is a child of a child.
    let script = format!("trap '' TERM; (echo begun; sleep 1000) > {} & wait", pipe.display());
    let mut work = shell(&script);
    work.limits.time_ms = 2_000;
    work.limits.grace_ms = 100;
    let task = here.submit(&work).await;
    let (line, pipe) = first_line(pipe).await;
    assert_eq!(line, "begun");
    let (cause, text) = here.failure(task).await;
    assert_eq!((cause, text.as_str()), (Cause::Time, "it took longer than 2000 ms"));
    assert_eq!(rest(pipe).await, "");
}

#[tokio::test]
async fn who_is_asked_to_end_may_say_something() {
    let mut here = Here::new();
    let (_worker, _events) = here.worker();
    let pipe = here.pipe("pipe");
    let script = format!(
        "trap 'echo farewell >&2; exit 0' TERM; echo begun > {}; while :; do sleep 0.01; done",
        pipe.display()
    );
    let mut work = shell(&script);
    work.limits.time_ms = 2_000;
    work.limits.grace_ms = 3_600_000;
    let task = here.submit(&work).await;
    assert_eq!(first_line(pipe).await.0, "begun");
    let (cause, text) = here.failure(task).await;
    assert!(cause == Cause::Time && text.ends_with("farewell"), "{text}");
}

#[tokio::test]
async fn too_much_memory_is_a_cause_of_its_own() {
    let mut here = Here::new();
    let (_worker, _events) = here.worker();
    let mut work = shell("x=$(head -c 64000000 /dev/zero | tr '\\0' x); sleep 1000");
    work.limits.memory_bytes = 32 << 20;
    let task = here.submit(&work).await;
    let (cause, text) = here.failure(task).await;
    assert!(cause == Cause::Memory && text.contains("33554432"), "{cause:?} {text}");
}

#[tokio::test]
async fn a_task_that_is_cancelled_is_killed_and_its_slot_is_free() {
    let mut here = Here::new();
    let settings = Settings { slots: 1, ..here.settings() };
    let (_worker, _events) = Worker::begin(here.member.clone(), settings);
    let pipe = here.pipe("pipe");
    let mut work = shell(&endless(&pipe));
    work.limits.grace_ms = 3_600_000;
    let task = here.submit(&work).await;
    assert_eq!(first_line(pipe).await.0, "begun");
    let cancelled = here.client.ask(Request::Cancel { task }).await.unwrap();
    assert_eq!(cancelled, Answer::Done);
    assert_eq!(here.outcome(task).await.outcome, Outcome::Cancelled);
    let after = here.submit(&shell("echo next")).await;
    assert_eq!(here.report(after).await.stdout.tail, b"next\n");
}

#[tokio::test]
async fn a_session_that_has_lapsed_ends_what_runs() {
    let mut here = Here::new();
    let (_worker, mut events) = here.worker();
    let pipe = here.pipe("pipe");
    let script = format!(
        "[ $TIDINGS_ATTEMPT = 1 ] || exit 0; (trap '' TERM; echo begun; sleep 1000) > {}",
        pipe.display()
    );
    let task = here.submit_with(&shell(&script), Retry::default()).await;
    let (_, pipe) = first_line(pipe).await;
    // Another session takes the worker's name, and gives it back.
    let (other, _) = Session::open(here.member.clone(), "worker", "here");
    assert_eq!(other.ask(Request::Heartbeat).await.unwrap(), Answer::Done);
    drop(other);
    next(&mut events, |event| *event == Event::Lapsed).await;
    assert_eq!(rest(pipe).await, "");
    here.report(task).await;
}

#[tokio::test]
async fn a_worker_that_is_drained_finishes_what_it_has() {
    let mut here = Here::new();
    let settings = Settings { slots: 1, ..here.settings() };
    let (worker, mut events) = Worker::begin(here.member.clone(), settings);
    let (begun, gate) = (here.pipe("begun"), here.pipe("gate"));
    let script = format!("echo begun > {}; cat {}", begun.display(), gate.display());
    let task = here.submit(&shell(&script)).await;
    let later = here.submit(&shell("echo later")).await;
    first_line(begun).await;
    let opening = tokio::task::spawn_blocking(move || std::fs::write(gate, "done\n").unwrap());
    tokio::join!(worker.drain(), async { opening.await.unwrap() });
    assert_eq!(here.report(task).await.stdout.tail, b"done\n");
    let closed = next(&mut events, |event| matches!(event, Event::Closed(_))).await;
    assert_eq!(closed, Event::Closed("it was told to end".to_owned()));
    // What it was not given is done by the next one.
    let settings = settings_of_another(&here);
    let (_next, _events) = Worker::begin(here.member.clone(), settings);
    assert_eq!(here.report(later).await.stdout.tail, b"later\n");
}

fn settings_of_another(here: &Here) -> Settings {
    settings(here.folder.path(), "another")
}

#[tokio::test]
async fn a_worker_that_ends_gives_back_what_it_has() {
    for is_drained in [true, false] {
        let mut here = Here::new();
        let settings = Settings { drain: Duration::ZERO, ..here.settings() };
        let (worker, _events) = Worker::begin(here.member.clone(), settings);
        let pipe = here.pipe("pipe");
        let first = endless(&pipe);
        let script = format!("[ $TIDINGS_ATTEMPT = 1 ] || exit 0; {first}");
        // One loss would be one too many: what is given back is none.
        let task = here.submit(&shell(&script)).await;
        let (_, pipe) = first_line(pipe).await;
        if is_drained {
            worker.drain().await;
        } else {
            worker.stop().await;
        }
        assert_eq!(rest(pipe).await, "");
        let (_next, _events) = Worker::begin(here.member.clone(), settings_of_another(&here));
        here.report(task).await;
    }
}

#[tokio::test]
async fn a_worker_that_is_dropped_leaves_no_process() {
    let mut here = Here::new();
    let (worker, _events) = here.worker();
    let pipe = here.pipe("pipe");
    let script = format!("(echo begun; sleep 1000) > {} & wait", pipe.display());
    here.submit(&shell(&script)).await;
    let (_, pipe) = first_line(pipe).await;
    drop(worker);
    assert_eq!(rest(pipe).await, "");
}

/// Not a test by itself: the process that `a_worker_that_is_killed_leaves_no_process` kills.
#[tokio::test]
async fn work_in_the_folder_that_is_named() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let here = member(folder, "there");
    let (_worker, _events) = Worker::begin(here, settings(folder, "there"));
    println!("works");
    // Until it is killed, or whoever started it has ended.
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await.unwrap().ok();
}

fn start_worker(folder: &Path) -> Child {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "work_in_the_folder_that_is_named"]);
    command.env(FOLDER, folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap());
    assert!(printed.lines().map_while(Result::ok).any(|line| line.contains("works")));
    child
}

#[tokio::test]
async fn a_worker_that_is_killed_leaves_no_process() {
    let mut here = Here::new();
    let mut there = start_worker(here.folder.path());
    let pipe = here.pipe("pipe");
    // A child of a child that ignores what can be ignored, and has lost its parent.
    let script = format!(
        "[ $TIDINGS_ATTEMPT = 1 ] || exit 0
        (trap '' HUP TERM; (echo begun; sleep 1000) > {} &) ; sleep 1000",
        pipe.display()
    );
    let task = here.submit_with(&shell(&script), Retry::default()).await;
    let (_, pipe) = first_line(pipe).await;
    there.kill().unwrap();
    there.wait().unwrap();
    assert_eq!(rest(pipe).await, "");
    // The task is with another soon.
    let (_worker, _events) = here.worker();
    here.report(task).await;
}
