//! Why something of a queue could not be done.

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal};

use crate::inputs::InputError;
use crate::payloads::PayloadError;
use crate::session::SessionEnded;

/// Why something of a queue could not be done, and what is left.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The session has ended. Whether the coordinator has done it is unknown; to ask again does no
    /// harm.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// What is too long for a record cannot be put or had.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// An input of an item cannot be had.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The coordinator has refused it. Nothing has changed.
    #[error("{0}")]
    Refused(Refusal),
    /// The item has failed, and is not tried again.
    #[error("item {item} has failed: {text}")]
    Failed {
        /// Which.
        item: TaskId,
        /// What was said of its last try.
        text: String,
    },
    /// The item was cancelled.
    #[error("item {0} was cancelled")]
    Cancelled(TaskId),
    /// An answer to another question: the coordinator is of another version.
    #[error("the coordinator said {0:?}")]
    Answer(Box<Answer>),
}

impl QueueError {
    /// What follows from the answer to what is done or refused.
    pub(super) fn unless_done(answer: Answer) -> Result<(), Self> {
        match answer {
            Answer::Refused(refusal) => Err(Self::Refused(refusal)),
            _ => Ok(()),
        }
    }
}

impl From<Answer> for QueueError {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Refused(refusal) => Self::Refused(refusal),
            other => Self::Answer(Box::new(other)),
        }
    }
}
