//! What a statement has found, or why it was not done.

use tidings_tasks_core::message::{Answer, Refusal};
use tidings_tasks_core::tuple::Matched;

use crate::session::SessionEnded;

/// Why a statement was not done.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// The coordinator has refused it. [`Refusal::Lapsed`] leaves open whether it was done; after
    /// all others nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The session has ended. Whether it was done is unknown.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The coordinator has answered something else.
    #[error("the answer to a statement was {0:?}")]
    Answer(Box<Answer>),
}

/// What a statement has found.
pub(super) fn answer_of(answer: Answer) -> Result<Option<Vec<Matched>>, SpaceError> {
    match answer {
        Answer::Matched(found) => Ok(Some(found)),
        Answer::NoMatch => Ok(None),
        Answer::Refused(refusal) => Err(refusal.into()),
        other => Err(SpaceError::Answer(Box::new(other))),
    }
}
