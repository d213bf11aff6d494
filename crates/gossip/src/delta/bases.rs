//! Bases: what a receiver has to hold so that a change tells it a payload.
//!
//! A *base* is an entry that its origin has chosen for others to measure its later entries by. It
//! is named by origin, incarnation and sequence, so nobody can mean another one by that name. Of
//! each origin a receiver holds one: the base of the entry that it holds. One is enough, since an
//! origin measures by its newest base only: an entry by an older base is older than the newer base,
//! and so than any entry by it.

use sha2::{Digest as _, Sha256};

pub use crate::base::{Base, Name};
use crate::entry::NodeId;

/// What a digest begins with, so that it is of nothing else.
const DIGEST_OF: &[u8] = b"tidings bases 1 ";

/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 8;

/// Bytes of a name: id 4, incarnation 3, sequence 3.
const NAME_BYTES: usize = 10;

/// Where a receiver holds bases.
pub trait Bases {
    /// That of an origin.
    fn base(&self, id: NodeId) -> Option<Base<'_>>;

    /// That of the first origin whose id is not below `id`.
    fn base_from(&self, id: NodeId) -> Option<Base<'_>>;
}

/// The names of several bases in eight bytes: sender and receiver mean the same ones if their
/// digests are equal.
#[derive(Clone, Default)]
pub(super) struct Digest(Sha256);

impl Digest {
    pub(super) fn new() -> Self {
        Self(Sha256::new_with_prefix(DIGEST_OF))
    }

    /// Adds a name. Names ascend by id.
    pub(super) fn add(&mut self, name: Name) {
        let bits = u128::from(name.id.0)
            | u128::from(name.incarnation.get()) << 32
            | u128::from(name.sequence & 0xFF_FFFF) << 56;
        self.0.update(&bits.to_le_bytes()[..NAME_BYTES]);
    }

    pub(super) fn finish(self) -> [u8; DIGEST_BYTES] {
        let digest: [u8; 32] = self.0.finalize().into();
        digest.first_chunk().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Incarnation;

    #[test]
    fn a_digest_tells_names_apart() {
        let of = |names: &[(u32, u32, u32)]| {
            let mut digest = Digest::new();
            for &(id, life, sequence) in names {
                let incarnation = Incarnation::new(life);
                digest.add(Name { id: NodeId(id), incarnation, sequence });
            }
            digest.finish()
        };
        let same = of(&[(1, 2, 3), (4, 5, 6)]);
        assert_eq!(same, of(&[(1, 2, 3), (4, 5, 6)]));
        for other in [&[(1, 2, 3)][..], &[(1, 3, 3), (4, 5, 6)], &[(1, 2, 3), (4, 5, 7)]] {
            assert_ne!(same, of(other), "{other:?}");
        }
    }
}
