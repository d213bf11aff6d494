//! Labels: the way from the root to a step as bits, of which two are compared in one operation.
//!
//! The way is a list of places, one for each node below the root, and the step's own. Written with
//! a code in which no word begins another, and a larger place has a larger word, the first bit in
//! which two ways differ says which is more to the left, and the word that it is in says where they
//! part. So a tree of some ten levels needs no climbing at all.
//!
//! A label has 64 bits. A node whose word does not fit is the *head* of a segment, within which
//! labels begin anew. Of steps in two segments it is enough to climb from head to head.
//!
//! Invariants: a word ends with a bit that is 0 exactly for an async, and `ends` has a bit for the
//! last of each word. Siblings have different words, and so do a step and its siblings.
//!
//! Sources: Westrick et al., "DePa: simple, provably efficient, and practical order maintenance for
//! task parallelism", 2022 (ways as bits); Elias, 1975 (codes of numbers).

/// The place of something among its siblings, and whether it may run beside what follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) place: u32,
    pub(super) is_async: bool,
}

/// The way to a node within its segment, from the highest bit on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Label {
    pub(super) bits: u64,
    /// The last bit of each word.
    pub(super) ends: u64,
}

/// Something below the node that has a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Way {
    pub(super) above: Label,
    pub(super) place: Place,
}

/// Where two ways part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parting {
    /// The bits that they have in common, up to the end of a word.
    pub(super) bits: u32,
    /// Whether what is more to the left there is an async.
    pub(super) is_parallel: bool,
}

impl Place {
    /// Its word, and how many bits that has.
    fn word(self) -> (u64, u32) {
        let (turn, is_child) = (u64::from(self.place / 2), u64::from(self.place % 2));
        let (prefix, turn, bits) = match turn {
            0 => (0, 0, 1),
            1..=2 => (0b100, turn - 1, 3),
            3..=10 => (0b110_000, turn - 3, 6),
            11..=266 => (0b1110 << 8, turn - 11, 12),
            267..=65_802 => (0b1_1110 << 16, turn - 267, 21),
            _ => (0b1_1111 << 32, turn, 37),
        };
        ((prefix | turn) << 2 | is_child << 1 | u64::from(!self.is_async), bits + 2)
    }

    /// The label of a node that is here below one with a label, if there is room for it.
    pub(super) fn label_below(self, above: Label) -> Option<Label> {
        let (word, bits) = self.word();
        let free = (u64::BITS - above.len()).checked_sub(bits)?;
        Some(Label { bits: above.bits | word << free, ends: above.ends | 1 << free })
    }
}

impl Label {
    fn len(self) -> u32 {
        u64::BITS - self.ends.trailing_zeros()
    }

    /// Where two of them part, of which neither begins the other.
    fn part(self, other: Self) -> Parting {
        let left = if self.bits < other.bits { self } else { other };
        let rest = u64::MAX >> (self.bits ^ other.bits).leading_zeros();
        let bits = u64::BITS - (left.ends & !rest).trailing_zeros();
        let end = 1 << (u64::BITS - 1) >> (left.ends & rest).leading_zeros();
        Parting { bits, is_parallel: left.bits & end == 0 }
    }
}

impl Way {
    /// The label of a node that is here, if there is room for it.
    pub(super) fn label(self) -> Option<Label> {
        self.place.label_below(self.above)
    }

    /// All bits, and the ends of words.
    fn whole(self) -> (u128, u128) {
        let (word, bits) = self.place.word();
        let free = u128::BITS - self.above.len() - bits;
        let wide = |bits: u64| u128::from(bits) << u64::BITS;
        let Label { bits, ends } = self.above;
        (wide(bits) | u128::from(word) << free, wide(ends) | 1 << free)
    }

    /// Where it parts from another way of the same segment.
    pub(super) fn part(self, other: Self) -> Parting {
        let (one, two) = (self.above, other.above);
        if (one.bits ^ two.bits).leading_zeros() < one.len().min(two.len()) {
            // Most often: no word of a step is needed.
            return one.part(two);
        }
        match (self.label(), other.label()) {
            (Some(one), Some(two)) if one != two => one.part(two),
            _ => self.part_at_end(other),
        }
    }

    /// [`Self::part`], where a word does not fit, or both are the same.
    fn part_at_end(self, other: Self) -> Parting {
        let ((one, one_ends), (two, two_ends)) = (self.whole(), other.whole());
        let differ = one ^ two;
        if differ == 0 {
            return Parting { bits: self.above.len(), is_parallel: false };
        }
        let (left, ends) = if one < two { (one, one_ends) } else { (two, two_ends) };
        let rest = u128::MAX >> differ.leading_zeros();
        let bits = u128::BITS - (ends & !rest).trailing_zeros();
        let end = 1 << (u128::BITS - 1) >> (ends & rest).leading_zeros();
        Parting { bits, is_parallel: left & end == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: u32, is_async: bool) -> Place {
        Place { place, is_async }
    }

    #[test]
    fn larger_places_have_larger_words_and_none_begins_another() {
        let some =
            (0..2000).chain((11..31).flat_map(|bits| [(1 << bits) - 1, 1 << bits, u32::MAX]));
        let mut words: Vec<_> = some.map(|place| (place, at(place, false).word())).collect();
        words.sort_unstable();
        words.dedup();
        for pair in words.windows(2) {
            let [(_, (less, bits)), (_, (more, others))] = *pair else { unreachable!("pairs") };
            let common = bits.min(others);
            assert!(less >> (bits - common) < more >> (others - common), "{pair:?}");
        }
    }

    #[test]
    fn ways_part_at_the_end_of_a_word() {
        let task = Way { above: Label::default(), place: at(41, true) };
        let below = Way { above: task.label().unwrap(), place: at(1, false) };
        let step = Way { place: at(2, false), ..below };
        // What is after a task may be parallel to it, and what is before may not.
        for (place, is_parallel) in [(40, false), (42, true)] {
            let beside = Way { place: at(place, false), ..task };
            for way in [below, step] {
                assert_eq!(way.part(beside), Parting { bits: 0, is_parallel });
                assert_eq!(beside.part(way), Parting { bits: 0, is_parallel });
            }
        }
        // A finish is before what follows it.
        let bits = task.place.word().1;
        assert_eq!(below.part(step), Parting { bits, is_parallel: false });
        assert_eq!(step.part(step), Parting { bits, is_parallel: false });
    }

    #[test]
    fn a_label_that_is_full_takes_no_more() {
        let mut way = Way { above: Label::default(), place: at(1, true) };
        let mut levels = 0;
        while let Some(above) = way.label() {
            way.above = above;
            levels += 1;
        }
        assert_eq!(levels, 21);
        let beside = Way { place: at(2, false), ..way };
        assert_eq!(way.part(beside), Parting { bits: 63, is_parallel: true });
    }
}
