//! What a store holds of tuples.

use minicbor::{Decode, Encode};

use super::field::Tuple;
use crate::id::{Attempt, TaskId};

/// A tuple in a space.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Stored {
    /// The tuple.
    #[n(0)]
    pub tuple: Tuple,
    /// Who has pulled it, if somebody has.
    #[n(1)]
    pub claim: Option<Claim>,
}

/// Who has pulled a tuple, and with what that ends.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Claim {
    /// The name of the session that did.
    #[n(0)]
    pub holder: String,
    /// The try of a task with which the claim ends; else it ends with the session.
    #[n(1)]
    pub task: Option<(TaskId, Attempt)>,
}

/// The last statement of a *slot* of a session that was done: so a request that is repeated, since
/// its answer was lost, is answered and not done again.
///
/// Source: the slots of sessions in NFS 4.1 (RFC 8881, §2.10.6).
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Past {
    /// Its number among the statements of the slot.
    #[n(0)]
    pub sequence: u64,
    /// What its ins have found.
    #[n(1)]
    pub found: Vec<Matched>,
}

/// A tuple that was found.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Matched {
    /// Its number, by which a claim of it is settled.
    #[n(0)]
    pub number: u64,
    /// The tuple.
    #[n(1)]
    pub tuple: Tuple,
}
