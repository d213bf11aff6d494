//! What can go wrong with blocks.

use tidings_blocks::envelope::Refusal;
use tidings_blocks::record::RecordError;
use tidings_tasks_core::transaction::CommitError;

use crate::net::NetError;
use crate::store::{Lost, SessionError, WatchError};

/// Why a process does not take part, or has no such block.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BlocksError {
    /// The store cannot be reached. A block may have been made.
    #[error("{0}")]
    Store(String),
    /// This process cannot listen.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A record says something else, or it is no name.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The block is something else, or there is none.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The others go on without this process.
    #[error("this process takes part no more: the others found it dead, or its session ended")]
    Lost,
}

impl From<Lost> for BlocksError {
    fn from(error: Lost) -> Self {
        Self::Store(error.to_string())
    }
}

impl From<CommitError> for BlocksError {
    fn from(error: CommitError) -> Self {
        Self::Store(error.to_string())
    }
}

impl From<SessionError> for BlocksError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Ended(_) => Self::Lost,
            SessionError::Lost(_) => Self::Store(error.to_string()),
        }
    }
}

impl From<WatchError> for BlocksError {
    fn from(error: WatchError) -> Self {
        Self::Store(error.to_string())
    }
}
