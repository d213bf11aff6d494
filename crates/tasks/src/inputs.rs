//! Inputs: what tasks have come to that another one waits for, read where that is done.
//!
//! What was printed or returned lies in a record, or in a blob, which is mapped and not copied. The
//! record of an input stays until those that name it have ended, so a task that runs can read it.
//!
//! Two numbers, and their sum, by a program that claims items of data:
//! ```
//! use tidings_tasks::client::{Client, Place};
//! use tidings_tasks::session::{Notice, Session};
//! use tidings_tasks::store::address::Address;
//! use tidings_tasks::{inputs, items};
//! use tidings_tasks_core::id::TaskId;
//! use tidings_tasks_core::message::{Request, Submission};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let client = Client::open(&Place::of(Address::Memory, None)?, "sums")?;
//! let ids = [0, 1, 2].map(|number| TaskId::of("sums", number));
//! let item = |id, data: &[u8], inputs: &[TaskId]| {
//!     let task = Submission::new(id, "sums", data.to_vec());
//!     Submission { need: items::need(), inputs: inputs.to_vec(), ..task }
//! };
//! let sum = item(ids[2], b"", &ids[..2]);
//! let tasks = vec![sum, item(ids[0], &[40], &[]), item(ids[1], &[2], &[])];
//! client.payloads.submit(&client.session, tasks, &[]).await?;
//!
//! let name = format!("{}-adding", client.name);
//! let (session, mut notices) = Session::open(client.member.clone(), &name, &client.host);
//! session.ask(items::offer("sums", 1)).await?;
//! for _ in ids {
//!     let Some(Notice::Assigned(given)) = notices.recv().await else { break };
//!     let (task, attempt, mut result) = (given.task, given.attempt, given.payload);
//!     if task == ids[2] {
//!         let left = inputs::read(&session, &client.payloads, ids[0]).await?;
//!         let right = inputs::read(&session, &client.payloads, ids[1]).await?;
//!         result.push(left[0] + right[0]);
//!     }
//!     let (children, effects) = (Vec::new(), Vec::new());
//!     let done = Request::Complete { task, attempt, result, children, effects, puts: Vec::new() };
//!     session.ask(done).await?;
//! }
//! assert_eq!(*inputs::read(&session, &client.payloads, ids[2]).await?, [42]);
//! # client.member.leave().await;
//! # Ok(())
//! # })
//! # }
//! ```

use core::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal, Request};
use tidings_tasks_core::output::Reached;
use tidings_tasks_core::record::{Finished, Outcome};

use crate::blobs::{Handle, Mapped};
use crate::payloads::{Brought, PayloadError, Payloads, stand_in};
use crate::session::{Session, SessionEnded};
use crate::work::Report;

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It has no record, or the coordinator says why not.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It has failed, or was cancelled.
    #[error("the task is not done")]
    NotDone,
    /// It was done, and its output is not to be had any more: it is made again if the reader waits
    /// for it.
    #[error("the output of {task} is gone: {why}")]
    Gone {
        /// The task.
        task: TaskId,
        /// Why it could not be had.
        why: String,
    },
    /// Its blob cannot be had.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// A command has printed more than its record holds, and its worker had no place for blobs.
    #[error(
        "only the last {kept} of {total} bytes that it printed were kept: name a folder that all \
         hosts share with --blobs"
    )]
    Cut {
        /// The bytes that were kept.
        kept: usize,
        /// The bytes that were printed.
        total: u64,
    },
    /// The session has ended.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// What no request of this kind is answered.
    #[error("the coordinator said {0:?}")]
    Answer(Box<Answer>),
}

/// What a task has come to: the result of an item of data, the value that a call has returned, or
/// what a command has printed to its standard output.
#[derive(Debug)]
pub struct Content(Place, u64);

#[derive(Debug)]
enum Place {
    Here(Vec<u8>),
    File { mapped: Mapped, range: Range<usize>, path: PathBuf },
}

impl Content {
    /// The bytes that came from another node for it.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.1
    }

    /// The file of this host in which it lies, and where in it. None if it is short.
    pub fn file(&self) -> Option<(&Path, Range<usize>)> {
        match &self.0 {
            Place::Here(_) => None,
            Place::File { range, path, .. } => Some((path, range.clone())),
        }
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Here(bytes) => bytes,
            Place::File { mapped, range, .. } => &mapped[range.clone()],
        }
    }
}

/// The tasks for which a task has waited, each once, as its record names them.
///
/// # Errors
/// It has no record any more, or the session has ended.
pub async fn of(session: &Session, task: TaskId) -> Result<Vec<TaskId>, InputError> {
    match session.ask(Request::Show { task }).await? {
        Answer::Shown(shown) => Ok(shown.task().inputs.clone()),
        Answer::Refused(Refusal::NoTask) => Err(Refusal::Superseded.into()),
        Answer::Refused(refusal) => Err(refusal.into()),
        other => Err(InputError::Answer(Box::new(other))),
    }
}

/// Reads what a task has come to, as soon as it has ended. What stays on nodes and is lost is made
/// again, which is waited for.
///
/// # Errors
/// It was not done, or what it came to is not to be had.
pub async fn read(
    session: &Session,
    payloads: &Payloads,
    task: TaskId,
) -> Result<Content, InputError> {
    loop {
        let finished = match session.ask(Request::Wait { task }).await? {
            Answer::Outcome(finished) => finished,
            Answer::Refused(refusal) => return Err(refusal.into()),
            other => return Err(InputError::Answer(Box::new(other))),
        };
        if finished.kept.is_none() {
            return content(payloads, *finished, None).await;
        }
        match read_done(session, payloads, task).await {
            Err(InputError::Gone { .. }) => {}
            read => return read,
        }
    }
}

/// Reads what a task has come to that is done. What cannot be had any more is made again: who reads
/// it is to come back then.
pub(crate) async fn read_done(
    session: &Session,
    payloads: &Payloads,
    task: TaskId,
) -> Result<Content, InputError> {
    let (finished, from) = match session.ask(Request::Fetch { task }).await? {
        Answer::Fetched(finished, from) => (finished, from),
        // It is live again, or its record is gone: which of both is found when its readers are to
        // run.
        Answer::Refused(Refusal::State(_) | Refusal::NoTask) => {
            let why = "the task has no record that says that it is done".to_owned();
            return Err(InputError::Gone { task, why });
        }
        Answer::Refused(refusal) => return Err(refusal.into()),
        other => return Err(InputError::Answer(Box::new(other))),
    };
    let (attempt, is_kept) = (finished.task.attempt, finished.kept.is_some());
    match content(payloads, *finished, Some(&from)).await {
        Err(InputError::Payload(PayloadError::Depot(error))) if is_kept && !error.is_here() => {
            session.ask(Request::Lost { task, attempt }).await?;
            Err(InputError::Gone { task, why: error.to_string() })
        }
        read => read,
    }
}

async fn content(
    payloads: &Payloads,
    finished: Finished,
    from: Option<&[Reached]>,
) -> Result<Content, InputError> {
    let from = from.filter(|_| finished.kept.is_some());
    let Outcome::Done(result) = finished.outcome else { return Err(InputError::NotDone) };
    if let Some(handle) = stand_in(&result)? {
        return whole(payloads, handle, from).await;
    }
    match Report::from_result(&result) {
        Ok(report) => of_report(payloads, report, from).await,
        Err(_) => Ok(Content(Place::Here(result), 0)),
    }
}

/// Of a result that is a blob.
async fn whole(
    payloads: &Payloads,
    handle: Handle,
    from: Option<&[Reached]>,
) -> Result<Content, InputError> {
    let Brought { mapped, path, moved_bytes } = payloads.bring(handle, from).await?;
    let range = match (Report::value_in(&mapped), Report::from_result(&mapped)) {
        (Some(range), _) => range,
        (None, Ok(report)) => {
            let Content(place, more) = of_report(payloads, report, from).await?;
            return Ok(Content(place, moved_bytes + more));
        }
        (None, Err(_)) => 0..mapped.len(),
    };
    Ok(Content(Place::File { mapped, range, path }, moved_bytes))
}

/// Of what a worker reports.
async fn of_report(
    payloads: &Payloads,
    report: Report,
    from: Option<&[Reached]>,
) -> Result<Content, InputError> {
    if !report.value.is_empty() {
        return Ok(Content(Place::Here(report.value), 0));
    }
    let output = report.stdout;
    let kept = output.tail.len();
    match output.blob {
        Some(handle) => {
            let Brought { mapped, path, moved_bytes } = payloads.bring(handle, from).await?;
            let range = 0..mapped.len();
            Ok(Content(Place::File { mapped, range, path }, moved_bytes))
        }
        None if output.bytes_total > kept as u64 => {
            Err(InputError::Cut { kept, total: output.bytes_total })
        }
        None => Ok(Content(Place::Here(output.tail), 0)),
    }
}
