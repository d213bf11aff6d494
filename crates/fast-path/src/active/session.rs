//! A session: what a caller has to know of its responder.

use std::net::SocketAddrV4;

use super::message::{Change, MESSAGE_BYTES, MOST_MERGED, encode};
use crate::frame::{Ends, Frame};

/// A caller's place with a responder. Whoever has it may change the responder's words as this
/// session; only one caller may use it, since its messages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Which session.
    pub number: u16,
    /// What its messages carry, so that nobody else's are taken for them.
    pub key: u64,
    /// Where the responder is.
    pub address: SocketAddrV4,
}

impl Session {
    /// The frame of a message between these ends: what a caller with a ring sends.
    pub fn frame(&self, ends: &Ends, sequence: u64, index: u32, change: Change<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&mut bytes, (self.number, self.key), sequence, index, change);
        Frame::new(ends, MESSAGE_BYTES + 8 * MOST_MERGED).with(&bytes).to_vec()
    }
}
