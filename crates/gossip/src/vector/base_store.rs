//! Where bases lie: of each slot the present one and the one before, taken at construction.
//!
//! The two change places when a base is put, so that nothing is copied but what is new.

use core::ops::Range;

use crate::entry::Stamp;

/// Bases of a slot.
pub(crate) const BASES: usize = 2;
/// Bytes of memory that the bases of a slot take beside their payloads.
pub(crate) const SLOT_BYTES: usize = size_of::<Slot>();

/// What is known of the bases of a slot.
#[derive(Clone, Copy, Default)]
struct Slot {
    stamps: [Option<Stamp>; BASES],
    /// Which of them is the present one.
    present: bool,
}

/// Which base of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Present,
    Before,
}

/// The bases of each slot, as far as it has any.
pub(super) struct BaseStore {
    slots: Vec<Slot>,
    payloads: Vec<u8>,
    payload_bytes: usize,
}

impl Slot {
    fn at(self, which: Which) -> usize {
        usize::from(self.present ^ (which == Which::Before))
    }
}

impl BaseStore {
    pub(super) fn new(capacity: usize, payload_bytes: usize) -> Self {
        let payloads = vec![0; BASES * capacity * payload_bytes];
        Self { slots: vec![Slot::default(); capacity], payloads, payload_bytes }
    }

    /// Which entry of its origin a base in a slot is.
    pub(super) fn stamp(&self, slot: u32, which: Which) -> Option<Stamp> {
        let slot = self.slots[slot as usize];
        slot.stamps[slot.at(which)]
    }

    /// Another origin has the slot.
    pub(super) fn forget(&mut self, slot: u32) {
        self.slots[slot as usize] = Slot::default();
    }

    /// Makes an entry the present base, and that the one before.
    pub(super) fn put(&mut self, slot: u32, stamp: Stamp, payload: &[u8]) {
        let known = &mut self.slots[slot as usize];
        known.present = !known.present;
        known.stamps[known.at(Which::Present)] = Some(stamp);
        let range = self.range(slot, Which::Present);
        let room = &mut self.payloads[range];
        let filled = payload.len().min(room.len());
        room[..filled].copy_from_slice(&payload[..filled]);
        room[filled..].fill(0);
    }

    /// What a base in a slot says.
    pub(super) fn payload(&self, slot: u32, which: Which) -> &[u8] {
        &self.payloads[self.range(slot, which)]
    }

    fn range(&self, slot: u32, which: Which) -> Range<usize> {
        let place = BASES * slot as usize + self.slots[slot as usize].at(which);
        place * self.payload_bytes..(place + 1) * self.payload_bytes
    }
}
