//! Whom a node has met that is configured differently, and what it has yet to say to them.

use crate::address::Address;
use crate::mismatch::Mismatches;
use crate::share::{Pace, Share};
use crate::wire::reject;

/// What is known of mismatches, and the rejects to send.
pub(super) struct Meeting {
    pub(super) table: Mismatches,
    pub(super) pace: Pace,
    pub(super) share: Share,
    pub(super) waiting: Vec<(Address, [u8; reject::BYTES])>,
}

impl Meeting {
    pub(super) fn new(pace: Pace) -> Self {
        Self { table: Mismatches::default(), pace, share: Share::WHOLE, waiting: Vec::new() }
    }
}
