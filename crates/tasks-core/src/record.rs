//! Records: what the store holds of tasks and of the role of a coordinator. (Semaphores have a
//! file of their own.)
//!
//! Each is a map in CBOR (RFC 8949) with small integers as keys, so that a later version adds
//! fields that this one skips, and reads what this one wrote. Texts of a record are bounded where
//! they enter.

use minicbor::{Decode, Encode};

use crate::id::{Attempt, Epoch, Part, TaskId};
use crate::name::Name;
use crate::output::Kept;
use crate::resources::Need;
use crate::retry::{Cause, Retry, Tally};
use crate::transaction::{Key, Record};

/// The failures that a record keeps: the first and the last ones.
pub const MAX_FAILURES: usize = 32;

/// The bytes of a failure's text that a record keeps.
pub const MAX_FAILURE_BYTES: usize = 2_048;

/// The bytes of a failure's detail that a record keeps.
pub const MAX_DETAIL_BYTES: usize = 8_192;

/// A task that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Task {
    /// The queue it was submitted to.
    #[n(0)]
    pub queue: Name,
    /// Whose it is: groups of one queue get equal shares of the workers.
    #[n(1)]
    pub group: Name,
    /// The larger, the earlier it is assigned.
    #[n(2)]
    pub priority: i16,
    /// Its place among all that were submitted.
    #[n(3)]
    pub sequence: u64,
    /// What is to be done, for its worker.
    #[cbor(n(4), with = "minicbor::bytes")]
    pub payload: Vec<u8>,
    /// After which failures it is tried again.
    #[n(5)]
    pub retry: Retry,
    /// The last try; 0 before the first.
    #[n(6)]
    pub attempt: Attempt,
    /// Where it is now.
    #[n(7)]
    pub state: State,
    /// How tries have failed.
    #[n(8)]
    pub failures: Vec<Failure>,
    /// Whether it is to end without being tried again.
    #[n(9)]
    pub cancelled: bool,
    /// When it was submitted, in milliseconds since 1970 on the coordinator's clock.
    #[n(10)]
    pub submitted_ms: u64,
    /// How often it has failed.
    #[n(11)]
    pub tally: Tally,
    /// What it takes of its worker's resources while it runs.
    #[cbor(n(12), default)]
    pub need: Need,
    /// On which nodes it may run, in the language of `tidings nodes --where`; empty: on any.
    #[cbor(n(13), default)]
    pub filter: String,
    /// The tasks that are to be done before it is assigned, each once.
    #[cbor(n(14), default)]
    pub inputs: Vec<TaskId>,
    /// The nodes that are to have its output, if that is long; 0: it lies with the store.
    #[cbor(n(15), default)]
    pub copies: u32,
    /// How often its output was made that stays on nodes. After the first time only the result is
    /// written: its children and effects are there.
    #[cbor(n(16), default)]
    pub made: u32,
    /// Which of its inputs are in other parts, and in which.
    #[cbor(n(17), default)]
    pub abroad: Vec<(TaskId, Part)>,
}

/// Where a task is.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum State {
    /// In its queue.
    #[n(0)]
    Ready,
    /// In its queue, but not before a time: milliseconds since 1970.
    #[n(1)]
    Delayed(#[n(0)] u64),
    /// With a worker.
    #[n(2)]
    Running(#[n(0)] Running),
    /// Not in its queue before all its inputs are done. The record says so until it is assigned:
    /// whether they are done is in theirs.
    #[n(3)]
    Waiting,
}

impl State {
    /// Whether it is with a worker.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }
}

/// Who does a task.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Running {
    /// The worker's name.
    #[n(0)]
    pub worker: Name,
    /// Its host's name.
    #[n(1)]
    pub host: Name,
    /// When it was assigned, in milliseconds since 1970 on the coordinator's clock.
    #[n(2)]
    pub since_ms: u64,
    /// Its place among the tries that the worker has, from 0, as the coordinator counts them: the
    /// lowest that was free. The worker itself may count them in another order.
    #[cbor(n(3), default)]
    pub slot: u32,
}

/// How a try has failed.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Failure {
    /// Which try.
    #[n(0)]
    pub attempt: Attempt,
    /// Why.
    #[n(1)]
    pub cause: Cause,
    /// In words: an exception, an exit status with the last lines of the log.
    #[n(2)]
    pub text: String,
    /// The host it ran on.
    #[n(3)]
    pub host: Name,
    /// When, in milliseconds since 1970 on the coordinator's clock.
    #[n(4)]
    pub at_ms: u64,
    /// When the try was assigned, on the same clock.
    #[cbor(n(5), default)]
    pub since_ms: u64,
    /// The worker that had it, and its place there: as of [`Running`].
    #[cbor(n(6), default)]
    pub worker: Name,
    /// That place.
    #[cbor(n(7), default)]
    pub slot: u32,
    /// What a program reads of it, at most [`MAX_DETAIL_BYTES`]. Only the last failure has one.
    #[cbor(n(8), with = "minicbor::bytes", default)]
    pub detail: Vec<u8>,
}

/// How a task has ended.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Outcome {
    /// With this result.
    #[n(0)]
    Done(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// By its last failure.
    #[n(1)]
    Failed,
    /// Nobody wants it.
    #[n(2)]
    Cancelled,
}

/// A task that has ended.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Finished {
    /// How.
    #[n(0)]
    pub outcome: Outcome,
    /// The task: without its payload if it is done, unless its output stays on nodes; whole
    /// otherwise. So it can be done again.
    #[n(1)]
    pub task: Task,
    /// When, in milliseconds since 1970.
    #[n(2)]
    pub ended_ms: u64,
    /// Who has done it; `None` if it is not done: then the last failure says who tried.
    #[n(3)]
    pub done_by: Option<Running>,
    /// Where its output lies, if it stays on nodes. The result says which output that is.
    #[n(4)]
    pub kept: Option<Kept>,
}

/// Children of a task that are too many for one commit, some of them.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Staged {
    /// They become tasks, as they are here, when the task is done.
    #[n(0)]
    pub tasks: Vec<(TaskId, Task)>,
}

/// That a task of another part has ended, for the part whose tasks wait for it. How it has ended is
/// in its own record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Ended {
    /// The part of the task.
    #[n(0)]
    pub part: Part,
    /// Whether it has a record there. If not, it never ends.
    #[n(1)]
    pub is_known: bool,
}

/// Who coordinates a part.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Reign {
    /// One more than that of the last one.
    #[n(0)]
    pub epoch: Epoch,
    /// The coordinator's name; empty once it has given the role back.
    #[n(1)]
    pub coordinator: String,
    /// Its host.
    #[n(2)]
    pub host: String,
    /// Where it takes requests, for clients and workers.
    #[n(3)]
    pub address: String,
}

/// A record that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the record at {key} cannot be read ({reason}): it is damaged, or of a later version")]
pub struct RecordError {
    /// Where it is.
    pub key: Key,
    /// What is wrong with it.
    pub reason: String,
}

/// The bytes that most records have at most, so that these are not moved while they are written.
const USUAL_BYTES: usize = 256;

/// The bytes of a record.
pub fn encode(record: &impl Encode<()>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    append(record, &mut bytes);
    bytes
}

/// Appends the bytes of a record.
pub fn append(record: &impl Encode<()>, bytes: &mut Vec<u8>) {
    match minicbor::encode(record, bytes) {
        Ok(()) => {}
        // A vector takes all bytes, and no record has a part that cannot be encoded.
        Err(_) => unreachable!(),
    }
}

/// The record in a value that was read.
///
/// # Errors
/// The value is no such record.
pub fn decode<'b, T: Decode<'b, ()>>(record: &'b Record) -> Result<T, RecordError> {
    let error = |reason: String| RecordError { key: record.key.clone(), reason };
    minicbor::decode(&record.value).map_err(|reason| error(reason.to_string()))
}

/// The beginning of a text, at most so many bytes.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl Task {
    /// When a coordinator changed it last, at least, in milliseconds since 1970 on its clock.
    pub fn last_stamp_ms(&self) -> u64 {
        let failed_ms = self.failures.last().map_or(0, |failure| failure.at_ms);
        let assigned_ms = match &self.state {
            State::Running(running) => running.since_ms,
            State::Ready | State::Delayed(_) | State::Waiting => 0,
        };
        self.submitted_ms.max(failed_ms).max(assigned_ms)
    }

    /// Adds a failure, its text cut; of many the first and the last ones are kept. A detail that
    /// is too long is left out: a part of it would be of no use.
    pub fn note(&mut self, mut failure: Failure) {
        self.tally.count(failure.cause, &failure.host);
        failure.text.truncate(beginning(&failure.text, MAX_FAILURE_BYTES).len());
        if failure.detail.len() > MAX_DETAIL_BYTES {
            failure.detail = Vec::new();
        }
        if let Some(before) = self.failures.last_mut() {
            before.detail = Vec::new();
        }
        if self.failures.len() == MAX_FAILURES {
            self.failures.remove(MAX_FAILURES / 2);
        }
        self.failures.push(failure);
    }

    /// The task without its payload.
    #[must_use]
    pub fn without_payload(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            group: self.group.clone(),
            payload: Vec::new(),
            state: self.state.clone(),
            failures: self.failures.clone(),
            tally: self.tally.clone(),
            need: self.need.clone(),
            filter: self.filter.clone(),
            inputs: self.inputs.clone(),
            abroad: self.abroad.clone(),
            ..*self
        }
    }

    /// Whether its record says that it waits for inputs.
    pub fn is_waiting(&self) -> bool {
        self.state == State::Waiting
    }

    /// Whether its worker gave back its last try.
    pub fn was_returned(&self) -> bool {
        let last = self.failures.last();
        last.is_some_and(|last| last.attempt == self.attempt && last.cause == Cause::Returned)
    }

    /// The worker that does this try of the task, if it is running.
    pub fn running(&self, attempt: Attempt) -> Option<&Running> {
        match &self.state {
            State::Running(running) if attempt == self.attempt => Some(running),
            _ => None,
        }
    }
}
