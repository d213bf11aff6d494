//! Calls: a worker with real runtime processes, which are kept, cancelled, broken and replaced.
//!
//! The runtime is this program, started again: it does what a call's body says.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod here;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use here::{Here, first_line, next, rest};
use tidings_tasks::blobs::{Blobs, Handle};
use tidings_tasks::runtime::{DESCRIPTOR, FromRuntime, Given, SLOT, ToRuntime, Value};
use tidings_tasks::work::{Report, What, Work, WorkLimits};
use tidings_tasks::worker::{Event, Settings, Worker};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Effect, MAX_INLINE_BYTES, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::Cause;
use tokio::sync::mpsc;

/// Makes a runtime that ends before it is ready.
const UNREADY: &str = "unready";

/// Makes a runtime that can wait, and holds the pipe of this name as long as it lives.
const CAN_WAIT: &str = "can-wait=";

fn hold(pipe: &str) -> std::fs::File {
    // To read as well, which does not wait for somebody who reads.
    std::fs::File::options().read(true).write(true).open(pipe).unwrap()
}

fn read(socket: &mut UnixStream) -> ToRuntime {
    let mut length = [0; 4];
    socket.read_exact(&mut length).unwrap();
    let mut frame = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut frame).unwrap();
    minicbor::decode(&frame).unwrap()
}

fn ready(can_wait: bool) -> FromRuntime {
    FromRuntime::Ready { runtime_version: "test 1".to_owned(), ahead: 0, can_wait }
}

/// What is said next; before it the slot of a process that has waited may be.
fn next_call(socket: &mut UnixStream, slot: &mut Option<String>) -> ToRuntime {
    let said = read(socket);
    let ToRuntime::Slot { slot: told } = said else { return said };
    assert_eq!(slot.replace(format!("told {told}")), None, "it had one");
    read(socket)
}

fn say(socket: &mut UnixStream, said: &FromRuntime) {
    let frame = minicbor::to_vec(said).unwrap();
    socket.write_all(&(frame.len() as u32).to_le_bytes()).unwrap();
    socket.write_all(&frame).unwrap();
}

/// Not a test by itself: the runtime process of the others.
#[test]
fn call_what_is_said() {
    let Ok(descriptor) = std::env::var(DESCRIPTOR) else { return };
    // SAFETY: the worker has left it to this process, which takes it here only.
    let mut socket = unsafe { UnixStream::from_raw_fd(descriptor.parse().unwrap()) };
    if std::env::args().any(|word| word == UNREADY) {
        eprintln!("no such module");
        std::process::exit(4);
    }
    let held = std::env::args().find_map(|word| word.strip_prefix(CAN_WAIT).map(hold));
    say(&mut socket, &ready(held.is_some()));
    let (mut known, mut slot) = (BTreeSet::new(), std::env::var(SLOT).ok());
    for calls in 1.. {
        let ToRuntime::Run { task, attempt, code, code_hash, body, inputs, .. } =
            next_call(&mut socket, &mut slot)
        else {
            panic!("a call was expected");
        };
        if let (Some(code), Some(hash)) = (&code, code_hash) {
            assert_eq!(Handle::of(code).hash, hash);
            assert!(known.insert(hash), "it was sent twice");
        }
        assert!(code_hash.is_none_or(|hash| known.contains(&hash)));
        let failed = |task, text: &str| {
            let (text, detail) = (text.to_owned(), text.as_bytes().to_vec());
            FromRuntime::Failed { task, attempt, text, detail, is_of_host: false }
        };
        let body = String::from_utf8(body).unwrap();
        let (what, rest) = body.split_once(' ').unwrap_or((&body, ""));
        let (mut value, mut children, mut effects) = (rest.as_bytes().to_vec(), vec![], vec![]);
        match what {
            "echo" => eprintln!("call {calls}"),
            "slot" => value = slot.clone().unwrap_or_default().into_bytes(),
            "code" => value = code.unwrap_or_default(),
            "join" => value = inputs.iter().flat_map(value_of).collect(),
            "long" => value = vec![b'x'; rest.parse().unwrap()],
            "exit" => std::process::exit(rest.parse().unwrap()),
            "abort" => std::process::abort(),
            "child" => (children, effects) = (vec![child_of(task)], vec![effect()]),
            "progress" => {
                let (thousandths, text) = (500, "half".to_owned());
                say(&mut socket, &FromRuntime::Progress { task, attempt, thousandths, text });
            }
            "spend" => say(&mut socket, &spent(task, attempt)),
            "nonsense" => socket.write_all(&[1, 0, 0, 0, 0xff]).unwrap(),
            "another" => say(&mut socket, &failed(TaskId::of("another", 0), "")),
            "begin" => std::fs::write(rest, format!("{}\n", std::process::id())).unwrap(),
            "fail" => {}
            other => panic!("{other}"),
        }
        let said = match what {
            "fail" => failed(task, rest),
            "begin" => {
                assert_eq!(read(&mut socket), ToRuntime::Cancel { task, attempt });
                failed(task, "cancelled")
            }
            _ => FromRuntime::Done { task, attempt, value, children, effects, puts: Vec::new() },
        };
        say(&mut socket, &said);
    }
}

/// What a call before has returned.
fn value_of(input: &Given) -> Vec<u8> {
    match &input.value {
        Value::Here(value) => value.clone(),
        Value::File { path, from, bytes } => {
            let whole = std::fs::read(path).unwrap();
            whole[*from as usize..][..*bytes as usize].to_vec()
        }
    }
}

fn spent(task: TaskId, attempt: Attempt) -> FromRuntime {
    let (cpu_us, peak_bytes, wall_us, is_held) = (7_000_000, 1 << 40, 0, false);
    FromRuntime::Spent { task, attempt, cpu_us, peak_bytes, wall_us, is_held }
}

fn child_of(task: TaskId) -> Submission {
    let work = Work { name: String::new(), what: call("echo child"), limits: limits() };
    Submission::new(task.child(0), "q", work.to_payload())
}

fn effect() -> Effect {
    Effect { key: b"key".to_vec(), value: Some(b"value".to_vec().into()), expect: Some(0) }
}

fn call(body: &str) -> What {
    let (runtime, body, inputs) = ("test".to_owned(), body.as_bytes().to_vec(), Vec::new());
    What::Call { runtime, code: None, body, inputs }
}

fn limits() -> WorkLimits {
    WorkLimits::default()
}

fn worker(here: &Here) -> (Worker, mpsc::Receiver<Event>) {
    worker_with(here, &[], None)
}

fn worker_with(
    here: &Here,
    words: &[&str],
    blobs: Option<Arc<Blobs>>,
) -> (Worker, mpsc::Receiver<Event>) {
    Worker::begin(here.member.clone(), settings(here, words, blobs))
}

/// With one slot, so that its processes are the same for all calls.
fn settings(here: &Here, words: &[&str], blobs: Option<Arc<Blobs>>) -> Settings {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let mut argv = vec![program];
    argv.extend(["--exact", "--nocapture", "call_what_is_said"].map(str::to_owned));
    argv.extend(words.iter().map(|word| (*word).to_owned()));
    let runtimes = [("test".to_owned(), argv)].into();
    Settings { slots: 1, runtimes, blobs, ..here.settings() }
}

async fn submit(here: &mut Here, body: &str) -> TaskId {
    here.submit(&Work { name: String::new(), what: call(body), limits: limits() }).await
}

#[tokio::test]
async fn a_process_is_kept_for_the_next_call() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    for calls in 1..4 {
        let task = submit(&mut here, "echo hello").await;
        let report = here.report(task).await;
        assert_eq!((report.value, report.status), (b"hello".to_vec(), 0));
        assert!(report.wall_us > 0 && report.max_rss_bytes > 0);
        let log = String::from_utf8(report.stderr.tail).unwrap();
        assert!(log.ends_with(&format!("call {calls}\n")), "{log}");
        assert!(calls == 1 || log == format!("call {calls}\n"), "of this call only: {log}");
    }
}

#[tokio::test]
async fn what_a_process_says_that_a_call_took_is_in_its_report() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    let spent = |report: Report| (report.cpu_us, report.max_rss_bytes);
    let task = submit(&mut here, "spend").await;
    assert_eq!(spent(here.report(task).await), (7_000_000, 1 << 40));
    let task = submit(&mut here, "echo").await;
    assert_eq!(spent(here.report(task).await), (0, 0), "it is not measured any more");
}

#[tokio::test]
async fn what_waits_behind_a_long_call_is_done_elsewhere() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    // Its calls are short, so it takes some ahead, unless the machine is very slow.
    for _ in 0..30 {
        let task = submit(&mut here, "echo").await;
        here.report(task).await;
    }
    let pipe = here.pipe("pipe");
    let long = submit(&mut here, &format!("begin {}", pipe.display())).await;
    first_line(pipe).await;
    let mut others = Vec::new();
    for _ in 0..8 {
        others.push(submit(&mut here, "echo").await);
    }
    let settings = Settings { name: "other".to_owned(), ..settings(&here, &[], None) };
    let (_other, _events) = Worker::begin(here.member.clone(), settings);
    for task in others {
        here.report(task).await;
    }
    assert_eq!(here.client.ask(Request::Cancel { task: long }).await.unwrap(), Answer::Done);
    assert_eq!(here.outcome(long).await.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn an_error_is_the_calls_and_the_process_stays() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    let failing = submit(&mut here, "fail ValueError: 7").await;
    let failure = here.failure(failing).await;
    assert_eq!(failure, (Cause::Error, "ValueError: 7".to_owned()));
    let task = submit(&mut here, "echo").await;
    let log = String::from_utf8(here.report(task).await.stderr.tail).unwrap();
    assert_eq!(log, "call 2\n");
}

#[tokio::test]
async fn a_process_that_dies_is_replaced() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    let exit = submit(&mut here, "exit 3").await;
    let (cause, text) = here.failure(exit).await;
    assert!(cause == Cause::Exit && text.starts_with("it ended with status 3"), "{text}");
    let abort = submit(&mut here, "abort").await;
    let (cause, text) = here.failure(abort).await;
    assert!(cause == Cause::Signal && text.starts_with("signal 6 ended it"), "{text}");
    let quiet = submit(&mut here, "exit 0").await;
    let (cause, text) = here.failure(quiet).await;
    assert!(cause == Cause::Exit && text.starts_with("its runtime ended within"), "{text}");
    let task = submit(&mut here, "echo again").await;
    assert_eq!(here.report(task).await.value, b"again");
}

/// What the next call finds that follows one which ends its process.
async fn slot_after_a_death(here: &mut Here, settings: Settings) -> (Worker, String) {
    let (worker, _events) = Worker::begin(here.member.clone(), settings);
    let first = submit(here, "slot").await;
    assert_eq!(here.report(first).await.value, b"0");
    let abort = submit(here, "abort").await;
    assert_eq!(here.failure(abort).await.0, Cause::Signal);
    let next = submit(here, "slot").await;
    (worker, String::from_utf8(here.report(next).await.value).unwrap())
}

/// A slot did nothing for as long as a process takes to begin.
#[tokio::test]
async fn a_process_that_dies_is_replaced_by_one_that_has_waited() {
    let mut here = Here::new();
    let pipe = here.pipe("pipe");
    let word = format!("{CAN_WAIT}{}", pipe.display());
    let settings = settings(&here, &[&word], None);
    let settings = Settings { spare_after: Some(Duration::ZERO), ..settings };
    let (worker, slot) = slot_after_a_death(&mut here, settings).await;
    assert_eq!(slot, "told 0");
    // One more waits now, and ends with the worker.
    let open = tokio::task::spawn_blocking(|| std::fs::File::open(pipe).unwrap()).await.unwrap();
    worker.stop().await;
    assert_eq!(rest(open).await, "");
}

#[tokio::test]
async fn none_waits_that_cannot_or_that_is_not_wanted() {
    let mut here = Here::new();
    let word = format!("{CAN_WAIT}{}", here.pipe("pipe").display());
    let (never, at_once) = (None, Some(Duration::ZERO));
    for (words, spare_after) in [(vec![&*word], never), (Vec::new(), at_once)] {
        let settings = Settings { spare_after, ..settings(&here, &words, None) };
        let (worker, slot) = slot_after_a_death(&mut here, settings).await;
        assert_eq!(slot, "0", "{words:?}");
        worker.stop().await;
    }
}

#[tokio::test]
async fn a_process_that_breaks_the_protocol_is_replaced() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    for body in ["nonsense", "another"] {
        let task = submit(&mut here, body).await;
        let (cause, text) = here.failure(task).await;
        assert!(cause == Cause::Error && text.contains("its runtime broke off"), "{text}");
    }
    let task = submit(&mut here, "echo again").await;
    assert_eq!(here.report(task).await.value, b"again");
}

#[tokio::test]
async fn a_runtime_that_does_not_begin_says_why() {
    let mut here = Here::new();
    let (_worker, _events) = worker_with(&here, &[UNREADY], None);
    let task = submit(&mut here, "echo").await;
    let (cause, text) = here.failure(task).await;
    assert!(cause == Cause::Exit && text.contains("status 4"), "{text}");
    assert!(text.ends_with("no such module"), "{text}");
    let (body, inputs) = (Vec::new(), Vec::new());
    let what = What::Call { runtime: "other".to_owned(), code: None, body, inputs };
    let work = Work { name: String::new(), what, limits: limits() };
    let task = here.submit(&work).await;
    let (cause, text) = here.failure(task).await;
    assert!(cause == Cause::Error && text.contains("it has: test"), "{text}");
}

#[tokio::test]
async fn children_effects_and_progress_are_passed_on() {
    let mut here = Here::new();
    let (_worker, mut events) = worker(&here);
    let parent = submit(&mut here, "child").await;
    here.report(parent).await;
    assert_eq!(here.report(parent.child(0)).await.value, b"child");
    // What an effect expects has changed: the result is refused, and the task fails.
    let again = submit(&mut here, "child").await;
    let (cause, text) = here.failure(again).await;
    assert!(cause == Cause::Error && text.starts_with("its result was refused"), "{text}");
    let task = submit(&mut here, "progress").await;
    let progress = next(&mut events, |event| matches!(event, Event::Progress { .. })).await;
    let (attempt, text) = (Attempt(1), "half".to_owned());
    assert_eq!(progress, Event::Progress { task, attempt, thousandths: 500, text });
}

#[tokio::test]
async fn code_is_sent_once_and_long_values_are_blobs() {
    let mut here = Here::new();
    let blobs = Arc::new(Blobs::open(&here.path("blobs")).unwrap());
    let handle = blobs.put(b"def f(): pass").unwrap();
    let (_worker, _events) = worker_with(&here, &[], Some(blobs));
    for expected in [&b"def f(): pass"[..], b""] {
        let (runtime, body) = ("test".to_owned(), b"code".to_vec());
        let what = What::Call { runtime, code: Some(handle), body, inputs: Vec::new() };
        let work = Work { name: String::new(), what, limits: limits() };
        let task = here.submit(&work).await;
        assert_eq!(here.report(task).await.value, expected);
    }
    let long = submit(&mut here, "long 5000000").await;
    let Outcome::Done(result) = here.outcome(long).await.outcome else { panic!() };
    assert!(result.len() < MAX_INLINE_BYTES);
    let payloads = tidings_tasks::payloads::Payloads::in_folder(&here.path("blobs"));
    let whole = payloads.whole(result).await.unwrap();
    let report = Report::from_result(&whole).unwrap();
    assert!(report.value == vec![b'x'; 5_000_000]);
}

#[tokio::test]
async fn a_call_is_given_what_those_before_it_have_returned() {
    let mut here = Here::new();
    let blobs = Arc::new(Blobs::open(&here.path("blobs")).unwrap());
    let (_worker, _events) = worker_with(&here, &[], Some(blobs));
    let work = |body: &str, read: &[TaskId]| {
        let What::Call { runtime, code, body, .. } = call(body) else { unreachable!() };
        let what = What::Call { runtime, code, body, inputs: read.to_vec() };
        Work { name: String::new(), what, limits: limits() }
    };
    let long = submit(&mut here, "long 40000").await;
    let short = submit(&mut here, "echo abc").await;
    let joined = here.submit_behind(&work("join", &[short, long, short]), &[short, long]).await;
    let last = here.submit_behind(&work("join", &[short]), &[joined, short]).await;
    let payloads = tidings_tasks::payloads::Payloads::in_folder(&here.path("blobs"));
    let Outcome::Done(result) = here.outcome(joined).await.outcome else { panic!() };
    let report = Report::from_result(&payloads.whole(result).await.unwrap()).unwrap();
    assert!(report.value == [&b"abc"[..], &"x".repeat(40_000).into_bytes(), b"abc"].concat());
    assert_eq!(here.report(last).await.value, b"abc", "it reads one of those that it waits for");
    let failed = submit(&mut here, "fail wrong").await;
    let behind = here.submit_behind(&work("join", &[failed]), &[failed]).await;
    let (cause, text) = here.failure(behind).await;
    assert!(cause == Cause::Input && text.ends_with("has failed: wrong"), "{text}");
    // One that is no input of the task may be gone.
    let gone = submit(&mut here, "echo gone").await;
    here.report(gone).await;
    here.client.ask(Request::Forget { tasks: vec![gone] }).await.unwrap();
    let late = here.submit(&work("join", &[gone])).await;
    let (cause, text) = here.failure(late).await;
    assert!(cause == Cause::Error && text.contains("cannot be had"), "{text}");
}

#[tokio::test]
async fn without_a_place_for_them_long_values_are_refused() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    let long = submit(&mut here, "long 5000000").await;
    let (cause, text) = here.failure(long).await;
    assert!(cause == Cause::Error && text.contains("could not be kept"), "{text}");
}

#[tokio::test]
async fn a_call_is_asked_to_end_and_its_process_stays() {
    let mut here = Here::new();
    let (_worker, _events) = worker(&here);
    let pipe = here.pipe("pipe");
    let mut work = Work { name: String::new(), what: call("begin"), limits: limits() };
    work.what = call(&format!("begin {}", pipe.display()));
    work.limits.grace_ms = 3_600_000;
    let task = here.submit(&work).await;
    let (pid, _) = first_line(pipe.clone()).await;
    assert_eq!(here.client.ask(Request::Cancel { task }).await.unwrap(), Answer::Done);
    assert_eq!(here.outcome(task).await.outcome, Outcome::Cancelled);
    let next = here.submit(&work).await;
    let (same, _) = first_line(pipe).await;
    assert_eq!(same, pid);
    assert_eq!(here.client.ask(Request::Cancel { task: next }).await.unwrap(), Answer::Done);
    assert_eq!(here.outcome(next).await.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_call_that_does_not_end_costs_its_process() {
    let mut here = Here::new();
    let pipe = here.pipe("pipe");
    let script = format!("(echo begun; sleep 1000) > {} & wait", pipe.display());
    // A runtime that knows nothing of calls: it takes them and says nothing.
    let argv = vec!["sh".to_owned(), "-c".to_owned(), script];
    let settings = Settings { runtimes: [("test".to_owned(), argv)].into(), ..here.settings() };
    let (_deaf, _events) = Worker::begin(here.member.clone(), settings);
    let work = Work { name: String::new(), what: call("echo"), limits: limits() };
    let task = here.submit(&work).await;
    let (_, pipe) = first_line(pipe).await;
    assert_eq!(here.client.ask(Request::Cancel { task }).await.unwrap(), Answer::Done);
    assert_eq!(here.outcome(task).await.outcome, Outcome::Cancelled);
    assert_eq!(rest(pipe).await, "");
}
