//! Names of aggregates, by which sender and receiver of a change know that they mean one base.
//!
//! A name is made of the bytes, so that nobody has to give it out. Names of all bases of a datagram
//! are told together, in a digest of eight bytes: two aggregates of one name, or names of one
//! digest, are not met by chance, and nobody without the key makes any.

use sha2::{Digest as _, Sha256};
use tidings_primitives::chance::mix;

use super::id::ColonyId;

/// Bytes of a name, and of a digest of names.
pub(crate) const NAME_BYTES: usize = 8;
/// What names and digests begin with, so that they are of nothing else.
const NAME_OF: &[u8] = b"tidings aggregate 1 ";
const DIGEST_OF: &[u8] = b"tidings aggregates 1 ";

/// What an aggregate of a colony is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Name([u8; NAME_BYTES]);

impl Name {
    /// The name of the aggregate with these bytes.
    pub(crate) fn of(colony: ColonyId, aggregate: &[u8]) -> Self {
        let named = Sha256::new_with_prefix(NAME_OF).chain_update(colony.0.to_le_bytes());
        Self(first_bytes(named.chain_update(aggregate)))
    }

    /// Eight bits of it, never 0: under one salt another aggregate has the same once in 255 times.
    pub(crate) fn mark(self, salt: u8) -> u8 {
        let mixed = mix(u64::from_le_bytes(self.0) ^ u64::from(salt) << 56);
        1 + (mixed % 255) as u8
    }
}

/// Several names in eight bytes.
#[derive(Clone)]
pub(crate) struct Names(Sha256);

impl Names {
    pub(crate) fn new() -> Self {
        Self(Sha256::new_with_prefix(DIGEST_OF))
    }

    /// Adds a name, in the order in which colonies lie in the datagram.
    pub(crate) fn add(&mut self, name: Name) {
        self.0.update(name.0);
    }

    pub(crate) fn finish(self) -> [u8; NAME_BYTES] {
        first_bytes(self.0)
    }
}

fn first_bytes(hash: Sha256) -> [u8; NAME_BYTES] {
    let digest: [u8; 32] = hash.finalize().into();
    digest.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_digests_tell_aggregates_and_colonies_apart() {
        let name = |colony, byte| Name::of(ColonyId(colony), &[1, byte]);
        assert_eq!(name(1, 2), name(1, 2));
        assert!(name(1, 2) != name(2, 2) && name(1, 2) != name(1, 3));
        let digest = |names: &[Name]| {
            let mut digest = Names::new();
            for &name in names {
                digest.add(name);
            }
            digest.finish()
        };
        let (one, other) = (name(1, 2), name(2, 2));
        assert_eq!(digest(&[one, other]), digest(&[one, other]));
        assert!(digest(&[one]) != digest(&[other]) && digest(&[one, other]) != digest(&[one]));
        let same = (0..255).find(|&byte| name(1, byte).mark(3) == one.mark(3) && byte != 2);
        if let Some(byte) = same {
            let apart = (4..40).filter(|&salt| name(1, byte).mark(salt) != one.mark(salt)).count();
            assert!(apart > 30, "{apart}: another salt tells them apart");
        }
        assert!((0..=255).all(|salt| one.mark(salt) > 0));
    }
}
