//! Why a coordinator has not done what it was asked.

use minicbor::{Decode, Encode};

/// Why a request was not done. Nothing has changed by it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, thiserror::Error)]
pub enum Refusal {
    /// Whoever was asked does not coordinate this part, or not yet: ask again, where the role is.
    #[n(0)]
    #[error("another coordinator has this part now, or none yet: ask again")]
    Elsewhere,
    /// It takes a session.
    #[n(1)]
    #[error("there is no session: join first")]
    NoSession,
    /// The try is no longer the last one: another worker has the task, or it has ended.
    #[n(2)]
    #[error("this try of the task is over: another worker has it, or it has ended")]
    Superseded,
    /// No such task.
    #[n(3)]
    #[error("there is no such task")]
    NoTask,
    /// No such semaphore.
    #[n(4)]
    #[error("there is no such semaphore")]
    NoSemaphore,
    /// The task's state does not allow it.
    #[n(5)]
    #[error("the task is {0}")]
    State(#[n(0)] String),
    /// A key that an effect expects at a revision has changed.
    #[n(6)]
    #[error("a key has changed: it is at revision {} (0: it has no value)", .0.unwrap_or_default())]
    EffectConflict(#[n(0)] Option<u64>),
    /// The store has no space.
    #[n(7)]
    #[error("the store is full: {0}")]
    Full(#[n(0)] String),
    /// The request is outside of its bounds.
    #[n(8)]
    #[error("{0}")]
    Invalid(#[n(0)] String),
    /// The session, or the try of the task, had ended meanwhile, and what it had pulled is there
    /// again. Whether a statement was done before that is unknown.
    #[n(9)]
    #[error(
        "what was pulled is there again, for its session had ended; whether the statement was done \
         before that is unknown"
    )]
    Lapsed,
    /// A tuple that is to be settled was not pulled by this session, or this try of a task; or not
    /// any more.
    #[n(10)]
    #[error("the tuple was not pulled by who wants to settle it, or is with another since")]
    NoClaim,
}
