//! Who an entry is about and how new it is: node id, incarnation, sequence, stamp.
//!
//! An entry is ordered by its [`Stamp`], the pair (incarnation, sequence) of the node it is about,
//! its *origin*. Only the origin makes stamps, one a unit of time, so two entries with one stamp
//! are the same entry, and the larger stamp is the later news whatever clocks say. A node raises
//! its incarnation when it restarts, when it meets news of itself that it did not write in this
//! life, and when its sequence is used up; everything of an older incarnation is older.

use core::fmt;

pub use tidings_primitives::id::{Incarnation, NodeId};

/// How new an entry is: 24 bits of incarnation above 24 bits of sequence, compared as one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp(u64);

impl Stamp {
    /// Bytes on the wire.
    pub const BYTES: usize = 6;
    /// The sequence of an origin's farewell: nothing newer comes from that incarnation.
    pub const SEQUENCE_LEFT: u32 = 0x00FF_FFFF;
    /// The sequence of a tombstone: others have declared that incarnation dead.
    pub const SEQUENCE_DEAD: u32 = 0x00FF_FFF0;
    /// The last sequence of ordinary news; others above it but these two are reserved.
    pub const SEQUENCE_MAX: u32 = 0x00FF_FFEF;

    /// The stamp of the given incarnation and sequence (its low 24 bits).
    pub const fn new(incarnation: Incarnation, sequence: u32) -> Self {
        Self(((incarnation.get() as u64) << 24) | (sequence & 0x00FF_FFFF) as u64)
    }

    /// The last stamp of an incarnation: its node has left.
    pub const fn left(incarnation: Incarnation) -> Self {
        Self::new(incarnation, Self::SEQUENCE_LEFT)
    }

    /// What is said of an incarnation that was declared dead; only its farewell is newer.
    pub const fn dead(incarnation: Incarnation) -> Self {
        Self::new(incarnation, Self::SEQUENCE_DEAD)
    }

    /// Which life of the origin.
    pub const fn incarnation(self) -> Incarnation {
        Incarnation::new((self.0 >> 24) as u32)
    }

    /// Units of time since that life began.
    pub const fn sequence(self) -> u32 {
        (self.0 & 0x00FF_FFFF) as u32
    }

    /// Whether this is a farewell.
    pub const fn is_left(self) -> bool {
        self.sequence() == Self::SEQUENCE_LEFT
    }

    /// Whether this is a tombstone.
    pub const fn is_dead(self) -> bool {
        self.sequence() == Self::SEQUENCE_DEAD
    }

    /// Whether this is the last there will be of its incarnation: a farewell or a tombstone.
    pub const fn is_last(self) -> bool {
        self.is_left() || self.is_dead()
    }

    /// The stamp of the next unit of time: the next sequence, or the first of the next
    /// incarnation when sequences are used up; `None` when incarnations are too.
    pub fn next(self) -> Option<Self> {
        if self.sequence() < Self::SEQUENCE_MAX {
            return Some(Self(self.0 + 1));
        }
        self.incarnation().next().map(|incarnation| Self::new(incarnation, 0))
    }

    /// The least number above this stamp; above the last it is none that fits on the wire.
    pub(crate) const fn above(self) -> Self {
        Self(self.0 + 1)
    }

    /// Little endian, 48 bits.
    #[inline]
    pub(crate) fn to_wire(self) -> [u8; Self::BYTES] {
        let bytes = self.0.to_le_bytes();
        [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]]
    }

    /// The stamp in the six bytes; every pattern is one.
    #[inline]
    pub(crate) fn from_wire(b: [u8; Self::BYTES]) -> Self {
        Self(u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], 0, 0]))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.incarnation().get(), self.sequence())
    }
}

/// What a node knows about another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryState {
    /// Its newest entry is ordinary news; how old it is says the age.
    Alive,
    /// The same, but this node has probed it, and had it probed, without an answer yet.
    Suspected,
    /// It was declared dead, by this node or another.
    Dead,
    /// Its newest entry is a farewell.
    Left,
    /// A member of which no entry has arrived yet (or none is kept, in a bounded vector).
    Unheard,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_life_beats_any_sequence() {
        let old = Stamp::left(Incarnation::new(4));
        let young = Stamp::new(Incarnation::new(5), 0);
        assert!(young > old);
        let dead = Stamp::dead(Incarnation::new(4));
        assert!(old > dead && dead > Stamp::new(Incarnation::new(4), Stamp::SEQUENCE_MAX));
        assert!(dead.is_last() && old.is_last() && !young.is_last() && !dead.is_left());
    }

    #[test]
    fn sequences_roll_into_the_next_incarnation() {
        let last = Stamp::new(Incarnation::new(7), Stamp::SEQUENCE_MAX);
        assert_eq!(last.next(), Some(Stamp::new(Incarnation::new(8), 0)));
        assert_eq!(Stamp::new(Incarnation::MAX, Stamp::SEQUENCE_MAX).next(), None);
    }

    #[test]
    fn the_wire_form_is_48_bits_little_endian() {
        let stamp = Stamp::new(Incarnation::new(0x00AB_CDEF), 0x0012_3456);
        assert_eq!(stamp.to_wire(), [0x56, 0x34, 0x12, 0xEF, 0xCD, 0xAB]);
        assert_eq!(Stamp::from_wire(stamp.to_wire()), stamp);
    }
}
