//! What a coordinator has done so far.

/// Counts since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Commits that were acknowledged.
    pub commits: u64,
    /// Changes in them.
    pub changes: u64,
    /// Tries that were assigned.
    pub assigned: u64,
    /// Tasks that are done.
    pub done: u64,
    /// Tasks that have failed for good, or were cancelled.
    pub failed: u64,
    /// Tries whose worker or host was lost.
    pub lost: u64,
    /// Completions and failures of tries that were no longer the last.
    pub superseded: u64,
    /// Requests that were refused, those included.
    pub refused: u64,
    /// Submitted tasks that were known before.
    pub known: u64,
    /// Records that could not be read: damaged, or of a later version.
    pub unreadable: u64,
    /// Times that all was read from the store again, since an answer of it was lost.
    pub recoveries: u64,
}
