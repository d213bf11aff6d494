//! A call: a function that a kept runtime process calls for one try of a task.
//!
//! A process that has said how a call has ended is kept for the next one. Whatever else happens, it
//! ends, a frame that is none, a call that does not end when it is asked to, costs the process, and
//! the slot's next call begins another.

use std::io;
use std::time::Duration;

use tidings_tasks_core::retry::Cause;
use tokio::time::Instant;

use crate::blobs::Handle;
use crate::runtime::{FromRuntime, Given, MAX_FRAME_BYTES, ToRuntime};
use crate::work::Report;

use super::closing::{self, Closed};
use super::ending::{Act, Ending, until};
use super::kept::{Kept, Runtimes};
use super::process::Start;
use super::settings::Event;
use super::shared::{Shared, Try};
use super::usage::Usage;
use super::verdict::{self, Verdict};

/// How long a process may take until it takes calls.
const READY: Duration = Duration::from_secs(300);

/// How long a process may go on that has closed its socket.
const CLOSED: Duration = Duration::from_secs(1);

/// What is to be called.
pub(super) struct Parts {
    pub(super) runtime: String,
    pub(super) code: Option<Handle>,
    pub(super) body: Vec<u8>,
    pub(super) inputs: Vec<Given>,
}

/// Why a process is not kept.
enum Lost {
    /// It has ended, or was killed.
    Ended,
    /// It has closed its socket, or said what is no frame.
    Link(io::Error),
    /// It did not say in time that it takes calls.
    NotReady,
}

/// Calls a function in a process of the slot, whatever ends it.
pub(super) async fn run(
    shared: &Shared,
    of: &Try,
    runtimes: &mut Runtimes,
    parts: Parts,
    ending: &mut Ending,
) -> Verdict {
    let begun = Instant::now();
    let (runtime, code) = (parts.runtime.clone(), parts.code);
    let mut kept = match begin(shared, of, runtimes, &runtime).await {
        Ok(kept) => kept,
        Err(verdict) => return verdict,
    };
    let run = match frame(shared, of, &kept, parts).await {
        Ok(run) => run,
        Err(text) => {
            runtimes.insert(runtime, kept);
            return Verdict::failed(Cause::Error, text);
        }
    };
    let before = kept.measure();
    let ended = conduct(shared, of, &mut kept, &run, ending).await;
    let mut verdict = match ended {
        Ok(said) => {
            kept.process.streams.take_rest();
            kept.known.extend(code.map(|code| code.hash));
            let used = kept.used(before);
            let report = report(shared, of, &mut kept, used).await;
            runtimes.insert(runtime, kept);
            spoken(said, report, ending)
        }
        Err(lost) => post_mortem(shared, of, kept, lost, ending).await,
    };
    if let Some(report) = &mut verdict.report {
        report.wall_us = begun.elapsed().as_micros() as u64;
    }
    verdict
}

/// The slot's process of a runtime, or a new one.
async fn begin(
    shared: &Shared,
    of: &Try,
    runtimes: &mut Runtimes,
    name: &str,
) -> Result<Kept, Verdict> {
    let Some(argv) = shared.settings.runtimes.get(name) else {
        let known: Vec<&str> = shared.settings.runtimes.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let text = format!("the worker has no runtime {name:?}; it has: {known}");
        return Err(Verdict::failed(Cause::Error, text));
    };
    if let Some(mut kept) = runtimes.remove(name).filter(Kept::is_alive) {
        // What it has written since is of no task.
        kept.process.streams.take_rest();
        drop((kept.process.streams.stdout.split(), kept.process.streams.stderr.split()));
        return Ok(kept);
    }
    let start = Start { scratch: shared.scratch(), ..Start::default() };
    Kept::start(&shared.launcher, argv, of.slot, start).await.map_err(|error| {
        let program = argv.first().map_or("", String::as_str);
        let text = format!("runtime {name:?}, {program:?}, could not be started: {error}");
        Verdict::failed(Cause::Lost, text)
    })
}

/// The frame that begins the call, with the code if the process has not had it.
async fn frame(
    shared: &Shared,
    of: &Try,
    kept: &Kept,
    Parts { code, body, inputs, .. }: Parts,
) -> Result<ToRuntime, String> {
    let new = code.filter(|handle| !kept.known.contains(&handle.hash));
    let values: usize = inputs.iter().map(Given::frame_bytes).sum();
    let length = new.map_or(0, |handle| handle.bytes as usize) + body.len() + values;
    if length > MAX_FRAME_BYTES as usize {
        return Err(too_long(length));
    }
    let bytes = match new {
        Some(handle) => {
            let mapped = shared.payloads.get(handle).await;
            Some(mapped.map_err(|error| format!("its code is not to be had: {error}"))?.to_vec())
        }
        None => None,
    };
    let (task, attempt, queue) = (of.task, of.attempt, of.queue.clone());
    let code_hash = code.map(|code| code.hash);
    Ok(ToRuntime::Run { task, attempt, queue, code: bytes, code_hash, body, inputs })
}

fn too_long(bytes: usize) -> String {
    format!("a call of {bytes} bytes; at most {MAX_FRAME_BYTES} are possible: pass data as blobs")
}

/// Waits until the process takes calls, gives it this one, and waits until that has ended.
async fn conduct(
    shared: &Shared,
    of: &Try,
    kept: &mut Kept,
    run: &ToRuntime,
    ending: &mut Ending,
) -> Result<FromRuntime, Lost> {
    if ending.limits().memory_bytes > 0 {
        ending.measure();
    }
    let mut ready_by = (!kept.is_ready).then(|| Instant::now() + READY);
    if kept.is_ready {
        kept.link.say(run).map_err(long)?;
        ending.begin_time();
    }
    let Kept { process, link, is_ready, spent, .. } = kept;
    loop {
        tokio::select! {
            // What a process says before it ends counts.
            biased;
            said = link.next() => match said.map_err(Lost::Link)? {
                FromRuntime::Ready { .. } if !*is_ready => {
                    (*is_ready, ready_by) = (true, None);
                    link.say(run).map_err(long)?;
                    ending.begin_time();
                }
                FromRuntime::Progress { task, attempt, thousandths, text } => {
                    shared.tell(Event::Progress { task, attempt, thousandths, text });
                }
                FromRuntime::Spent { task, attempt, cpu_us, peak_bytes }
                    if *is_ready && (task, attempt) == (of.task, of.attempt) =>
                {
                    *spent = Some(Usage { cpu_us, peak_bytes });
                }
                said if *is_ready && is_end_of(&said, of) => return Ok(said),
                said => return Err(Lost::Link(unexpected(&said))),
            },
            act = ending.act() => match act {
                Act::Measure => ending.check_memory(&process.leader),
                Act::Ask if *is_ready => {
                    let cancel = ToRuntime::Cancel { task: of.task, attempt: of.attempt };
                    // It is some bytes.
                    let _ = link.say(&cancel);
                }
                // One that is not in the call yet has nothing to be asked.
                Act::Ask | Act::Kill => process.leader.kill(),
            },
            () = process.exit.wait() => return Err(Lost::Ended),
            () = until(ready_by) => return Err(Lost::NotReady),
            () = process.streams.pump() => {}
        }
    }
}

fn long(bytes: usize) -> Lost {
    Lost::Link(io::Error::new(io::ErrorKind::InvalidInput, too_long(bytes)))
}

fn is_end_of(said: &FromRuntime, of: &Try) -> bool {
    match said {
        FromRuntime::Done { task, attempt, .. } | FromRuntime::Failed { task, attempt, .. } => {
            (*task, *attempt) == (of.task, of.attempt)
        }
        FromRuntime::Ready { .. } | FromRuntime::Progress { .. } | FromRuntime::Spent { .. } => {
            false
        }
    }
}

fn unexpected(said: &FromRuntime) -> io::Error {
    let what = match said {
        FromRuntime::Ready { .. } => "that it is ready, twice",
        FromRuntime::Spent { .. } => "what a call has taken that it was not given",
        _ => "how a call has ended that it was not given",
    };
    io::Error::new(io::ErrorKind::InvalidData, format!("it said {what}"))
}

/// The verdict on a call whose process has said how it ended.
fn spoken(said: FromRuntime, mut report: Report, ending: &Ending) -> Verdict {
    let ended = ending.why().map(|why| verdict::ended(why, ending.limits()));
    match (said, ended) {
        (FromRuntime::Done { value, children, effects, .. }, None) => {
            report.value = value;
            let report = Some(Box::new(report));
            Verdict { report, children, effects, ..Verdict::default() }
        }
        (FromRuntime::Failed { text, detail, .. }, None) => {
            let failure = Some((Cause::Error, verdict::end_of(&text)));
            Verdict { failure, detail, report: Some(Box::new(report)), ..Verdict::default() }
        }
        (_, failure) => Verdict { failure, report: Some(Box::new(report)), ..Verdict::default() },
    }
}

/// What a call took whose process goes on.
async fn report(shared: &Shared, of: &Try, kept: &mut Kept, used: Usage) -> Report {
    let streams = &mut kept.process.streams;
    Report {
        cpu_us: used.cpu_us,
        max_rss_bytes: used.peak_bytes,
        host: shared.settings.host.clone(),
        stdout: shared.output(streams.stdout.split(), of.task).await,
        stderr: shared.output(streams.stderr.split(), of.task).await,
        ..Report::default()
    }
}

/// The verdict on a call whose process has ended, or is ended now.
async fn post_mortem(
    shared: &Shared,
    of: &Try,
    kept: Kept,
    lost: Lost,
    ending: &Ending,
) -> Verdict {
    let mut process = kept.process;
    if let Lost::Link(_) = lost {
        // One that closes its socket since it ends has a status to tell.
        let wait = async {
            loop {
                tokio::select! {
                    () = process.exit.wait() => break,
                    () = process.streams.pump() => {}
                }
            }
        };
        let _ = tokio::time::timeout(CLOSED, wait).await;
    }
    let was_alive = !process.leader.has_ended();
    let closed = match closing::close(shared, of, process).await {
        Ok(closed) => closed,
        Err(error) => return verdict::host_fault(&error),
    };
    let Closed { report, status, was_out_of_memory } = closed;
    let sentence = match &lost {
        Lost::NotReady => Some(format!("its runtime was not ready within {READY:?}")),
        Lost::Link(error) if was_alive => Some(format!("its runtime broke off: {error}")),
        Lost::Link(_) | Lost::Ended => None,
    };
    let (cause, text) = match (ending.why(), sentence) {
        (None, Some(sentence)) => (Cause::Error, sentence),
        (why, _) => verdict::failure(why, was_out_of_memory, status, ending.limits())
            .unwrap_or_else(|| (Cause::Exit, "its runtime ended within the call".to_owned())),
    };
    let failure = Some((cause, verdict::with_log(&text, &report)));
    Verdict { failure, report: Some(Box::new(report)), ..Verdict::default() }
}
