//! Nonces: what makes every seal under one key another.
//!
//! A nonce never repeats under one key, because a sender counts what it seals, a life of a sender
//! has an incarnation and draws a salt, and senders differ.
//!
//! | bytes | field |
//! |---|---|
//! | 0–3 | group: who is to read the frame |
//! | 4–7 | node id of the sender |
//! | 8–10 | incarnation of the sender |
//! | 11 | key id |
//! | 12–17 | salt: random, drawn once in a sender's life |
//! | 18–23 | counter: 1 for the first frame sealed in that life, then one more each |

use crate::id::{Incarnation, NodeId};

/// Bytes of a nonce.
pub const BYTES: usize = 24;
/// Where in a nonce the key id lies.
pub const KEY_ID_AT: usize = 11;
/// The largest salt and counter: 48 bits.
pub const MAX_48: u64 = (1 << 48) - 1;

/// The fields of a nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonce {
    /// Who is to read the frame.
    pub group: u32,
    /// The sender's id.
    pub sender: NodeId,
    /// The sender's present incarnation.
    pub incarnation: Incarnation,
    /// Which key sealed the frame.
    pub key_id: u8,
    /// Random number of the sender's life; 48 bits.
    pub salt: u64,
    /// Number of the frame in that life; 48 bits.
    pub counter: u64,
}

impl Nonce {
    /// Its bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&self.group.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sender.0.to_le_bytes());
        bytes[8..11].copy_from_slice(&self.incarnation.get().to_le_bytes()[..3]);
        bytes[KEY_ID_AT] = self.key_id;
        bytes[12..18].copy_from_slice(&self.salt.to_le_bytes()[..6]);
        bytes[18..].copy_from_slice(&self.counter.to_le_bytes()[..6]);
        bytes
    }

    /// The fields in the bytes; every pattern has some.
    #[inline]
    pub fn from_bytes(bytes: [u8; BYTES]) -> Self {
        let [g0, g1, g2, g3, s0, s1, s2, s3, i0, i1, i2, key_id, rest @ ..] = bytes;
        let [a0, a1, a2, a3, a4, a5, c0, c1, c2, c3, c4, c5] = rest;
        Self {
            group: u32::from_le_bytes([g0, g1, g2, g3]),
            sender: NodeId(u32::from_le_bytes([s0, s1, s2, s3])),
            incarnation: Incarnation::new(u32::from_le_bytes([i0, i1, i2, 0])),
            key_id,
            salt: u64::from_le_bytes([a0, a1, a2, a3, a4, a5, 0, 0]),
            counter: u64::from_le_bytes([c0, c1, c2, c3, c4, c5, 0, 0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_own_bytes() {
        let nonce = Nonce {
            group: 0x0403_0201,
            sender: NodeId(0x0807_0605),
            incarnation: Incarnation::new(0x000B_0A09),
            key_id: 12,
            salt: 0x1211_100F_0E0D,
            counter: 0x1817_1615_1413,
        };
        assert!(nonce.to_bytes().into_iter().eq(1..=24));
        assert_eq!(Nonce::from_bytes(nonce.to_bytes()), nonce);
    }
}
