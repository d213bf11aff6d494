//! Identifiers: which node, and which life of it.
//!
//! A node raises its incarnation whenever it restarts, so what an earlier life has said or begun
//! can be distinguished from what the present one does.

use sha2::{Digest, Sha256};

/// A node's identity on the wire: 32 bits derived from its name.
///
/// Every node derives the same id from the same name, so nobody hands ids out and the order of
/// a roster means nothing. Two names may collide (0.8 % of all rosters of 8,192 names); a roster
/// with a collision is refused with a salt that avoids it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The id of the node called `name`: the first four bytes (little endian) of
    /// SHA-256(salt as four bytes little endian ‖ name).
    pub fn of_name(name: &str, salt: u32) -> Self {
        let digest = Sha256::new().chain_update(salt.to_le_bytes()).chain_update(name).finalize();
        Self(u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]))
    }
}

/// Which life of a node: 24 bits, larger is later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Incarnation(u32);

impl Incarnation {
    /// The last incarnation there is.
    pub const MAX: Self = Self((1 << 24) - 1);

    /// The incarnation numbered `value`, saturating at [`Incarnation::MAX`].
    #[inline]
    pub const fn new(value: u32) -> Self {
        Self(if value > Self::MAX.0 { Self::MAX.0 } else { value })
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The incarnation after this one; `None` after the last.
    #[inline]
    pub const fn next(self) -> Option<Self> {
        if self.0 < Self::MAX.0 { Some(Self(self.0 + 1)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_names_and_salt() {
        assert_eq!(NodeId::of_name("n1", 0), NodeId::of_name("n1", 0));
        assert_ne!(NodeId::of_name("n1", 0), NodeId::of_name("n2", 0));
        assert_ne!(NodeId::of_name("n1", 0), NodeId::of_name("n1", 1));
    }
}
