//! The header: 28 bytes in clear that say what a datagram is, and from whom.
//!
//! | bytes | field |
//! |---|---|
//! | 0–1 | magic `54 67` |
//! | 2 | version of the format, 1 to 3 |
//! | 3 | kind: 1 window, 2 ask, 3 answer, 4 pull, 9 probe, 10 proof, 11 check, 12 what answers it; 5 to 8 between colonies; 13 reject |
//! | 4–7 | cluster: first bytes of SHA-256 of its name; within a colony its number is added |
//! | 8–11 | node id of the sender |
//! | 12–14 | incarnation of the sender |
//! | 15 | key id |
//! | 16–21 | salt: random, drawn once in a sender's life |
//! | 22–27 | counter: 1 for the first datagram sealed in that life, then one more each |
//!
//! Bytes 4 to 27 are the [nonce](tidings_primitives::nonce) of the seal, which never repeats under
//! one key.

use sha2::{Digest, Sha256};
pub use tidings_primitives::nonce::MAX_48;
use tidings_primitives::nonce::Nonce;
use tidings_primitives::seal::{HEAD_BYTES, NONCE_AT};

use crate::entry::{Incarnation, NodeId};

/// Bytes of a header: the head of a sealed frame.
pub const BYTES: usize = HEAD_BYTES;
/// What every datagram begins with.
pub const MAGIC: [u8; 2] = *b"Tg";
/// The lowest version of the format that this code reads and writes.
pub const LOWEST_VERSION: u8 = 1;
/// The highest version of the format that this code reads and writes.
pub const HIGHEST_VERSION: u8 = 3;
/// The version whose windows have [changes by bases](crate::delta), and whose pulls say which bases
/// there are. It is sent to members that have said they read it, and to nobody else.
pub const CHANGES_VERSION: u8 = 3;

/// What the body is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A piece of a window.
    Window = 1,
    /// A request for members and entries.
    Ask = 2,
    /// The answer to one.
    Answer = 3,
    /// A request for a window of given ids.
    Pull = 4,
    /// A question what another colony is like.
    Call = 5,
    /// The answer to one: that colony's aggregate.
    Reply = 6,
    /// A question for entries of another colony's vector.
    Visit = 7,
    /// The answer to one.
    Slice = 8,
    /// A question whether a member lives.
    Probe = 9,
    /// The answer to one.
    Proof = 10,
    /// A question whether datagrams pass, outside of membership.
    Check = 11,
    /// The answer to one.
    Checked = 12,
    /// Why a datagram was dropped; it is not sealed, and has no header of this form.
    Reject = 13,
}

impl Kind {
    /// Whether it passes between colonies.
    pub fn is_foreign(self) -> bool {
        matches!(self, Self::Call | Self::Reply | Self::Visit | Self::Slice)
    }
}

/// A parsed header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The version of the format, one that this code reads.
    pub version: u8,
    /// What the body is.
    pub kind: Kind,
    /// Which cluster, see [`cluster_hash`]; within a colony its number is added.
    pub cluster: u32,
    /// The sender's id.
    pub sender: NodeId,
    /// The sender's present incarnation.
    pub incarnation: Incarnation,
    /// Which key sealed the body.
    pub key_id: u8,
    /// Random number of the sender's life; 48 bits.
    pub salt: u64,
    /// Number of the datagram in that life; 48 bits.
    pub counter: u64,
}

/// Why bytes are no header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderError {
    /// Too short, or no magic: not a datagram of this protocol.
    Foreign,
    /// A version this code does not speak.
    Version(u8),
    /// A kind that this version does not have.
    Kind(u8),
}

/// The number a cluster goes by: the first four bytes, little endian, of SHA-256 of its name.
pub fn cluster_hash(name: &str) -> u32 {
    let digest = Sha256::digest(name);
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

impl Header {
    /// The header's bytes.
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..2].copy_from_slice(&MAGIC);
        bytes[2] = self.version;
        bytes[3] = self.kind as u8;
        let nonce = Nonce {
            group: self.cluster,
            sender: self.sender,
            incarnation: self.incarnation,
            key_id: self.key_id,
            salt: self.salt,
            counter: self.counter,
        };
        bytes[NONCE_AT..].copy_from_slice(&nonce.to_bytes());
        bytes
    }

    /// Reads the header of a datagram; what it says is not authentic until the body is opened.
    ///
    /// # Errors
    /// If the datagram is of another protocol, version or kind.
    pub fn parse(datagram: &[u8]) -> Result<Self, HeaderError> {
        let bytes: &[u8; BYTES] = datagram.first_chunk().ok_or(HeaderError::Foreign)?;
        if bytes[..2] != MAGIC {
            return Err(HeaderError::Foreign);
        }
        let version = bytes[2];
        if !(LOWEST_VERSION..=HIGHEST_VERSION).contains(&version) {
            return Err(HeaderError::Version(version));
        }
        let kind = match bytes[3] {
            1 => Kind::Window,
            2 => Kind::Ask,
            3 => Kind::Answer,
            4 => Kind::Pull,
            5 => Kind::Call,
            6 => Kind::Reply,
            7 => Kind::Visit,
            8 => Kind::Slice,
            9 => Kind::Probe,
            10 => Kind::Proof,
            11 => Kind::Check,
            12 => Kind::Checked,
            other => return Err(HeaderError::Kind(other)),
        };
        let [_, _, _, _, nonce @ ..] = *bytes;
        let Nonce { group: cluster, sender, incarnation, key_id, salt, counter } =
            Nonce::from_bytes(nonce);
        Ok(Self { version, kind, cluster, sender, incarnation, key_id, salt, counter })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_the_round_trip() {
        let header = Header {
            version: HIGHEST_VERSION,
            kind: Kind::Ask,
            cluster: 0xA1B2_C3D4,
            sender: NodeId(0x0102_0304),
            incarnation: Incarnation::new(0x00AB_CDEF),
            key_id: 200,
            salt: 0x1122_3344_5566,
            counter: MAX_48,
        };
        assert_eq!(Header::parse(&header.to_bytes()), Ok(header));
    }

    #[test]
    fn what_is_no_header_is_said_to_be_none() {
        assert_eq!(Header::parse(b"Tg\x01"), Err(HeaderError::Foreign));
        assert_eq!(Header::parse(&[0; BYTES]), Err(HeaderError::Foreign));
        let mut bytes = [0; BYTES];
        bytes[..2].copy_from_slice(&MAGIC);
        for version in [0, LOWEST_VERSION - 1, HIGHEST_VERSION + 1, 255] {
            bytes[2] = version;
            assert_eq!(Header::parse(&bytes), Err(HeaderError::Version(version)));
        }
        for version in [LOWEST_VERSION, HIGHEST_VERSION] {
            bytes[2] = version;
            bytes[3] = 14;
            assert_eq!(Header::parse(&bytes), Err(HeaderError::Kind(14)));
        }
    }
}
