//! Why a payload or result is not put or not read.

use tidings_tasks_core::message::{Answer, MAX_INLINE_BYTES};

use crate::blobs::BlobError;
use crate::copying::CopyError;
use crate::net::depot::DepotError;
use crate::replicas::ReplicaError;
use crate::session::SessionEnded;

/// Why a payload or result was not put or not read.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// The folder of blobs says so.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The other host that has the blobs says so.
    #[error(transparent)]
    Depot(#[from] DepotError),
    /// The store has no place for it. Nothing was submitted.
    #[error(
        "{0} bytes, and a record takes {MAX_INLINE_BYTES}: this store has no place for more; name \
         a folder that all hosts share with --blobs, or use file:PATH"
    )]
    NoPlace(u64),
    /// No node is there that keeps blobs, and the store has no folder for them. Nothing was
    /// submitted.
    #[error(
        "what is longer than a record lies on nodes of workers, and none is there: begin one \
         (tidings worker), or name a folder that all hosts share with --blobs"
    )]
    NoNode,
    /// What stands in for a blob is damaged, or of a later version.
    #[error("what stands in for a blob cannot be read: {0}")]
    StandIn(String),
    /// The session has ended. Whether anything was submitted is unknown.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The process is ending. Nothing was submitted.
    #[error("the runtime is ending")]
    Ending,
    /// An output that stays on nodes is lost, and is made again.
    #[error("its output was lost with its node, and is made again: ask later")]
    Again,
    /// What nobody is answered who asks for a result.
    #[error("the coordinator said {0:?}")]
    Answer(Box<Answer>),
}

impl From<ReplicaError> for PayloadError {
    fn from(error: ReplicaError) -> Self {
        match error {
            ReplicaError::Depot(error) => Self::Depot(error),
            ReplicaError::Nobody => Self::NoNode,
            ReplicaError::Ended(error) => Self::Ended(error),
            ReplicaError::Answer(answer) => Self::Answer(answer),
        }
    }
}

impl From<CopyError> for PayloadError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Depot(error) => Self::Depot(error),
            CopyError::Ended(error) => Self::Ended(error),
            CopyError::Answer(answer) => Self::Answer(answer),
            CopyError::Ending => Self::Ending,
        }
    }
}
