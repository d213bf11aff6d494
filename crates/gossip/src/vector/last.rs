//! The last news of those that are gone: what their entry was before a farewell or a tombstone.
//!
//! A node that died is asked after most: what did it say last, and when? The stamp of a tombstone
//! is made by others and its sequence is no round of the node, so the true one is kept beside it,
//! with how much older that news was. The payload stays where it lies.
//!
//! Invariants: only what was held here is kept, of the same life, and the first that ended it
//! keeps it: a farewell behind a tombstone changes nothing. What is not known is said to be so.

use core::time::Duration;

use tidings_primitives::time::Instant;

use super::{OWN, Vector};
use crate::entry::{NodeId, Stamp};

/// Microseconds in the unit of [`Last::behind_ms`].
const MILLISECOND_MICROS: u64 = 1_000;

/// What came before the last stamp of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Last {
    /// Its sequence and 1; 0 if nothing of that life was held.
    sequence_above: u32,
    /// How much earlier than the farewell or tombstone it was made, at most 49 days.
    behind_ms: u32,
}

impl Last {
    /// News that was made `behind` before what ended its life.
    fn of(sequence: u32, behind: Duration) -> Self {
        let behind_ms = behind.as_micros() / u128::from(MILLISECOND_MICROS);
        Self { sequence_above: sequence + 1, behind_ms: behind_ms.try_into().unwrap_or(u32::MAX) }
    }

    /// The sequence of the last news; `None` if none was held.
    pub fn sequence(self) -> Option<u32> {
        self.sequence_above.checked_sub(1)
    }

    /// How much older than the entry the news is.
    pub fn behind(self) -> Option<Duration> {
        self.sequence().map(|_| Duration::from_millis(u64::from(self.behind_ms)))
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
    use super::*;
    use crate::entry::Incarnation;
    use crate::vector::merge::{Arrival, Merged};

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
