//! Bases: entries that their origins have chosen for others to measure later ones by.
//!
//! What they are for is in [`delta`](crate::delta).

use tidings_primitives::chance::mix;

use crate::entry::{Incarnation, NodeId};

/// The bits of a sequence that a mark counts.
const LAST_BITS: u64 = 127;

/// What a base is called: nobody but its origin makes one, and no two by one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// Whose it is.
    pub id: NodeId,
    /// The life of that node.
    pub incarnation: Incarnation,
    /// Its sequence.
    pub sequence: u32,
}

impl Name {
    /// Eight bits of it, never 0. Names of one life whose sequences are alike but for the last
    /// seven bits have marks of their own, so a base is not taken for the one before. Any other two
    /// have one mark under one salt in 255, so whoever relies on marks checks by a digest and takes
    /// another salt the next time.
    pub(crate) fn mark(self, salt: u8) -> u8 {
        let stamp = u64::from(self.incarnation.get()) << 24 | u64::from(self.sequence);
        let block = stamp & !LAST_BITS;
        let mixed = mix(block ^ u64::from(salt) << 56 ^ u64::from(self.id.0).rotate_left(40));
        1 + ((mixed % 255 + (stamp & LAST_BITS)) % 255) as u8
    }
}

/// A base that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Base<'a> {
    /// What it is called.
    pub name: Name,
    /// What it says; zeros follow.
    pub payload: &'a [u8],
}

impl Base<'_> {
    /// What it says, in exactly the bytes of `out`; `false` if it says more.
    pub(crate) fn copy_to(&self, out: &mut [u8]) -> bool {
        let bytes = self.payload.len().min(out.len());
        out[..bytes].copy_from_slice(&self.payload[..bytes]);
        out[bytes..].fill(0);
        self.payload[bytes..].iter().all(|&byte| byte == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_that_says_more_than_there_is_room_for_is_not_cut() {
        let name = Name { id: NodeId(1), incarnation: Incarnation::new(2), sequence: 3 };
        let base = |payload| Base { name, payload };
        let mut out = [9; 4];
        assert!(base(&[1, 2]).copy_to(&mut out));
        assert_eq!(out, [1, 2, 0, 0]);
        assert!(base(&[1, 2, 3, 4, 0]).copy_to(&mut out));
        assert!(!base(&[1, 2, 3, 4, 5]).copy_to(&mut out));
    }
}
