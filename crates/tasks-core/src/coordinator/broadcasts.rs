//! The large blobs that are copied: who has each, as far as it is known.
//!
//! What is known of a blob is forgotten when others are asked for and nobody copies it; whoever
//! asks for it then begins with its owner again.

use std::collections::BTreeMap;

use crate::broadcast::Broadcast;
use crate::message::{Call, Peer};

/// Blobs of which it is known who has them.
const MAX_BLOBS: usize = 1_024;

/// All that have them, some 100 bytes each.
const MAX_OWNERS: usize = 65_536;

/// What names a blob: SHA-256 of its bytes.
pub(super) type Hash = [u8; 32];

/// The blobs that are copied.
#[derive(Debug, Default)]
pub(super) struct Broadcasts {
    by_hash: BTreeMap<Hash, Known>,
    turn: u64,
}

#[derive(Debug, Default)]
struct Known {
    broadcast: Broadcast,
    /// When it was last asked for.
    turn: u64,
}

impl Broadcasts {
    /// What is known of a blob.
    pub(super) fn get(&mut self, hash: &Hash) -> Option<&mut Broadcast> {
        self.by_hash.get_mut(hash).map(|known| &mut known.broadcast)
    }

    /// A blob that is asked for; none if too many are copied.
    pub(super) fn of(&mut self, hash: Hash) -> Option<&mut Broadcast> {
        self.turn += 1;
        if !self.by_hash.contains_key(&hash) {
            self.make_room();
            if self.by_hash.len() == MAX_BLOBS {
                return None;
            }
        }
        let known = self.by_hash.entry(hash).or_default();
        known.turn = self.turn;
        Some(&mut known.broadcast)
    }

    fn make_room(&mut self) {
        let owners = |all: &BTreeMap<Hash, Known>| {
            all.values().map(|known| known.broadcast.owners()).sum::<usize>()
        };
        while self.by_hash.len() == MAX_BLOBS || owners(&self.by_hash) > MAX_OWNERS {
            let idle = self.by_hash.iter().filter(|(_, known)| known.broadcast.is_idle());
            let Some((hash, _)) = idle.min_by_key(|(_, known)| known.turn) else { return };
            let hash = *hash;
            self.by_hash.remove(&hash);
        }
    }

    /// All blobs.
    pub(super) fn hashes(&self) -> Vec<Hash> {
        self.by_hash.keys().copied().collect()
    }

    /// A connection has closed.
    pub(super) fn forget(&mut self, peer: Peer) {
        self.all().for_each(|broadcast| broadcast.forget(peer));
    }

    /// A session goes on with another peer.
    pub(super) fn hand_over(&mut self, from: Peer, to: Peer) {
        self.all().for_each(|broadcast| broadcast.hand_over(from, to));
    }

    /// Takes out who waits.
    pub(super) fn take_waiting(&mut self) -> Vec<(Peer, Call)> {
        let waiting = self.all().flat_map(Broadcast::take_waiting);
        waiting.map(|asker| (asker.peer, asker.call)).collect()
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Broadcast> {
        self.by_hash.values_mut().map(|known| &mut known.broadcast)
    }
}
