//! Calls ahead: a process has the next calls before it can begin them, and no call is lost, blamed
//! or mixed up by that.
//!
//! The runtime is this program, started again. It says that each call took little, so that its
//! worker gives it calls ahead however slow the machine is. A call that is not ahead after all, as
//! the one before it takes longer than a worker's patience, has to end in the same way.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod here;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::net::UnixStream;

use here::{Here, first_line};
use tidings_tasks::runtime::{AHEAD, DESCRIPTOR, FromRuntime, Given, ToRuntime, Value};
use tidings_tasks::work::{What, Work, WorkLimits};
use tidings_tasks::worker::{Event, Settings, Worker};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::{Cause, Retry};
use tokio::sync::mpsc;

/// A runtime process's side.
struct Runtime {
    socket: UnixStream,
    permits: File,
    calls: VecDeque<ToRuntime>,
    is_held: bool,
}

impl Runtime {
    fn inherited() -> Option<Self> {
        let descriptor = |name| Some(std::env::var(name).ok()?.parse().unwrap());
        let (socket, permits) = (descriptor(DESCRIPTOR)?, descriptor(AHEAD)?);
        // SAFETY: the worker has left both to this process, which takes them here only.
        let (socket, permits) =
            unsafe { (UnixStream::from_raw_fd(socket), File::from_raw_fd(permits)) };
        Some(Self { socket, permits, calls: VecDeque::new(), is_held: false })
    }

    fn say(&mut self, said: &FromRuntime) {
        let frame = minicbor::to_vec(said).unwrap();
        let length = (frame.len() as u32).to_le_bytes();
        self.socket.write_all(&[&length[..], &frame].concat()).unwrap();
    }

    /// Takes what is said next; the program ends with the worker.
    fn hear(&mut self) -> Option<(TaskId, Attempt)> {
        let mut length = [0; 4];
        if self.socket.read_exact(&mut length).is_err() {
            std::process::exit(0);
        }
        let mut frame = vec![0; u32::from_le_bytes(length) as usize];
        self.socket.read_exact(&mut frame).unwrap();
        match minicbor::decode(&frame).unwrap() {
            ToRuntime::Cancel { task, attempt } => return Some((task, attempt)),
            ToRuntime::Withdraw { task, attempt } => {
                self.calls.retain(|call| {
                    !matches!(call, ToRuntime::Run { task: t, attempt: a, .. }
                        if (*t, *a) == (task, attempt))
                });
            }
            ToRuntime::Go {} => self.is_held = false,
            ToRuntime::Slot { .. } => panic!("it never waits"),
            call @ ToRuntime::Run { .. } => self.calls.push_back(call),
        }
        None
    }

    fn next(&mut self) -> (TaskId, Attempt, String, Vec<Given>) {
        loop {
            match self.calls.front() {
                Some(ToRuntime::Run { task, attempt, body, inputs, is_ahead, .. })
                    if !self.is_held
                        && (!is_ahead || matches!(self.permits.read(&mut [0; 1]), Ok(1))) =>
                {
                    let body = String::from_utf8(body.clone()).unwrap();
                    let call = (*task, *attempt, body, inputs.clone());
                    self.calls.pop_front();
                    return call;
                }
                _ => drop(self.hear()),
            }
        }
    }

    /// Ends a call of which it says that it took a tenth of a millisecond.
    fn end(&mut self, task: TaskId, attempt: Attempt, said: &FromRuntime) {
        let unread = rustix::io::ioctl_fionread(std::io::stdout()).unwrap()
            + rustix::io::ioctl_fionread(std::io::stderr()).unwrap();
        self.is_held = unread > 0;
        let (cpu_us, peak_bytes, wall_us, is_held) = (1, 1, 100, self.is_held);
        self.say(&FromRuntime::Spent { task, attempt, cpu_us, peak_bytes, wall_us, is_held });
        self.say(said);
    }
}

/// Not a test by itself: the runtime process of the others.
#[test]
fn make_calls() {
    let Some(mut runtime) = Runtime::inherited() else { return };
    runtime.say(&FromRuntime::Ready {
        runtime_version: "test 1".to_owned(),
        ahead: 64,
        can_wait: false,
    });
    loop {
        let (task, attempt, body, inputs) = runtime.next();
        let (what, rest) = body.split_once(' ').unwrap_or((&body, ""));
        let value = if what == "return" { rest.into() } else { joined(&inputs) };
        let (children, effects) = (Vec::new(), Vec::new());
        let mut said =
            FromRuntime::Done { task, attempt, value, children, effects, puts: Vec::new() };
        match what {
            "nothing" | "return" | "join" => {}
            "print" => eprintln!("{rest}"),
            "note" => {
                let mut file = File::options().append(true).create(true).open(rest).unwrap();
                file.write_all(b"x").unwrap();
            }
            "abort" => std::process::abort(),
            "begin" => {
                std::fs::write(rest, "begun\n").unwrap();
                while runtime.hear() != Some((task, attempt)) {}
                let (text, detail) = ("cancelled".to_owned(), Vec::new());
                said = FromRuntime::Failed { task, attempt, text, detail, is_of_host: false };
            }
            other => panic!("{other}"),
        }
        runtime.end(task, attempt, &said);
    }
}

/// What calls before have returned.
fn joined(inputs: &[Given]) -> Vec<u8> {
    let values = inputs.iter().map(|input| match &input.value {
        Value::Here(value) => value.clone(),
        Value::File { .. } => panic!("it was short"),
    });
    values.collect::<Vec<_>>().concat()
}

/// A worker that has learnt that calls are short.
async fn worker(here: &Here, slots: u32) -> (Worker, mpsc::Receiver<Event>) {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let words = ["--exact", "--nocapture", "make_calls"].map(str::to_owned);
    let argv = [vec![program], words.to_vec()].concat();
    let runtimes = [("test".to_owned(), argv)].into();
    let begun = Worker::begin(here.member.clone(), Settings { slots, runtimes, ..here.settings() });
    let first: Vec<_> = (0..64).map(|_| "nothing".to_owned()).collect();
    for task in submit(here, "first", &first).await {
        assert!(matches!(here.outcome(task).await.outcome, Outcome::Done(_)));
    }
    begun
}

/// Submits calls together: never tried again, whatever is their fault.
async fn submit(here: &Here, name: &str, bodies: &[String]) -> Vec<TaskId> {
    submit_reading(here, name, bodies, &[]).await
}

/// Those that join read what some tasks return.
async fn submit_reading(
    here: &Here,
    name: &str,
    bodies: &[String],
    read: &[TaskId],
) -> Vec<TaskId> {
    let retry = Retry { signals: 0, memory: 0, losses: 1, ..Retry::default() };
    let call = |(index, body): (usize, &String)| {
        let inputs = if body == "join" { read.to_vec() } else { Vec::new() };
        let (runtime, body, of) = ("test".to_owned(), body.as_bytes().to_vec(), inputs.clone());
        let what = What::Call { runtime, code: None, body, inputs: of };
        let work = Work { name: String::new(), what, limits: WorkLimits::default() };
        let id = TaskId::of(name, index as u64);
        Submission { retry, inputs, ..Submission::new(id, "q", work.to_payload()) }
    };
    let tasks: Vec<_> = bodies.iter().enumerate().map(call).collect();
    let ids = tasks.iter().map(|task| task.id).collect();
    let count = tasks.len() as u32;
    let answer = here.client.ask(Request::Submit { tasks }).await.unwrap();
    assert_eq!(answer, Answer::Submitted(count));
    ids
}

/// That a task is done, and no try of it was its fault.
async fn is_done(here: &Here, task: TaskId) {
    let finished = here.outcome(task).await;
    assert!(matches!(finished.outcome, Outcome::Done(_)), "{finished:?}");
    let blamed = finished.task.failures.iter().find(|one| one.cause != Cause::Returned);
    assert_eq!(blamed, None);
}

async fn cancel(here: &Here, task: TaskId) {
    assert_eq!(here.client.ask(Request::Cancel { task }).await.unwrap(), Answer::Done);
    assert_eq!(here.outcome(task).await.outcome, Outcome::Cancelled);
}

fn several(what: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |_| what.to_owned())
}

#[tokio::test]
async fn each_call_has_its_own_output() {
    let here = Here::new();
    let (_worker, _events) = worker(&here, 2).await;
    let body = |n: usize| if n % 3 == 0 { format!("print {n}") } else { "nothing".to_owned() };
    let bodies: Vec<_> = (0..200).map(body).collect();
    for (n, task) in submit(&here, "prints", &bodies).await.into_iter().enumerate() {
        let log = String::from_utf8(here.report(task).await.stderr.tail).unwrap();
        let expected = if n % 3 == 0 { format!("{n}\n") } else { String::new() };
        assert_eq!(log, expected, "of call {n}");
    }
}

#[tokio::test]
async fn a_process_that_dies_takes_one_call_along() {
    let here = Here::new();
    let (_worker, _events) = worker(&here, 1).await;
    let bodies = several("nothing", 5).chain(several("abort", 1)).chain(several("nothing", 20));
    let tasks = submit(&here, "death", &bodies.collect::<Vec<_>>()).await;
    for (n, task) in tasks.into_iter().enumerate() {
        if n == 5 {
            assert_eq!(here.failure(task).await.0, Cause::Signal);
        } else {
            is_done(&here, task).await;
        }
    }
}

#[tokio::test]
async fn one_that_has_not_begun_is_cancelled_and_the_others_stay() {
    let here = Here::new();
    let (_worker, _events) = worker(&here, 1).await;
    let (pipe, notes) = (here.pipe("pipe"), here.path("notes"));
    let bodies: Vec<_> = several(&format!("begin {}", pipe.display()), 1)
        .chain(several(&format!("note {}", notes.display()), 6))
        .collect();
    let tasks = submit(&here, "cancels", &bodies).await;
    let (_, _pipe) = first_line(pipe).await;
    cancel(&here, tasks[3]).await;
    cancel(&here, tasks[6]).await;
    cancel(&here, tasks[0]).await;
    for at in [1, 2, 4, 5] {
        is_done(&here, tasks[at]).await;
    }
    assert_eq!(std::fs::read(notes).unwrap(), b"xxxx");
}

#[tokio::test]
async fn what_lies_behind_a_long_call_goes_to_another_slot() {
    let here = Here::new();
    let (_worker, _events) = worker(&here, 2).await;
    let pipe = here.pipe("pipe");
    let bodies: Vec<_> = several("nothing", 9)
        .chain(several(&format!("begin {}", pipe.display()), 1))
        .chain(several("nothing", 40))
        .collect();
    let tasks = submit(&here, "long", &bodies).await;
    let (_, _pipe) = first_line(pipe).await;
    for at in (0..9).chain(10..50) {
        is_done(&here, tasks[at]).await;
    }
    cancel(&here, tasks[9]).await;
}

#[tokio::test]
async fn a_call_is_given_its_inputs_wherever_it_was_before() {
    let here = Here::new();
    let (_worker, _events) = worker(&here, 2).await;
    let pipe = here.pipe("pipe");
    let read = submit(&here, "read", &["return abc".to_owned(), "return de".to_owned()]).await;
    let bodies: Vec<_> = several("join", 9)
        .chain(several(&format!("begin {}", pipe.display()), 1))
        .chain((0..40).map(|n| if n % 4 < 2 { "join" } else { "nothing" }.to_owned()))
        .collect();
    let tasks = submit_reading(&here, "joins", &bodies, &read).await;
    let (_, _pipe) = first_line(pipe).await;
    for (body, task) in bodies.iter().zip(&tasks).filter(|(body, _)| !body.starts_with("begin")) {
        let expected: &[u8] = if body == "join" { b"abcde" } else { b"" };
        is_done(&here, *task).await;
        assert_eq!(here.report(*task).await.value, expected);
    }
    cancel(&here, tasks[9]).await;
}

#[tokio::test]
async fn a_worker_that_drains_gives_back_what_has_not_begun() {
    let here = Here::new();
    let (first, _events) = worker(&here, 1).await;
    let pipe = here.pipe("pipe");
    let bodies: Vec<_> =
        several(&format!("begin {}", pipe.display()), 1).chain(several("nothing", 20)).collect();
    let tasks = submit(&here, "drains", &bodies).await;
    let (_, _pipe) = first_line(pipe).await;
    let drained = async {
        first.drain().await;
    };
    let elsewhere = async {
        let settings = Settings { name: "other".to_owned(), ..here.settings() };
        let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let words = ["--exact", "--nocapture", "make_calls"].map(str::to_owned);
        let runtimes = [("test".to_owned(), [vec![program], words.to_vec()].concat())].into();
        let other = Worker::begin(here.member.clone(), Settings { runtimes, ..settings });
        for task in &tasks[1..] {
            is_done(&here, *task).await;
        }
        cancel(&here, tasks[0]).await;
        other
    };
    tokio::join!(drained, elsewhere);
}
