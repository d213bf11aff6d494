//! Bases in the vector: of each entry the one by which others are told what changed.
//!
//! The base before it is kept too: who has that is told a new base as what it says otherwise.
//!
//! Invariants: memory is taken at construction, for two payloads and stamps an entry; a base is of
//! the life of the entry beside it, not later than it, and of what its origin said under its stamp;
//! in one life it is replaced by a later one alone. A slot that gets another origin loses both.

use super::base_store::{BaseStore, Which};
use super::{OWN, Vector};
use crate::base::{Base, Name};
use crate::entry::{NodeId, Stamp};

impl Vector {
    /// The same, with room for a base of each entry.
    pub(crate) fn with_bases(self) -> Self {
        let bases = Some(BaseStore::new(self.capacity, self.payload_bytes));
        Self { bases, ..self }
    }

    /// The base that is held of the origin in `slot`, if it is of the life of its entry.
    #[inline]
    pub(crate) fn base(&self, slot: u32) -> Option<Base<'_>> {
        self.base_that_is(slot, Which::Present)
    }

    /// The base that was held before that one.
    pub(crate) fn base_before(&self, slot: u32) -> Option<Base<'_>> {
        self.base_that_is(slot, Which::Before)
    }

    #[inline]
    fn base_that_is(&self, slot: u32, which: Which) -> Option<Base<'_>> {
        let bases = self.bases.as_ref()?;
        let meta = self.meta.get(slot as usize).filter(|_| self.holds(slot))?;
        let stamp = bases.stamp(slot, which)?;
        let (incarnation, sequence) = (stamp.incarnation(), stamp.sequence());
        let is_of_its_life = incarnation == meta.stamp.incarnation() && stamp <= meta.stamp;
        let name = Name { id: meta.id, incarnation, sequence };
        is_of_its_life.then(|| Base { name, payload: bases.payload(slot, which) })
    }

    /// Keeps a base of an origin, if it is of the life of the entry that is held, not later than
    /// that, and later than the base that is held; returns whether it was kept.
    pub(crate) fn keep_base(&mut self, name: Name, payload: &[u8]) -> bool {
        let Some(slot) = self.table.get(name.id).filter(|&slot| slot != OWN) else { return false };
        let held = self.meta[slot as usize].stamp;
        let stamp = Stamp::new(name.incarnation, name.sequence);
        let is_of_its_life = held.incarnation() == name.incarnation && stamp <= held;
        let is_later = self.base(slot).is_none_or(|base| base.name.sequence < name.sequence);
        let keeps = is_of_its_life && is_later && !stamp.is_last();
        match self.bases.as_mut().filter(|_| keeps) {
            Some(bases) => {
                bases.put(slot, stamp, payload);
                true
            }
            None => false,
        }
    }

    /// Makes the own entry the base of those that follow.
    pub(crate) fn make_own_base(&mut self) {
        let (stamp, range) = (self.own().stamp, self.payload_range(OWN));
        if let Some(bases) = self.bases.as_mut() {
            bases.put(OWN, stamp, &self.payloads[range]);
        }
    }

    /// Whether bases of any entries are kept.
    pub(crate) fn keeps_bases(&self) -> bool {
        self.bases.is_some()
    }

    /// The base and the stamp of the entry about a member.
    pub(crate) fn base_of(&self, id: NodeId) -> Option<(Base<'_>, Stamp)> {
        let slot = self.table.get(id)?;
        self.base(slot).map(|base| (base, self.meta[slot as usize].stamp))
    }
}

#[cfg(test)]
mod tests {
    use tidings_primitives::time::Instant;

    use super::*;
    use crate::entry::Incarnation;
    use crate::vector::merge::Arrival;

    const ORIGIN: NodeId = NodeId(7);

    fn life(number: u32) -> Incarnation {
        Incarnation::new(number)
    }

    fn vector() -> Vector {
        let own = (NodeId(0), Stamp::new(life(1), 0));
        Vector::new(2, 4, 1_000, own, Instant::EPOCH).with_bases()
    }

    fn merge(vector: &mut Vector, datagram: u32, id: NodeId, stamp: Stamp) {
        let birth = Instant::from_micros(i64::from(datagram));
        vector.advance(birth);
        vector.merge(&Arrival { datagram, id, stamp, birth, payload: b"news" }, |_| true);
    }

    fn name(number: u32, sequence: u32) -> Name {
        Name { id: ORIGIN, incarnation: life(number), sequence }
    }

    fn held(vector: &Vector) -> Option<(u32, Vec<u8>)> {
        vector.base_of(ORIGIN).map(|(base, _)| (base.name.sequence, base.payload.to_vec()))
    }

    fn before(vector: &Vector) -> Option<(u32, Vec<u8>)> {
        let base = vector.base_before(vector.slot(ORIGIN)?)?;
        Some((base.name.sequence, base.payload.to_vec()))
    }

    #[test]
    fn a_base_is_of_the_life_of_its_entry_and_never_older_than_before() {
        let mut vector = vector();
        assert!(!vector.keep_base(name(3, 0), b"base"), "of no entry that is held");
        merge(&mut vector, 1, ORIGIN, Stamp::new(life(3), 10));
        assert!(!vector.keep_base(name(3, 11), b"base"), "later than the entry");
        assert!(!vector.keep_base(name(2, 9), b"base"), "of an earlier life");
        assert!(vector.keep_base(name(3, 9), b"base"));
        assert!(!vector.keep_base(name(3, 9), b"late"), "the same name");
        assert!(!vector.keep_base(name(3, 8), b"late"), "an earlier one");
        assert_eq!(held(&vector), Some((9, b"base".to_vec())));
        assert!(vector.keep_base(name(3, 10), b"new"));
        assert_eq!(held(&vector), Some((10, b"new\0".to_vec())));
        assert_eq!(before(&vector), Some((9, b"base".to_vec())), "the one before is kept too");
        // A later life has none yet; its own takes the place, whatever its sequence.
        merge(&mut vector, 2, ORIGIN, Stamp::new(life(4), 2));
        assert_eq!((held(&vector), before(&vector)), (None, None));
        assert!(vector.keep_base(name(4, 1), b"next"));
        assert_eq!((held(&vector), before(&vector)), (Some((1, b"next".to_vec())), None));
        // A tombstone is of that life too.
        merge(&mut vector, 3, ORIGIN, Stamp::dead(life(4)));
        assert!(held(&vector).is_some() && !vector.keep_base(name(4, Stamp::SEQUENCE_DEAD), b"x"));
    }

    #[test]
    fn a_slot_with_another_origin_has_no_base() {
        let mut vector = vector();
        merge(&mut vector, 1, ORIGIN, Stamp::new(life(3), 10));
        assert!(vector.keep_base(name(3, 9), b"base"));
        assert!(vector.keep_base(name(3, 10), b"next") && before(&vector).is_some());
        vector.remove(ORIGIN);
        assert_eq!((held(&vector), before(&vector)), (None, None));
        merge(&mut vector, 2, NodeId(8), Stamp::new(life(3), 10));
        assert!(vector.base_of(NodeId(8)).is_none());
        // Neither has one that took the place of the oldest, nor one that was never given room.
        merge(&mut vector, 3, ORIGIN, Stamp::new(life(3), 10));
        assert_eq!((held(&vector), before(&vector)), (None, None));
        let own = (NodeId(0), Stamp::new(life(1), 0));
        let mut without = Vector::new(2, 4, 1_000, own, Instant::EPOCH);
        merge(&mut without, 1, ORIGIN, Stamp::new(life(3), 10));
        assert!(!without.keep_base(name(3, 9), b"base") && !without.keeps_bases());
    }
}
