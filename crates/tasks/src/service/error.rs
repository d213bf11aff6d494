//! Why there is no service.

use tidings_tasks_core::record::RecordError;
use tidings_tasks_core::transaction::CommitError;

use crate::parts::PartsError;
use crate::store::Lost;

/// Why a service does not begin, or has ended.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The store has not answered. Nothing has changed, or the role was taken.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The role was not taken: another coordinator has it now, or the store has refused.
    #[error("the role was not taken: {0}")]
    Role(CommitError),
    /// The record of the role cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// How many parts the store has is not known.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// Another coordinator has the part. Nothing that was acknowledged is lost.
    #[error("another coordinator has the part now")]
    Deposed,
    /// Whoever ran the service has ended it.
    #[error("the service has ended")]
    Ended,
}
