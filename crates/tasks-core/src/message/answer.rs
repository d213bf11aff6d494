//! What a coordinator answers.

use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};

use crate::id::TaskId;
use crate::output::{Reached, Source};
use crate::record::Finished;
use crate::tuple::Matched;
use crate::view::{KeyChange, KeyValue, Lies, Overview, Shown, SpaceView, TryView, TupleView, Why};

use super::Refusal;

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Answer {
    /// It is done, and durable as far as the store is.
    #[n(0)]
    Done,
    /// The session is open: it ends when nothing was heard of it for so many milliseconds.
    #[n(1)]
    Joined(#[n(0)] u64),
    /// So many of the submitted tasks are new; the others were known before.
    #[n(2)]
    Submitted(#[n(0)] u32),
    /// How the task has ended.
    #[n(3)]
    Outcome(#[n(0)] Box<Finished>),
    /// Nothing was done, for this reason.
    #[n(4)]
    Refused(#[n(0)] Refusal),
    /// What the part holds.
    #[n(5)]
    Overview(#[n(0)] Box<Overview>),
    /// The records of so many tasks were deleted.
    #[n(6)]
    Forgotten(#[n(0)] u32),
    /// The task.
    #[n(7)]
    Shown(#[n(0)] Box<Shown>),
    /// Tasks, and where the next page begins if this is not the last one. A page may be empty, and
    /// not the last.
    #[n(8)]
    Listed(#[n(0)] Vec<(TaskId, Shown)>, #[n(1)] Option<TaskId>),
    /// Tries that have ended, by number; and tries that run, which end at present.
    #[n(9)]
    Recent(#[n(0)] Vec<TryView>, #[n(1)] Vec<TryView>),
    /// Those of the keys that have a value, in their order, and where the next page begins if this
    /// is not the last one.
    #[n(10)]
    Values(#[n(0)] Vec<KeyValue>, #[n(1)] Option<ByteVec>),
    /// It is written, at this revision.
    #[n(11)]
    Written(#[n(0)] u64),
    /// Changes of keys, in their order, and the revision up to which these are all. None, if they
    /// are no longer held: read the keys, and go on from this revision.
    #[n(12)]
    Changed(#[n(0)] Option<Vec<KeyChange>>, #[n(1)] u64),
    /// Why a task does not run, and where outputs lie that it reads.
    #[n(13)]
    Explained(#[n(0)] Box<Why>, #[cbor(n(1), default)] Vec<Lies>),
    /// The statement is done: what each of its ins has found.
    #[n(14)]
    Matched(#[n(0)] Vec<Matched>),
    /// In the time that the statement had, some in has found nothing. Nothing was changed.
    #[n(15)]
    NoMatch,
    /// Spaces, and where the next page begins if this is not the last one.
    #[n(16)]
    Spaces(#[n(0)] Vec<SpaceView>, #[n(1)] Option<String>),
    /// Tuples, and where the next page begins if this is not the last one.
    #[n(17)]
    Tuples(#[n(0)] Vec<TupleView>, #[n(1)] Option<u64>),
    /// How the task has ended, and those of the depots with its output that are there. None, if its
    /// output stays on nodes: it is lost.
    #[n(18)]
    Fetched(#[n(0)] Box<Finished>, #[n(1)] Vec<Reached>),
    /// Depots, as many as there are of those that are wanted.
    #[n(19)]
    Depots(#[n(0)] Vec<Reached>),
    /// These tasks have no record.
    #[n(20)]
    Unknown(#[n(0)] Vec<TaskId>),
    /// As [`Answer::Joined`], with the coordinator of one of so many parts.
    #[n(21)]
    JoinedPart(#[n(0)] u64, #[n(1)] u16),
    /// From where the blob is to be copied.
    #[n(22)]
    Source(#[n(0)] Source),
    /// Where the depot is reached; none: no session says that it is there.
    #[n(26)]
    Located(#[n(0)] Option<Reached>),
    /// These shared blobs are named by no tuple.
    #[n(27)]
    Unnamed(#[n(0)] Vec<ByteArray<32>>),
}
