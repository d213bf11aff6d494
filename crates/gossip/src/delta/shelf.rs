//! A shelf: what a receiver keeps of others so that changes tell it what they say.
//!
//! Of each origin it keeps the newest entry that it was told, that entry's base, and the base that
//! it had before. It is what a vector has to keep besides, without ages: laws and fuzzing hold the
//! format to it.
//!
//! Invariants: memory is taken at construction; a stamp never decreases; a payload is what its
//! origin said under that stamp, or the stamp is not taken.

use super::bases::{Base, Bases, Name};
use super::reader::Said;
use crate::entry::{NodeId, Stamp};

/// Payloads of a place.
const PARTS: usize = 3;

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

/// An origin's newest entry, its base, and the base before.
#[derive(Clone, Copy, Debug)]
struct Slot {
    stamp: Stamp,
    base: Name,
    before: Option<Name>,
    /// Which part of the bytes is its own.
    place: usize,
}

/// Entries and their bases, by origin.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// By ascending id.
    slots: Vec<Slot>,
    /// For each place the payload, that of the base, and that of the base before.
    bytes: Vec<u8>,
    payload_bytes: usize,
    capacity: usize,
}

impl Shelf {
    /// Room for so many origins, with payloads of so many bytes.
    pub fn new(capacity: usize, payload_bytes: usize) -> Self {
        let bytes = vec![0; PARTS * capacity * payload_bytes];
        Self { slots: Vec::with_capacity(capacity), bytes, payload_bytes, capacity }
    }

    /// The newest entry of an origin.
    pub fn get(&self, id: NodeId) -> Option<(Stamp, &[u8])> {
        let slot = &self.slots[self.find(id).ok()?];
        Some((slot.stamp, self.part(slot, 0)))
    }

    /// The base that was held of an origin before the present one.
    pub fn base_before(&self, id: NodeId) -> Option<Base<'_>> {
        let slot = &self.slots[self.find(id).ok()?];
        slot.before.map(|name| Base { name, payload: self.part(slot, 2) })
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
                let place = self.slots.len();
                let slot = Slot { stamp: said.stamp, base: name, before: None, place };
                self.slots.insert(at, slot);
                at
            }
        };
        let slot = &mut self.slots[at];
        let bytes = self.payload_bytes;
        let start = PARTS * slot.place * bytes;
        let (held, bases) = self.bytes[start..start + PARTS * bytes].split_at_mut(bytes);
        let (base, before) = bases.split_at_mut(bytes);
        put(held, payload);
        if slot.base != name {
            slot.before = Some(slot.base).filter(|base| base.incarnation == name.incarnation);
            before.copy_from_slice(base);
        }
        if let Some(sent) = said.base {
            put(base, sent);
        }
        (slot.stamp, slot.base) = (said.stamp, name);
        Taken::News
    }

    fn part(&self, slot: &Slot, part: usize) -> &[u8] {
        let start = (PARTS * slot.place + part) * self.payload_bytes;
        &self.bytes[start..start + self.payload_bytes]
    }

    fn find(&self, id: NodeId) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&id, |slot| slot.base.id)
    }

    fn base_at(&self, at: usize) -> Option<Base<'_>> {
        let slot = self.slots.get(at)?;
        Some(Base { name: slot.base, payload: self.part(slot, 1) })
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
