//! Stores: where the state of tasks lies, so that it survives the processes that work on it.
//!
//! A store is one ordered map from keys to values with one history. All that changes it is a
//! [`Transaction`]: conditions on any keys, and writes, which happen together at one revision or
//! not at all. That is enough to claim a task, complete it and release what waited for it in one
//! step, and to shut out a process that was replaced. What a store is to do is defined by
//! [`Ledger`](tidings_tasks_core::ledger::Ledger), in memory; an engine keeps to it across
//! processes and crashes. One suite of cases, `tests/suite`, holds all of them to that.
//!
//! Invariants, of every engine:
//! * A commit that was acknowledged is never lost, as far as [`Limits::durability`] says, and is
//!   seen by all that is read after the acknowledgement, by anyone (strict serialisability).
//! * Revisions rise strictly, also across a restart. A revision never comes to mean another state.
//! * A watcher gets each change once, in order, or is told that it is too late.
//! * No answer means no knowledge: [`CommitError::Unknown`]. All other errors of a commit mean that
//!   nothing was written.
//!
//! **A consistent picture of a range, and all that follows.** There is no reading at an old
//! revision: engines would have to keep old values for it. Instead list, then watch: scan the range
//! page by page, note the revision of the *first* page, and watch from there. Pages that were read
//! later may show later values; the changes that made them come again from the watch and are told
//! by their revisions: apply a change only where its revision is larger than that of the value
//! held. After the change with the largest revision of any page the picture is that of one
//! revision. If the watch says [`WatchError::Compacted`], begin again.
//!
//! Source: etcd's API version 3 (Mod revisions, leases, watches), of which this is the part that
//! other engines can do too.

mod follow;
mod lease;

pub mod address;
pub mod block;
pub mod crashing;
pub mod embedded;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod faulty;
pub mod medium;
pub mod memory;
pub mod reach;

use std::time::Duration;

use async_trait::async_trait;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{
    CommitError, Event, Key, Limits, Record, Revision, Session, Transaction,
};

/// Where the state of tasks lies. Its calls may be made from many tasks at once.
///
/// A call whose future is dropped may have happened or not, as with [`CommitError::Unknown`].
#[async_trait]
pub trait Store: Send + Sync {
    /// Writes all that the transaction writes if all its conditions hold, at one revision; or
    /// nothing. Returns once that is as durable as [`Limits::durability`] says. A transaction
    /// without writes checks its conditions and returns the present revision.
    ///
    /// # Errors
    /// Only [`CommitError::Unknown`] leaves open whether it was written.
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError>;

    /// The values of some keys, in the order asked for, all as of one revision, which is not older
    /// than any commit that was acknowledged before the call.
    ///
    /// # Errors
    /// The store cannot be reached.
    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost>;

    /// The first values of the keys from `from` on, up to and without `end`, as of one revision: at
    /// most `limit` of them (at least 1), fewer where they are large. [`Page::next`] says where to
    /// go on; the module's description says how the pages make one picture.
    ///
    /// # Errors
    /// The store cannot be reached.
    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost>;

    /// Follows the keys that begin with `prefix` (all, if that is empty): each change after the
    /// revision `after`.
    ///
    /// # Errors
    /// Changes after `after` are no longer held, or the store cannot be reached.
    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError>;

    /// Opens a session that ends when it is not kept for `ttl`. Ending takes until then and a
    /// little longer, never shorter: a store that stood still gives its holders their time again.
    ///
    /// # Errors
    /// The store cannot be reached. A session that was opened all the same ends by itself.
    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError>;

    /// Keeps a session for another `ttl`. One call a process and third of the `ttl`, never one a
    /// task.
    ///
    /// # Errors
    /// It has ended, with its keys; or the store cannot be reached, and it may have been kept.
    async fn keep_session(&self, session: Session) -> Result<(), SessionError>;

    /// Ends a session: the keys that were last written with it vanish, all at one revision, before
    /// this returns.
    ///
    /// # Errors
    /// It had ended; or the store cannot be reached, and it ends by itself.
    async fn close_session(&self, session: Session) -> Result<(), SessionError>;

    /// Forgets changes up to and including `before`. Values stay.
    ///
    /// # Errors
    /// The store cannot be reached. Some may be forgotten.
    async fn compact(&self, before: Revision) -> Result<(), Lost>;

    /// What the engine can carry, and what its acknowledgement means.
    fn limits(&self) -> Limits;
}

/// The changes of a range of keys, in order.
#[async_trait]
pub trait Watch: Send {
    /// The next changes, as soon as there are any: all of one or more revisions, never a part of
    /// one. A future that is dropped loses none.
    ///
    /// # Errors
    /// The watcher was so slow that some are no longer held, or the store cannot be reached. The
    /// watch is over: read the keys, and watch from there.
    async fn next(&mut self) -> Result<Batch, WatchError>;
}

/// Changes, and how far the watcher has seen all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// The changes; at least one.
    pub events: Vec<Event>,
    /// All changes up to here have been seen: from here another watch goes on.
    pub revision: Revision,
}

/// What some keys hold, as of one revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// In the order of the keys that were asked for; `None` where there is no value.
    pub records: Vec<Option<Record>>,
    /// The last commit that these values can show.
    pub revision: Revision,
}

/// The store cannot be reached, or is closed. It says why. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the store cannot be reached: {0}")]
pub struct Lost(pub String);

/// Why a watch ends, or does not begin. The store has not changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WatchError {
    /// Changes up to this revision are no longer held. Read the keys, and watch from the revision
    /// that was read.
    #[error("changes up to revision {} were compacted", .0.0)]
    Compacted(Revision),
    /// The store cannot be reached.
    #[error("the store cannot be reached: {0}")]
    Lost(String),
}

/// Why something was not done with a session.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SessionError {
    /// It has ended, or never was; its keys are gone, or go with the next commit.
    #[error("session {} has ended", .0.0)]
    Ended(Session),
    /// The store cannot be reached. The session ends by itself if nobody keeps it.
    #[error("the store cannot be reached: {0}")]
    Lost(String),
}

impl From<Lost> for WatchError {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost.0)
    }
}

impl From<Lost> for SessionError {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost.0)
    }
}
