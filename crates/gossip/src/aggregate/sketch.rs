//! A sketch: how many of the readings of many nodes lie where, in at most 32 bins.
//!
//! Every reading is a 16-bit code that orders as its values do, so a bin is what the upper bits of
//! a code say: `code >> shift`. The shift is the least at which the codes from the smallest to the
//! largest touch at most [`BINS`] bins. It follows from these two alone, and bins of one shift are
//! pairs of bins of the shift below, so:
//!
//! - a sketch is a function of the readings in it, whatever their order and grouping: merging two
//!   gives, bit for bit, the sketch of the union;
//! - a bin has `2^shift` codes, and an estimate from its middle is off by at most `2^(shift - 1)`,
//!   which is at most 1/31 of the way from the smallest code to the largest.
//!
//! The bins that are in use lie side by side, at most 32 of them, so bin `b` is kept in place
//! `b mod 32`: a new smallest reading moves nothing.
//!
//! Source: bins that are joined in pairs until they fit are those of UDDSketch (Epicoco et al.,
//! IEEE Access 8, 2020), over the logarithmic bins of DDSketch (Masson, Rim, Lee, VLDB 12(12),
//! 2019).

use core::ops::RangeInclusive;

/// The most bins a sketch has.
pub(super) const BINS: usize = 32;
/// Bits that number them.
const BIN_BITS: u32 = BINS.ilog2();

/// Count, sum, smallest, largest and bins of codes. Counts and sums end at their largest number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sketch {
    count: u32,
    sum: u64,
    min: u16,
    max: u16,
    /// Derived from `min` and `max`; 0 while empty.
    shift: u32,
    bins: [u32; BINS],
}

impl Default for Sketch {
    fn default() -> Self {
        Self { count: 0, sum: 0, min: u16::MAX, max: 0, shift: 0, bins: [0; BINS] }
    }
}

impl Sketch {
    /// The sketch of `count` readings that lie between `min` and `max` and have the sum `sum`, with
    /// no reading in its bins yet: [`Sketch::bin_mut`] fills them.
    pub(super) fn unfilled(count: u32, sum: u64, (min, max): (u16, u16)) -> Self {
        Self { count, sum, min, max, shift: shift_of(min, max), bins: [0; BINS] }
    }

    /// Takes in one reading; `value` is what the code counts for in the sum.
    #[inline]
    pub(super) fn insert(&mut self, code: u16, value: u64) {
        if code < self.min || code > self.max {
            self.widen(code, code);
        }
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(value);
        let bin = &mut self.bins[place(u32::from(code) >> self.shift)];
        *bin = bin.saturating_add(1);
    }

    /// Takes in all that `other` holds, of other nodes.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.widen(other.min, other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        other.pour_into(&mut self.bins, self.shift);
    }

    /// Readings in it.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The sum of their values.
    pub(super) fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest and the largest code.
    pub(super) fn ends(&self) -> Option<(u16, u16)> {
        (self.count > 0).then_some((self.min, self.max))
    }

    /// The bins from that of the smallest code to that of the largest, by number: 1 to [`BINS`] of
    /// them, or none while it is empty.
    pub(super) fn used(&self) -> RangeInclusive<u32> {
        u32::from(self.min) >> self.shift..=u32::from(self.max) >> self.shift
    }

    /// Readings in the bin of this number.
    pub(super) fn in_bin(&self, bin: u32) -> u32 {
        self.bins[place(bin)]
    }

    /// The bin of this number, one of those in use.
    pub(super) fn bin_mut(&mut self, bin: u32) -> &mut u32 {
        &mut self.bins[place(bin)]
    }

    /// The smallest and the largest code that a bin in use can hold, none beyond those seen.
    pub(super) fn codes_of(&self, bin: u32) -> (u16, u16) {
        let low = bin << self.shift;
        let high = low + (1 << self.shift) - 1;
        ((low as u16).max(self.min), (high as u16).min(self.max))
    }

    /// The middle of a bin in use, or the end of the codes seen that is nearest to it.
    fn middle_of(&self, bin: u32) -> u16 {
        let middle = (bin << self.shift) + ((1 << self.shift) >> 1);
        (middle as u16).clamp(self.min, self.max)
    }

    /// The bin of the reading of this rank in ascending order; the first has rank 1.
    fn bin_at(&self, rank: u32) -> Option<u32> {
        let mut left = rank;
        self.used().find(|&bin| {
            let reached = self.in_bin(bin) >= left;
            left = left.saturating_sub(self.in_bin(bin));
            reached
        })
    }

    /// An estimate of the reading of rank `rank`, exact for the first and the last.
    pub(super) fn code_at(&self, rank: u32) -> Option<u16> {
        let (min, max) = self.ends()?;
        match rank {
            0 | 1 => Some(min),
            rank if rank >= self.count => Some(max),
            rank => self.bin_at(rank).map_or(Some(max), |bin| Some(self.middle_of(bin))),
        }
    }

    /// The codes between which the reading of rank `rank` lies.
    pub(super) fn codes_at(&self, rank: u32) -> Option<(u16, u16)> {
        let (min, max) = self.ends()?;
        match rank {
            0 | 1 => Some((min, min)),
            rank if rank >= self.count => Some((max, max)),
            rank => self.bin_at(rank).map_or(Some((max, max)), |bin| Some(self.codes_of(bin))),
        }
    }

    /// Makes room for codes from `min` to `max`, joining bins where they would be too many.
    fn widen(&mut self, min: u16, max: u16) {
        let (min, max) = (self.min.min(min), self.max.max(max));
        let shift = shift_of(min, max);
        if shift > self.shift {
            let mut bins = [0; BINS];
            self.pour_into(&mut bins, shift);
            (self.bins, self.shift) = (bins, shift);
        }
        (self.min, self.max) = (min, max);
    }

    /// What lies in the bins of `other` if the readings are these, bin `b` in place `b mod 32`;
    /// `None` if these bins are coarser.
    pub(super) fn bins_as_in(&self, other: &Self) -> Option<[u32; BINS]> {
        if self.count == 0 || self.shift > other.shift {
            return None;
        }
        let (mut all, mut bins) = ([0; BINS], [0; BINS]);
        self.pour_into(&mut all, other.shift);
        let low = u32::from(self.min) >> other.shift;
        let high = u32::from(self.max) >> other.shift;
        for bin in other.used().filter(|bin| (low..=high).contains(bin)) {
            bins[place(bin)] = all[place(bin)];
        }
        Some(bins)
    }

    /// Adds the bins to those of a shift at least as large.
    fn pour_into(&self, bins: &mut [u32; BINS], shift: u32) {
        for bin in self.used() {
            let into = &mut bins[place(bin >> (shift - self.shift))];
            *into = into.saturating_add(self.in_bin(bin));
        }
    }
}

/// Where the bin of this number is kept.
const fn place(bin: u32) -> usize {
    bin as usize % BINS
}

/// The least shift at which codes from `min` to `max` touch at most [`BINS`] bins.
///
/// With `max - min` of `d` bits, a shift of `d - 6` still has more than 32 bins between them, and
/// one of `d - 5` has at most 33, of which a shift of one more makes 17.
fn shift_of(min: u16, max: u16) -> u32 {
    let bits = u16::BITS - (max - min).leading_zeros();
    let shift = bits.saturating_sub(BIN_BITS);
    shift + u32::from((max >> shift) - (min >> shift) >= BINS as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_is_the_least_that_leaves_32_bins() {
        let bins = |min: u16, max: u16, shift: u32| (max >> shift) - (min >> shift) + 1;
        let mut seen = [false; 12];
        for min in (0..=u16::MAX).step_by(97) {
            for max in (min..=u16::MAX).step_by(61) {
                let shift = shift_of(min, max);
                seen[shift as usize] = true;
                assert!(bins(min, max, shift) <= 32, "{min} {max} {shift}");
                assert!(shift == 0 || bins(min, max, shift - 1) > 32, "{min} {max} {shift}");
                // The bound of the module's documentation.
                assert!((1u32 << shift) >> 1 == 0 || 31 << (shift - 1) < u32::from(max - min));
            }
        }
        assert_eq!(seen, [true; 12]);
    }

    #[test]
    fn an_outlier_joins_bins_and_loses_no_reading() {
        let mut sketch = Sketch::default();
        for code in 1000..1032 {
            sketch.insert(code, u64::from(code));
        }
        assert_eq!((sketch.shift, sketch.in_bin(1007)), (0, 1));
        sketch.insert(3, 3);
        assert_eq!((sketch.shift, sketch.used(), sketch.ends()), (6, 0..=16, Some((3, 1031))));
        assert_eq!(sketch.used().map(|bin| sketch.in_bin(bin)).sum::<u32>(), 33);
        assert_eq!((sketch.in_bin(0), sketch.in_bin(15), sketch.in_bin(16)), (1, 24, 8));
    }

    #[test]
    fn counts_and_sums_end_at_their_largest_number() {
        let mut sketch = Sketch::default();
        sketch.insert(7, u64::MAX / 2);
        for _ in 0..40 {
            sketch.merge(&sketch.clone());
        }
        assert_eq!((sketch.count(), sketch.sum()), (u32::MAX, u64::MAX));
        assert_eq!((sketch.in_bin(7), sketch.code_at(u32::MAX)), (u32::MAX, Some(7)));
    }
}
