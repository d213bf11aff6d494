//! Values that are written once and read by many: the parameters of a computation, say.
//!
//! A value is a task without work, whose result it is. Both who writes and who reads submit it,
//! which adds it once; who writes claims it and completes it; who reads waits for its end. So a
//! reader may come first, a writer that dies is replaced by the next, and one value counts. One
//! that is too long for a record is a blob: all readers of a host map the same copy, which comes
//! from a host that has one if it is large.

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal, Request, Submission};
use tidings_tasks_core::record::{Finished, Outcome};
use tidings_tasks_core::retry::Retry;
use tokio::sync::mpsc;

use crate::items;
use crate::payloads::{PayloadError, Payloads};
use crate::session::{Notice, Session, SessionEnded};

/// A value, written or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    task: TaskId,
}

/// Why a value was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// It has another value already.
    #[error("it was written before, with another value: use another name")]
    Written,
    /// It has none, and gets none.
    #[error("its record says that it was cancelled or has failed: forget its task {0}")]
    Never(TaskId),
    /// The coordinator has refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It cannot be kept, or read.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The session has ended. Whether it was written is unknown.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The coordinator is of another version.
    #[error(
        "the store answered what this program does not know ({0:?}): use programs of one version"
    )]
    Answer(Box<Answer>),
}

impl Value {
    /// The value of this name.
    pub fn named(name: &str) -> Self {
        Self { task: TaskId::of(&format!("value\0{name}"), 0) }
    }

    /// The task that it is.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// The queue that has it alone.
    fn queue(&self) -> String {
        format!("value-{}", self.task)
    }

    /// Adds it, unless it is there.
    ///
    /// # Errors
    /// The store cannot be had, or refuses.
    pub async fn expect(&self, session: &Session) -> Result<(), ValueError> {
        // Writing is done at once, so those who die with it have died of something else.
        let retry = Retry { losses: u16::MAX, ..Retry::default() };
        let submission = Submission::new(self.task, self.queue(), Vec::new());
        let task = Submission { retry, need: items::need(), ..submission };
        match session.ask(Request::Submit { tasks: vec![task] }).await? {
            Answer::Submitted(_) => Ok(()),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(ValueError::Answer(Box::new(other))),
        }
    }

    /// Writes it, in a session for this alone. The same value may be written again.
    ///
    /// # Errors
    /// It has another value, or the store cannot be had or refuses.
    pub async fn write(
        &self,
        payloads: &Payloads,
        (session, mut notices): (Session, mpsc::Receiver<Notice>),
        bytes: Vec<u8>,
    ) -> Result<(), ValueError> {
        self.expect(&session).await?;
        let kept = payloads.shorten(self.task, bytes.clone()).await?;
        if let Answer::Refused(refusal) = session.ask(items::offer(&self.queue(), 1)).await? {
            return Err(refusal.into());
        }
        let mut written = core::pin::pin!(self.read(payloads, &session));
        let result = loop {
            tokio::select! {
                value = &mut written => {
                    break if value? == bytes { Ok(()) } else { Err(ValueError::Written) };
                }
                Some(notice) = notices.recv() => {
                    let Notice::Assigned(assigned) = notice else { continue };
                    let (children, effects, puts) = (Vec::new(), Vec::new(), Vec::new());
                    let (task, attempt, result) = (assigned.task, assigned.attempt, kept.clone());
                    let done =
                        Request::Complete { task, attempt, result, children, effects, puts };
                    // Refused, the value comes from another; `written` says which one.
                    session.ask(done).await?;
                }
            }
        };
        // The session ends with this anyhow.
        let _ = session.ask(Request::Leave).await;
        result
    }

    /// Reads it, as soon as it is written. It must be [expected](Self::expect).
    ///
    /// # Errors
    /// It gets none, or the store cannot be had.
    pub async fn read(
        &self,
        payloads: &Payloads,
        session: &Session,
    ) -> Result<Vec<u8>, ValueError> {
        match payloads.outcome(session, self.task).await? {
            Answer::Outcome(finished) => self.of(*finished),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(ValueError::Answer(Box::new(other))),
        }
    }

    fn of(&self, finished: Finished) -> Result<Vec<u8>, ValueError> {
        match finished.outcome {
            Outcome::Done(value) => Ok(value),
            Outcome::Failed | Outcome::Cancelled => Err(ValueError::Never(self.task)),
        }
    }
}
