//! What the processes that have parts say to each other.
//!
//! All but answers name the view in which they are said: they mean nothing in another.

use minicbor::{Decode, Encode};

use crate::id::Node;

/// How far a copy is: the view in which it was last part of a pair, and the calls it has had. Two
/// copies that are equally far are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Encode, Decode)]
pub(super) struct Stand {
    #[n(0)]
    pub(super) tag: u64,
    #[n(1)]
    pub(super) count: u64,
}

/// A call as it goes to a backup.
#[derive(Clone, Debug, Encode, Decode)]
pub(super) struct Logged<O> {
    /// The calls that the copy has had with this one.
    #[n(0)]
    pub(super) count: u64,
    #[n(1)]
    pub(super) client: Node,
    #[n(2)]
    pub(super) number: u64,
    /// All calls of the client below this number are answered.
    #[n(3)]
    pub(super) below: u64,
    #[n(4)]
    pub(super) op: O,
}

/// Answers that clients may have to be given again.
pub(super) type Answered<A> = Vec<(Node, Vec<(u64, A)>)>;

/// A message with its view.
#[derive(Clone, Debug, Encode, Decode)]
pub(super) struct InView<O, A> {
    #[n(0)]
    pub(super) view: u64,
    #[n(1)]
    pub(super) said: Said<O, A>,
}

/// What is said.
#[derive(Clone, Debug, Encode, Decode)]
pub(super) enum Said<O, A> {
    /// To all: what this process has.
    #[n(0)]
    Have(#[n(0)] Vec<(u16, Stand)>),
    /// Owner to whoever has the best copy: send it.
    #[n(1)]
    Fetch(#[n(0)] u16),
    /// A piece of a copy.
    #[n(2)]
    Page(#[n(0)] u16, #[cbor(n(1), with = "minicbor::bytes")] Vec<u8>),
    /// The pieces before are a whole copy.
    #[n(3)]
    Copied(#[n(0)] u16, #[n(1)] Stand, #[n(2)] Answered<A>),
    /// Owner to backup: you have all up to here, and are the backup in this view.
    #[n(4)]
    Follow(#[n(0)] u16, #[n(1)] u64),
    /// Owner to backup: the next call.
    #[n(5)]
    Apply(#[n(0)] u16, #[n(1)] Logged<O>),
    /// Backup to owner: so many calls have been applied.
    #[n(6)]
    Applied(#[n(0)] u16, #[n(1)] u64),
    /// Owner to others: both copies are there, another one is not needed.
    #[n(7)]
    Settled(#[n(0)] u16),
    /// Owner to all: what was in this part may be lost.
    #[n(8)]
    Lost(#[n(0)] u16),
    /// Client to owner: a call, its number, and below which all of that client are answered.
    #[n(9)]
    Ask(#[n(0)] u16, #[n(1)] u64, #[n(2)] u64, #[n(3)] O),
    /// Owner to client: the answer to a call.
    #[n(10)]
    Answer(#[n(0)] u64, #[n(1)] A),
}
