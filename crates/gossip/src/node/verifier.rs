//! What a node signs with, and how much it verifies in a unit (`signing.rs`).

use std::collections::BTreeMap;

use crate::entry::NodeId;
use crate::signature::{PublicKey, Signer};
use crate::signed::Claim;
use crate::wire::window::WireEntry;

/// Entries that are verified in a unit at most: so many, and [`VERIFIED_EACH`] of each member.
const VERIFIED_LEAST: usize = 256;
const VERIFIED_EACH: usize = 4;

/// What a node signs with, and whose signatures it knows.
pub(super) struct Signing {
    pub(super) signer: Signer,
    /// The public keys of the members; `None`: signatures of others are not looked at.
    pub(super) known: Option<BTreeMap<NodeId, PublicKey>>,
    pub(super) cluster: [u8; 32],
    /// Entries that may still be verified in this unit.
    left: usize,
    /// The own payload as it was signed last.
    pub(super) payload: Vec<u8>,
    pub(super) buffer: Vec<u8>,
}

impl Signing {
    /// With room for payloads of so many bytes.
    pub(super) fn of(
        signer: Signer,
        known: Option<BTreeMap<NodeId, PublicKey>>,
        cluster: [u8; 32],
        room: usize,
    ) -> Self {
        let (payload, buffer) = (Vec::with_capacity(room), Vec::with_capacity(room + 64));
        Self { signer, known, cluster, left: VERIFIED_LEAST, payload, buffer }
    }

    /// A unit begins among so many members.
    pub(super) fn begin_round(&mut self, members: usize) {
        self.left = VERIFIED_LEAST + VERIFIED_EACH * members;
    }

    /// Whether its origin has signed an entry, as far as that may be looked into in this unit.
    pub(super) fn holds(&mut self, entry: &WireEntry<'_>) -> bool {
        let key = self.known.as_ref().and_then(|known| known.get(&entry.id));
        let Some(key) = key.filter(|_| self.left > 0) else { return false };
        self.left -= 1;
        let claim = Claim { cluster: self.cluster, id: entry.id, stamp: entry.stamp };
        claim.is_signed(key, entry.payload, &mut self.buffer)
    }
}
