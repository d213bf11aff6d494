//! Requests that take several reads or commits, and how far each has come.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{Part, TaskId};
use crate::ledger::Page;
use crate::message::{Call, Peer, Submission};
use crate::transaction::{Key, Revision};
use crate::view::Which;

/// A request to forget tasks.
#[derive(Debug)]
pub(super) struct Forgetting {
    pub(super) asked: (Peer, Call),
    /// The tasks that are still to be looked at.
    pub(super) rest: Vec<TaskId>,
    /// The records that the commit on its way deletes.
    pub(super) now: Vec<(TaskId, Revision)>,
    /// How many were deleted before.
    pub(super) count: u32,
}

/// A request for a page of tasks.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) asked: (Peer, Call),
    /// Of this queue, or of all.
    pub(super) queue: Option<String>,
    pub(super) which: Which,
    /// Where the page begins.
    pub(super) from: Option<TaskId>,
    /// The records that it looks at.
    pub(super) limit: usize,
    /// The page of those that have not ended, once it was read.
    pub(super) live: Option<Page>,
}

/// A submission whose inputs are looked for among what has ended.
#[derive(Debug)]
pub(super) struct Gathering {
    pub(super) asked: (Peer, Call),
    pub(super) tasks: Vec<Submission>,
    /// The inputs that are still to be looked for, and those that the read on its way is about.
    pub(super) rest: Vec<TaskId>,
    pub(super) now: Vec<TaskId>,
    /// In which part the read looks: so many behind this one.
    pub(super) ahead: u16,
    pub(super) found: Found,
}

/// Inputs of tasks that are to be added.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those that are done.
    pub(super) done: BTreeSet<TaskId>,
    /// Those that are in other parts, and the record that was seen. Whether they are done is looked
    /// at when they are waited for.
    pub(super) abroad: BTreeMap<TaskId, (Part, Key)>,
}
