//! Forgetting: which members nothing was heard of for too long.
//!
//! A few are looked at in each unit, in turn, so that a round costs the same whatever the cluster's
//! size.

use tidings_primitives::time::Instant;

use crate::entry::{Incarnation, NodeId, Stamp};
use crate::membership::{Membership, Record};
use crate::vector::Vector;

/// Members looked at in each unit of time.
const CHECKS: usize = 32;

/// A member to be forgotten.
pub(super) struct Forgotten {
    pub(super) id: NodeId,
    /// Nothing below this is believed of it.
    pub(super) floor: Stamp,
    pub(super) name: String,
    /// Whether what is held of it cannot be, so that nothing shall stay of it.
    pub(super) implausible: bool,
}

impl Forgotten {
    /// A member of which an entry with that stamp is held, if any is.
    #[cold]
    fn of(record: &Record, held: Option<Stamp>) -> Self {
        let floor = held.map_or(record.floor, Stamp::above);
        Self { id: record.id, floor, name: record.name.to_string(), implausible: false }
    }
}

/// Who is looked at next.
pub(super) struct Forgetting {
    own: NodeId,
    /// Whether members stay that were never heard of: those of a roster.
    keeps_unheard: bool,
    /// The place of the member that was looked at last.
    place: usize,
}

impl Forgetting {
    pub(super) fn new(own: NodeId, keeps_unheard: bool) -> Self {
        Self { own, keeps_unheard, place: 0 }
    }

    /// How many members are looked at in a unit.
    pub(super) fn checks(membership: &Membership) -> usize {
        CHECKS.min(membership.places())
    }

    /// Looks at the next member; returns it if its news is older than `oldest`, or of an
    /// incarnation above `highest`.
    #[inline]
    pub(super) fn look(
        &mut self,
        membership: &Membership,
        vector: &Vector,
        oldest: Instant,
        highest: Incarnation,
    ) -> Option<Forgotten> {
        self.place = if self.place + 1 < membership.places() { self.place + 1 } else { 0 };
        let record = membership.in_place(self.place)?;
        let id = record.id;
        let entry = vector.get(id);
        let held = entry.map(|entry| entry.stamp.incarnation());
        if held.max(Some(record.last_life())) > Some(highest) && id != self.own {
            return Some(Forgotten { implausible: true, ..Forgotten::of(record, None) });
        }
        let birth = entry.map_or(record.last_birth, |entry| entry.birth);
        if birth >= oldest || id == self.own || (self.keeps_unheard && entry.is_none()) {
            return None;
        }
        Some(Forgotten::of(record, entry.map(|entry| entry.stamp)))
    }
}
