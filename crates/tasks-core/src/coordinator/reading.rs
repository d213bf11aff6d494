//! Reads: what a coordinator wants from the store, and what for.

use std::collections::BTreeSet;

use crate::id::{Attempt, TaskId};
use crate::ledger::Page;
use crate::message::{Call, Peer};
use crate::transaction::{Key, Record};

use super::change::Change;
use super::partial::{Forgetting, Gathering, Listing};

/// What is to be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// The records of these keys that there are.
    Get(Vec<Key>),
    /// The first `limit` records from a key on, up to and without `end`.
    Scan {
        /// Where the page begins.
        from: Key,
        /// Where the range ends.
        end: Option<Key>,
        /// The most records of the page.
        limit: usize,
    },
}

/// What was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The records that there are, in any order.
    Records(Vec<Record>),
    /// A page.
    Page(Page),
    /// The store did not answer.
    Lost,
}

/// What a read is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// To begin, or begin again.
    Recover,
    /// The records of tasks that are assigned next.
    Heads,
    /// How a task has ended, for one who waits for that.
    Outcome(TaskId, Peer, Call),
    /// Whether a task has ended by this try, which its worker reports once more.
    Repeated(Attempt, Peer, Call),
    /// Whether a task was cancelled, which is requested once more.
    Cancelled(TaskId, Peer, Call),
    /// The record of a task that waits, to cancel it.
    Cancel(TaskId, Peer, Call),
    /// The record of a task that waits, to cancel it if it still does.
    Withdraw(TaskId, Peer, Call),
    /// A task that has ended, to try it again.
    Revive(TaskId, Peer, Call),
    /// A task, to show it.
    Show(Peer, Call),
    /// A page of tasks, to show them.
    List(Box<Listing>),
    /// Keys of the users', to tell their values.
    Keys(Peer, Call),
    /// Tasks that have ended, to delete their records.
    Forget(Box<Forgetting>),
    /// Which new tasks of a change have ended before.
    Known(Box<Change>),
    /// What has ended of the inputs of a submission.
    Inputs(Box<Gathering>),
    /// What became of inputs that tasks wait for.
    Ended(Vec<TaskId>),
    /// What became of tasks for which other parts wait.
    Wanted(Vec<TaskId>),
    /// A task whose output may have to be made again.
    Again(TaskId),
    /// A task whose output somebody cannot get.
    Lost(TaskId, Attempt, Peer, Call),
    /// How a task has ended, and where its output lies.
    Fetch(TaskId, Peer, Call),
    /// Which of some tasks have no record.
    Unknown(Vec<TaskId>, Peer, Call),
}

impl Purpose {
    /// Whose request it is.
    pub(super) fn asker(&self) -> BTreeSet<(Peer, Call)> {
        match *self {
            Self::Outcome(_, peer, call)
            | Self::Repeated(_, peer, call)
            | Self::Cancelled(_, peer, call)
            | Self::Cancel(_, peer, call)
            | Self::Withdraw(_, peer, call)
            | Self::Revive(_, peer, call)
            | Self::Show(peer, call)
            | Self::Lost(_, _, peer, call)
            | Self::Fetch(_, peer, call)
            | Self::Unknown(_, peer, call)
            | Self::Keys(peer, call) => BTreeSet::from([(peer, call)]),
            Self::List(ref listing) => BTreeSet::from([listing.asked]),
            Self::Forget(ref forgetting) => BTreeSet::from([forgetting.asked]),
            Self::Known(ref change) => change.answers(),
            Self::Inputs(ref gathering) => BTreeSet::from([gathering.asked]),
            Self::Recover | Self::Heads | Self::Ended(_) | Self::Wanted(_) | Self::Again(_) => {
                BTreeSet::new()
            }
        }
    }
}
