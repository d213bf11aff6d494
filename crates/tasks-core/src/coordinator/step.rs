//! A step of a stage: what one commit does of children that are too many for it.

use crate::id::TaskId;
use crate::transaction::Transaction;

/// What a change does of a stage.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) parent: TaskId,
    pub(super) does: Does,
    /// What it requires and writes.
    pub(super) keys: Transaction,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    Write(u16),
    Count,
    Release(u16),
    Clear,
    Remove,
}
