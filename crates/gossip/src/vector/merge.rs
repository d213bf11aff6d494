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

impl Vector {
    /// What came before the farewell or tombstone that is held of `id`.
    pub fn last(&self, id: NodeId) -> Last {
        self.table.get(id).map_or_else(Last::default, |slot| self.last[slot as usize])
    }

    /// Ends the life that the entry in `slot` is of: its payload stays, and what it was is kept.
    #[cold]
    pub(super) fn end(&mut self, slot: u32, stamp: Stamp, birth: Instant) {
        debug_assert!(slot != OWN, "a node says its own farewell");
        let meta = &self.meta[slot as usize];
        if !meta.stamp.is_last() {
            let behind = birth.saturating_since(meta.birth);
            self.last[slot as usize] = Last::of(meta.stamp.sequence(), behind);
        }
        self.restamp(slot, stamp, birth);
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::entry::Incarnation;

    const ORIGIN: NodeId = NodeId(7);

    fn at(seconds: i64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    fn vector() -> Vector {
        let own = (NodeId(1), Stamp::new(Incarnation::new(1), 0));
        let mut vector = Vector::new(4, 4, 256_000, own, at(0));
        vector.advance(at(100));
        vector
    }

    fn merge(vector: &mut Vector, datagram: u32, stamp: Stamp, birth: i64, payload: &[u8]) {
        let arrival = Arrival { datagram, id: ORIGIN, stamp, birth: at(birth), payload };
        let (merged, _) = vector.merge(&arrival, |_| true);
        assert!(matches!(merged, Merged::First | Merged::News(_)), "{merged:?}");
    }

    fn held(vector: &Vector) -> (Stamp, &[u8], Option<u32>, Option<Duration>) {
        let entry = vector.get(ORIGIN).expect("it was merged");
        let last = vector.last(ORIGIN);
        (entry.stamp, entry.payload, last.sequence(), last.behind())
    }

    #[test]
    fn tombstones_and_farewells_keep_what_was_said_last() {
        let life = Incarnation::new(3);
        let (dead, left) = (Stamp::dead(life), Stamp::left(life));
        let kept = (Some(40), Some(Duration::from_secs(2)));

        // Declared here.
        let mut vector = vector();
        merge(&mut vector, 1, Stamp::new(life, 40), 90, b"news");
        vector.bury(ORIGIN, at(92));
        assert_eq!(held(&vector), (dead, &b"news"[..], kept.0, kept.1));

        // Declared elsewhere, by a program that writes zeros; then a farewell arrives late.
        let mut vector = self::vector();
        merge(&mut vector, 1, Stamp::new(life, 40), 90, b"news");
        merge(&mut vector, 2, dead, 92, &[0; 4]);
        assert_eq!(held(&vector), (dead, &b"news"[..], kept.0, kept.1));
        merge(&mut vector, 3, left, 93, &[0; 4]);
        assert_eq!(held(&vector), (left, &b"news"[..], kept.0, kept.1));

        // A later life begins, and ends before anything else of it came.
        merge(&mut vector, 4, Stamp::new(Incarnation::new(4), 0), 94, b"more");
        merge(&mut vector, 5, Stamp::dead(Incarnation::new(5)), 95, b"last");
        let later = Stamp::dead(Incarnation::new(5));
        assert_eq!(held(&vector), (later, &b"last"[..], None, None));
    }
}
