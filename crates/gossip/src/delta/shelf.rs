//! A shelf: what a receiver keeps of others so that changes tell it what they say.
//!
//! Of each origin it keeps the newest entry that it was told, and that entry's base. It is what a
//! vector has to keep besides, without ages: laws and fuzzing hold the format to it.
//!
//! Invariants: memory is taken at construction; a stamp never decreases; a payload is what its
//! origin said under that stamp, or the stamp is not taken.

use super::bases::{Base, Bases, Name};
use super::reader::Said;
use crate::entry::{NodeId, Stamp};

/// What became of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It is newer than what was held.
    News,
    /// It is not.
    Stale,
    /// There is no room for another origin.
    Full,
}

/// An origin's newest entry, and its base.
#[derive(Clone, Copy, Debug)]
struct Slot {
    stamp: Stamp,
    base: Name,
    /// Which part of the bytes is its own.
    place: usize,
}

/// Entries and their bases, by origin.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// By ascending id.
    slots: Vec<Slot>,
    /// For each place the payload and that of the base.
    bytes: Vec<u8>,
    payload_bytes: usize,
    capacity: usize,
}

impl Shelf {
    /// Room for so many origins, with payloads of so many bytes.
    pub fn new(capacity: usize, payload_bytes: usize) -> Self {
        let bytes = vec![0; 2 * capacity * payload_bytes];
        Self { slots: Vec::with_capacity(capacity), bytes, payload_bytes, capacity }
    }

    /// The newest entry of an origin.
    pub fn get(&self, id: NodeId) -> Option<(Stamp, &[u8])> {
        let slot = self.slots[self.find(id).ok()?];
        let at = 2 * slot.place * self.payload_bytes;
        Some((slot.stamp, &self.bytes[at..at + self.payload_bytes]))
    }

    /// Takes an entry whose payload has at most the bytes that there is room for.
    pub fn take(&mut self, said: &Said<'_>, payload: &[u8]) -> Taken {
        let name = Name {
            id: said.id,
            incarnation: said.stamp.incarnation(),
            sequence: said.base_sequence,
        };
        let at = match self.find(said.id) {
            Ok(at) if said.stamp <= self.slots[at].stamp => return Taken::Stale,
            Ok(at) => at,
            Err(_) if self.slots.len() == self.capacity => return Taken::Full,
            Err(at) => {
                let slot = Slot { stamp: said.stamp, base: name, place: self.slots.len() };
                self.slots.insert(at, slot);
                at
            }
        };
        let slot = &mut self.slots[at];
        (slot.stamp, slot.base) = (said.stamp, name);
        let start = 2 * slot.place * self.payload_bytes;
        let (held, base) =
            self.bytes[start..start + 2 * self.payload_bytes].split_at_mut(self.payload_bytes);
        put(held, payload);
        if let Some(sent) = said.base {
            put(base, sent);
        }
        Taken::News
    }

    fn find(&self, id: NodeId) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&id, |slot| slot.base.id)
    }

    fn base_at(&self, at: usize) -> Option<Base<'_>> {
        let slot = self.slots.get(at)?;
        let start = (2 * slot.place + 1) * self.payload_bytes;
        Some(Base { name: slot.base, payload: &self.bytes[start..start + self.payload_bytes] })
    }
}

impl Bases for Shelf {
    fn base(&self, id: NodeId) -> Option<Base<'_>> {
        self.base_at(self.find(id).ok()?)
    }

    fn base_from(&self, id: NodeId) -> Option<Base<'_>> {
        self.base_at(self.find(id).unwrap_or_else(|at| at))
    }
}

fn put(room: &mut [u8], bytes: &[u8]) {
    room[..bytes.len()].copy_from_slice(bytes);
    room[bytes.len()..].fill(0);
}
