//! The checks that a node has yet to answer.

use crate::address::Address;
use crate::entry::NodeId;
use crate::share::{Pace, Share};

/// Answers pending at one time.
pub(super) const MAX_ANSWERS: usize = 16;

/// An answer to give.
pub(super) struct Answer {
    pub(super) to: Address,
    /// Bytes of the datagram that asked.
    pub(super) bytes: usize,
    /// Who asked.
    pub(super) asker: NodeId,
    pub(super) token: u64,
}

/// The checks to answer.
pub(super) struct Checks {
    pub(super) pace: Pace,
    pub(super) share: Share,
    pub(super) waiting: Vec<Answer>,
}

impl Checks {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, share: Share::WHOLE, waiting: Vec::new() }
    }
}
