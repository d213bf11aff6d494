//! Calls: functions that a kept runtime process calls, each for one try of a task.
//!
//! A process that has said how a call has ended is kept for the next one. Whatever else happens, it
//! ends, a frame that is none, a call that does not end when it is asked to, costs the process, and
//! the slot's next call begins another.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::retry::Cause;
use tokio::time::Instant;

use crate::blobs::Handle;
use crate::payloads::PayloadError;
use crate::runtime::{FromRuntime, Given, MAX_FRAME_BYTES, ToRuntime};
use crate::work::{Report, What, Work};

use super::closing::{self, Closed};
use super::ending::Ending;
use super::given::{Content, Key, Todo};
use super::kept::{Kept, Runtimes};
use super::memory;
use super::process::Start;
use super::room::Short;
use super::running::During;
use super::shared::{Shared, Try};
use super::spare;
use super::usage::Usage;
use super::verdict::{self, Verdict};

/// How long a process may take until it takes calls.
pub(super) const READY: Duration = Duration::from_secs(300);

/// How long a process may go on that has closed its socket.
const CLOSED: Duration = Duration::from_secs(1);

/// What is to be called, for which try.
pub(super) struct Call {
    pub(super) of: Try,
    pub(super) name: String,
    pub(super) runtime: String,
    pub(super) code: Option<Handle>,
    pub(super) body: Vec<u8>,
    /// The calls whose values it reads, which are fetched when it is about to begin.
    pub(super) inputs: Vec<TaskId>,
    pub(super) ending: Ending,
    pub(super) grace_ms: Arc<AtomicU64>,
    /// Those behind it wait so long for it, and are given back then.
    pub(super) patience: Duration,
    /// Bytes of its inputs that came from other nodes.
    pub(super) moved_bytes: u64,
    /// While it lies with its process.
    pub(super) during: Option<During>,
}

/// What a call's work says, with the rest of it, which all work has.
pub(super) struct Called {
    pub(super) name: String,
    pub(super) runtime: String,
    pub(super) code: Option<Handle>,
    pub(super) body: Vec<u8>,
    pub(super) inputs: Vec<TaskId>,
}

impl Call {
    /// A call that has not begun.
    pub(super) fn new(
        of: Try,
        called: Called,
        ending: Ending,
        grace_ms: Arc<AtomicU64>,
        patience: Duration,
    ) -> Self {
        let Called { name, runtime, code, body, inputs } = called;
        Self {
            of,
            name,
            runtime,
            code,
            body,
            inputs,
            ending,
            grace_ms,
            patience,
            moved_bytes: 0,
            during: None,
        }
    }
}

/// Why a process is not kept.
pub(super) enum Lost {
    /// It has ended, or was killed.
    Ended,
    /// It has closed its socket, or said what is no frame.
    Link(io::Error),
    /// It did not say in time that it takes calls.
    NotReady,
}

impl Lost {
    /// Whether what the process has said is believed.
    pub(super) fn is_believed(&self) -> bool {
        !matches!(self, Self::Link(error) if error.kind() == io::ErrorKind::InvalidData)
    }
}

impl Call {
    pub(super) fn key(&self) -> Key {
        (self.of.task, self.of.attempt)
    }

    pub(super) fn todo(self) -> Todo {
        let Self { of, name, runtime, code, body, inputs, ending, .. } = self;
        let what = What::Call { runtime, code, body, inputs };
        let content = Content::Work(Work { name, what, limits: ending.limits() });
        let Try { task, attempt, queue, copies, .. } = of;
        Todo { task, attempt, queue, copies, content }
    }

    /// Whether it may be sent to a process that is in another call. Values are fetched, and memory
    /// is measured, of the call that the process begins next.
    pub(super) fn goes_ahead(&self, kept: &Kept) -> bool {
        let is_known = self.code.is_none_or(|code| kept.known.contains(&code.hash));
        is_known && self.inputs.is_empty() && self.ending.limits().memory_bytes == 0
    }

    /// The frame that begins it.
    pub(super) fn frame(
        &self,
        code: Option<Vec<u8>>,
        inputs: Vec<Given>,
        is_ahead: bool,
    ) -> ToRuntime {
        let (task, attempt, queue) = (self.of.task, self.of.attempt, self.of.queue.clone());
        let code_hash = self.code.map(|code| code.hash);
        let body = self.body.clone();
        ToRuntime::Run { task, attempt, queue, code, code_hash, body, inputs, is_ahead }
    }
}

/// The slot's process of a runtime, or a new one.
pub(super) async fn begin(
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
    if let Some(kept) = runtimes.remove(name).filter(Kept::is_alive) {
        return Ok(clean(kept));
    }
    if let Some(kept) = shared.spares.take(name, of.slot, Instant::now()) {
        return Ok(clean(kept));
    }
    start(shared, argv, Some(of.slot)).await.map_err(|error| {
        let program = argv.first().map_or("", String::as_str);
        let text = format!("runtime {name:?}, {program:?}, could not be started: {error}");
        Verdict::failed(Cause::Lost, text)
    })
}

/// One that has waited: what it has written since is of no task.
fn clean(mut kept: Kept) -> Kept {
    kept.process.streams.take_rest();
    drop((kept.process.streams.stdout.split(), kept.process.streams.stderr.split()));
    kept
}

async fn start(shared: &Shared, argv: &[String], slot: Option<u32>) -> io::Result<Kept> {
    let start = Start { scratch: shared.scratch(), ..Start::default() };
    Kept::start(&shared.launcher, argv, slot, start).await
}

/// Starts the process that is to replace the next one that is lost, if one is due and there is
/// memory for it.
pub(super) async fn prepare(shared: &Shared, runtime: &str, is_idle: bool) {
    if !shared.spares.is_due(runtime, Instant::now(), is_idle) {
        return;
    }
    // Where that is not known, the host has no /proc, and is none of those that run short.
    let has_memory = memory::available_bytes().is_none_or(|bytes| bytes >= spare::LEAST_BYTES);
    let kept = match shared.settings.runtimes.get(runtime).filter(|_| has_memory) {
        // One that cannot be started will be needed, and then that is said.
        Some(argv) => start(shared, argv, None).await.ok(),
        None => None,
    };
    shared.spares.put(runtime, kept, Instant::now());
}

/// The frame that begins a call with its inputs, with the code if the process has not had it.
pub(super) async fn whole(
    shared: &Shared,
    kept: &Kept,
    call: &Call,
    inputs: Vec<Given>,
) -> Result<ToRuntime, Verdict> {
    let new = call.code.filter(|handle| !kept.known.contains(&handle.hash));
    let values: usize = inputs.iter().map(Given::frame_bytes).sum();
    let length = new.map_or(0, |handle| handle.bytes as usize) + call.body.len() + values;
    if length > MAX_FRAME_BYTES as usize {
        return Err(Verdict::failed(Cause::Error, too_long(length)));
    }
    let bytes = match new {
        Some(handle) => {
            let mapped = shared.payloads.get(handle).await;
            let wrong = |error: PayloadError| {
                verdict::not_read(&error, format!("its code is not to be had: {error}"))
            };
            Some(mapped.map_err(wrong)?.to_vec())
        }
        None => None,
    };
    Ok(call.frame(bytes, inputs, false))
}

fn too_long(bytes: usize) -> String {
    format!(
        "a call of {bytes} bytes with its inputs; at most {MAX_FRAME_BYTES} are possible: put what \
         is large by `tidings.tasks.put` and pass the handle"
    )
}

pub(super) fn long(bytes: usize) -> Lost {
    Lost::Link(io::Error::new(io::ErrorKind::InvalidInput, too_long(bytes)))
}

/// Of which try it says how it has ended, if it does.
pub(super) fn end_of(said: &FromRuntime) -> Option<Key> {
    match said {
        FromRuntime::Done { task, attempt, .. } | FromRuntime::Failed { task, attempt, .. } => {
            Some((*task, *attempt))
        }
        FromRuntime::Ready { .. } | FromRuntime::Progress { .. } | FromRuntime::Spent { .. } => {
            None
        }
    }
}

pub(super) fn unexpected(said: &FromRuntime) -> io::Error {
    let what = match said {
        FromRuntime::Ready { .. } => "that it is ready, twice",
        FromRuntime::Spent { .. } => "what a call has taken that it was not given",
        _ => "how a call has ended that it was not given",
    };
    io::Error::new(io::ErrorKind::InvalidData, format!("it said {what}"))
}

/// The verdict on a call whose process has said how it ended.
pub(super) fn spoken(said: FromRuntime, mut report: Report, ending: &Ending) -> Verdict {
    let ended = ending.why().map(|why| verdict::ended(why, ending.limits()));
    match (said, ended) {
        (FromRuntime::Done { value, children, effects, puts, .. }, None) => {
            report.value = value;
            let report = Some(Box::new(report));
            Verdict { report, children, effects, puts, ..Verdict::default() }
        }
        (FromRuntime::Failed { text, detail, is_of_host, .. }, None) => {
            let cause = if is_of_host { Cause::Lost } else { Cause::Error };
            let failure = Some((cause, verdict::end_of(&text)));
            Verdict { failure, detail, report: Some(Box::new(report)), ..Verdict::default() }
        }
        (_, failure) => Verdict { failure, report: Some(Box::new(report)), ..Verdict::default() },
    }
}

/// What a call took whose process goes on, and whether there was no room for what it has printed.
pub(super) async fn report(
    shared: &Shared,
    call: &Call,
    kept: &mut Kept,
    used: Usage,
) -> (Report, Option<Short>) {
    let streams = &mut kept.process.streams;
    let printed = (streams.stdout.split(), streams.stderr.split());
    let (stdout, stderr, short) = shared.outputs(printed, &call.of).await;
    let report = Report {
        cpu_us: used.cpu_us,
        max_rss_bytes: used.peak_bytes,
        host: shared.settings.host.clone(),
        stdout,
        stderr,
        name: call.name.clone(),
        moved_bytes: call.moved_bytes,
        ..Report::default()
    };
    (report, short)
}

/// The verdict on a call whose process has ended, or is ended now.
pub(super) async fn post_mortem(shared: &Shared, call: &Call, kept: Kept, lost: Lost) -> Verdict {
    let ending = &call.ending;
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
    let closed = match closing::close(shared, &call.of, process).await {
        Ok(closed) => closed,
        Err(error) => return verdict::host_fault(&error),
    };
    let Closed { report, status, was_out_of_memory, .. } = closed;
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
