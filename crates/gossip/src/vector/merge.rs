//! Merging: taking from what arrives all that is newer than what is held.
//!
//! An entry is taken if its stamp is larger than that of the held entry about the same origin, or
//! if none is held. Stamps of one origin are totally ordered and made by nobody else, so merging is
//! the join of a semilattice: idempotent, commutative, associative and monotone. Datagrams may be
//! lost, doubled and reordered; none of it lowers what is known. Each entry costs a constant number
//! of steps: a look-up, a comparison, a copy, a move in the calendar.

use tidings_primitives::time::Instant;

use super::last::Last;
use super::{Meta, OWN, Vector};
use crate::entry::{NodeId, Stamp};
use crate::wire::window::WireEntries;

/// What became of a received entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merged {
    /// Taken: the first about its origin, or the first since it was forgotten or evicted.
    First,
    /// Taken: newer than the held one, whose stamp this was.
    News(Stamp),
    /// Not newer than what is held; nothing changed.
    Stale,
    /// News of a life that is held as dead, made after its death; nothing changed.
    Outlives,
    /// About the node itself; nothing changed.
    Own,
    /// The same datagram already spoke of this origin; nothing changed.
    Repeated,
    /// The origin is no member; nothing changed.
    Unknown,
    /// The vector is full of newer entries; nothing changed.
    TooOld,
}

/// An entry as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The number of the datagram that it came in; not 0.
    pub datagram: u32,
    /// The node it is about.
    pub id: NodeId,
    /// How new it is.
    pub stamp: Stamp,
    /// When it was made: its arrival less its age.
    pub birth: Instant,
    /// What the origin says of itself; as long as the cluster's payloads are.
    pub payload: &'a [u8],
}

/// An entry that made room for a newer one in a bounded vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted {
    /// The node it was about.
    pub id: NodeId,
    /// How new it was.
    pub stamp: Stamp,
    /// When it was made.
    pub birth: Instant,
}

/// Entries that are looked up together before they are merged.
const BATCH: usize = 16;

impl Vector {
    /// To be called before the entry numbered `at` of a datagram is merged, with an iterator that
    /// stands at that entry: looks up a batch of entries whenever the last has been used up.
    ///
    /// Entries lie all over the memory of a large vector. Looked up together, the processor waits
    /// for many of them at once instead of for one after the other.
    #[inline]
    pub fn look_ahead(&self, at: usize, ahead: &mut WireEntries<'_>) {
        if at % BATCH == 0 {
            let slots = ahead.take(BATCH).filter_map(|entry| self.table.get(entry.id));
            let read = slots.fold(0, |sum, slot| sum ^ self.meta[slot as usize].spoken_of);
            // What was read does not matter; that it was read does.
            core::hint::black_box(read);
        }
    }

    /// Merges one received entry.
    ///
    /// `is_member` says whether an origin may be taken in, and is asked only about those not held.
    #[inline]
    pub fn merge(
        &mut self,
        arrival: &Arrival<'_>,
        is_member: impl FnOnce(NodeId) -> bool,
    ) -> (Merged, Option<Evicted>) {
        let Arrival { datagram, id, stamp, birth, payload } = *arrival;
        let Some(slot) = self.table.get(id) else {
            let meta = Meta::new(id, datagram, stamp, birth.min(self.now));
            return self.merge_first(meta, payload, is_member);
        };
        if slot == OWN {
            return (Merged::Own, None);
        }
        let meta = &mut self.meta[slot as usize];
        if core::mem::replace(&mut meta.spoken_of, datagram) == datagram {
            return (Merged::Repeated, None);
        }
        let held = meta.stamp;
        if stamp <= held {
            let same = held.is_dead() && held.incarnation() == stamp.incarnation();
            let outlives = same && !stamp.is_dead() && birth > meta.birth;
            return (if outlives { Merged::Outlives } else { Merged::Stale }, None);
        }
        let is_same_life = stamp.incarnation() == held.incarnation();
        if stamp.is_last() && is_same_life {
            self.end(slot, stamp, birth.min(self.now));
            return (Merged::News(held), None);
        }
        // A later life, and what comes after a farewell, say nothing of habits.
        if is_same_life {
            let peak = self.age_steps(self.meta[slot as usize].birth);
            self.meta[slot as usize].silence.note(peak);
        }
        if stamp.is_last() {
            self.last[slot as usize] = Last::default();
        }
        self.renew(slot, stamp, birth.min(self.now), payload);
        (Merged::News(held), None)
    }

    /// Takes the first entry about an origin, evicting the oldest entry if there is no room.
    fn merge_first(
        &mut self,
        meta: Meta,
        payload: &[u8],
        is_member: impl FnOnce(NodeId) -> bool,
    ) -> (Merged, Option<Evicted>) {
        if !is_member(meta.id) {
            return (Merged::Unknown, None);
        }
        let mut evicted = None;
        if self.len() == self.capacity() {
            let oldest = self.calendar.oldest(|slot| self.meta[slot as usize].birth);
            let Some(oldest) = oldest.filter(|&slot| slot != OWN).map(|slot| self.at(slot)) else {
                return (Merged::TooOld, None);
            };
            if oldest.birth >= meta.birth {
                return (Merged::TooOld, None);
            }
            let id = oldest.id;
            evicted = Some(Evicted { id, stamp: oldest.stamp, birth: oldest.birth });
            self.remove(id);
        }
        self.put(meta, payload);
        (Merged::First, evicted)
    }
}
