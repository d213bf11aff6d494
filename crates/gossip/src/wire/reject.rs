//! Rejects: why a datagram was dropped. The only datagram in clear: its receiver may have another
//! key.
//!
//! | bytes | field |
//! |---|---|
//! | 0–1 | magic `54 67` |
//! | 2 | 1, whatever versions either side speaks |
//! | 3 | kind 13 |
//! | 4–27 | bytes 4 to 27 of the datagram that was dropped |
//! | 28 | the difference, see [`Difference`] |
//! | 29–30 | the lowest and the highest version that its sender reads |
//! | 31–32 | bytes of a payload at its sender if the payloads differ; else 0 |
//!
//! It repeats the nonce of the dropped datagram, whose salt only those know who have seen one: who
//! sends rejects without having received anything is not believed. Anybody on the path can forge
//! one. So it is only reported, and nothing else follows from it. It is shorter than any datagram
//! that can be dropped, and bytes behind it are ignored, for later releases.

use tidings_primitives::nonce::{self, Nonce};

use super::body::{Reader, Writer};
use super::extension::Versions;
use super::header::{self, Kind, MAGIC};
use crate::mismatch::Difference;

/// Bytes of a reject.
pub const BYTES: usize = header::BYTES + 5;
/// The version in which it is written.
const VERSION: u8 = 1;

/// A reject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reject {
    /// The nonce of the datagram that was dropped.
    pub of: Nonce,
    /// What differs.
    pub difference: Difference,
    /// What its sender reads.
    pub reads: Versions,
    /// Bytes of a payload there, if payloads differ.
    pub payload_bytes: u16,
}

/// Whether a datagram is meant to be a reject.
#[inline]
pub fn is_reject(datagram: &[u8]) -> bool {
    matches!(datagram, [m0, m1, _, kind, ..] if [*m0, *m1] == MAGIC && *kind == Kind::Reject as u8)
}

impl Reject {
    /// Its bytes; `dropped` begins as the datagram that was dropped.
    pub fn to_bytes(self, dropped: &[u8; header::BYTES]) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut all = Writer::new(&mut bytes);
        all.put(&MAGIC);
        all.put(&[VERSION, Kind::Reject as u8]);
        all.put(&dropped[4..]);
        all.put(&[self.difference as u8, self.reads.lowest, self.reads.highest]);
        all.put(&self.payload_bytes.to_le_bytes());
        bytes
    }

    /// Reads a datagram for which [`is_reject`] holds; `None` if it is too short, or names a
    /// difference that this code does not know.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let mut all = Reader(datagram);
        all.array::<4>()?;
        let of = Nonce::from_bytes(all.array::<{ nonce::BYTES }>()?);
        let difference = Difference::of_number(all.u8()?)?;
        let reads = Versions { lowest: all.u8()?, highest: all.u8()? };
        Some(Self { of, difference, reads, payload_bytes: all.u16()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Incarnation, NodeId};

    #[test]
    fn a_reject_repeats_the_nonce_and_survives_the_round_trip() {
        let header = header::Header {
            version: 2,
            kind: Kind::Ask,
            cluster: 7,
            sender: NodeId(9),
            incarnation: Incarnation::new(3),
            key_id: 5,
            salt: 0x1234_5678_9abc,
            counter: 77,
        };
        let dropped = header.to_bytes();
        let [_, _, _, _, nonce @ ..] = dropped;
        let reject = Reject {
            of: Nonce::from_bytes(nonce),
            difference: Difference::Payload,
            reads: Versions { lowest: 1, highest: 4 },
            payload_bytes: 256,
        };
        let bytes = reject.to_bytes(&dropped);
        assert!(is_reject(&bytes) && !is_reject(&dropped));
        assert_eq!(Reject::read(&bytes), Some(reject));
        let longer = [&bytes[..], b"later"].concat();
        assert_eq!(Reject::read(&longer), Some(reject), "later releases may say more");
        for cut in 0..BYTES {
            assert_eq!(Reject::read(&bytes[..cut]), None);
        }
        let mut unknown = bytes;
        unknown[header::BYTES] = 200;
        assert_eq!(Reject::read(&unknown), None);
    }
}
