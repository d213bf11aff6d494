//! Where bases lie: a stamp and a payload a slot, taken at construction.

use crate::entry::Stamp;

/// Bytes of memory that a base takes beside its payload.
pub(crate) const BASE_BYTES: usize = size_of::<Option<Stamp>>();

/// One base a slot, or none.
pub(super) struct BaseStore {
    stamps: Vec<Option<Stamp>>,
    payloads: Vec<u8>,
    payload_bytes: usize,
}

impl BaseStore {
    pub(super) fn new(capacity: usize, payload_bytes: usize) -> Self {
        let payloads = vec![0; capacity * payload_bytes];
        Self { stamps: vec![None; capacity], payloads, payload_bytes }
    }

    /// Which entry of its origin the base in a slot is.
    pub(super) fn stamp(&self, slot: u32) -> Option<Stamp> {
        self.stamps[slot as usize]
    }

    /// Another origin has the slot.
    pub(super) fn forget(&mut self, slot: u32) {
        self.stamps[slot as usize] = None;
    }

    pub(super) fn put(&mut self, slot: u32, stamp: Stamp, payload: &[u8]) {
        let start = slot as usize * self.payload_bytes;
        let room = &mut self.payloads[start..start + self.payload_bytes];
        let filled = payload.len().min(room.len());
        room[..filled].copy_from_slice(&payload[..filled]);
        room[filled..].fill(0);
        self.stamps[slot as usize] = Some(stamp);
    }

    /// What the base in a slot says.
    pub(super) fn payload(&self, slot: u32) -> &[u8] {
        let start = slot as usize * self.payload_bytes;
        &self.payloads[start..start + self.payload_bytes]
    }
}
