//! What both sides of a store over a connection say, in frames.

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{
    CommitError, Event, Key, Limits, Record, Revision, Session, Transaction, bound,
};

/// The first frame in both directions, of those that use a store.
pub(crate) const HELLO: &str = "tidings-store 1";

/// Bytes of keys and values in one frame, and one record more. With what surrounds them they are
/// well below the longest frame.
pub(super) const FRAME_BYTES: usize = 2 << 20;

/// The number by which a call is answered.
pub(super) type Number = u64;

/// What a client asks, with its number.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub(super) enum Ask {
    /// What the store can carry.
    #[n(0)]
    Limits,
    #[n(1)]
    Commit(#[n(0)] Transaction),
    #[n(2)]
    Get(#[n(0)] Vec<Key>),
    #[n(3)]
    Scan {
        #[cbor(n(0), with = "bound")]
        from: Option<Key>,
        #[cbor(n(1), with = "bound")]
        end: Option<Key>,
        #[n(2)]
        limit: u32,
    },
    /// From then on the connection is for these changes alone.
    #[n(4)]
    Watch(#[n(0)] ByteVec, #[n(1)] Revision),
    /// A session of so many milliseconds.
    #[n(5)]
    Open(#[n(0)] u64),
    #[n(6)]
    Keep(#[n(0)] Session),
    #[n(7)]
    Close(#[n(0)] Session),
    #[n(8)]
    Compact(#[n(0)] Revision),
}

/// What a client is answered.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub(super) enum Say {
    #[n(0)]
    Limits(#[n(0)] Limits),
    #[n(1)]
    Commit(#[n(0)] Result<Revision, CommitError>),
    #[n(2)]
    Records(#[n(0)] Vec<Option<Record>>, #[n(1)] Revision),
    #[n(3)]
    Page(#[n(0)] Page),
    #[n(4)]
    Session(#[n(0)] Session),
    #[n(5)]
    Ended(#[n(0)] Session),
    #[n(6)]
    Done,
    /// It cannot be done, for this reason.
    #[n(7)]
    Lost(#[n(0)] String),
    /// Changes up to here are no longer held.
    #[n(8)]
    Compacted(#[n(0)] Revision),
    /// Changes; with the last ones of a batch how far the watcher has seen all.
    #[n(9)]
    Changes(#[n(0)] Vec<Event>, #[n(1)] Option<Revision>),
}

/// Bytes of a key and its value.
pub(super) fn bytes_of(key: &Key, value: Option<&[u8]>) -> usize {
    key.as_bytes().len() + value.map_or(0, <[u8]>::len)
}
