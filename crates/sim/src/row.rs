//! Rows of births: what a node knows, as one number for each origin, and what is done with them.
//!
//! A birth is the tick at which an entry was made; 0: nothing is known. Births of one origin are
//! ordered as its stamps are, and births of different origins as their ages are, so one number
//! does for both. The loops below have no branches, so that the compiler makes them run over
//! several births at a time (SSE2 has all that they need: a comparison of signed numbers).
//!
//! The window of the newest w is everything not older than the w-th newest birth. That threshold
//! is found by counting births into coarse bins of age, then ordering the one bin it falls into:
//! the calendar of the core, computed again each time, since a row is read faster than it is kept
//! in order.

/// Ticks in a unit of time, as a power of two: about as many as 256 ms have microseconds.
pub(crate) const UNIT_SHIFT: u32 = 18;
/// Ticks in a unit of time.
pub(crate) const UNIT: i64 = 1 << UNIT_SHIFT;
/// The tick at which a run starts: above 0, which stands for what is unknown.
pub(crate) const START: i64 = UNIT;
/// Ticks in a bin of the histogram of samples, 64 bins a unit, as a power of two.
pub(crate) const BIN_SHIFT: u32 = 12;
/// Bins a selection looks through: 64 units of age; older births share the last.
const BINS: usize = 4096;

/// Finds thresholds; keeps its tables between calls.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    counts: Vec<u32>,
    cut: Vec<i32>,
}

/// What a window takes from a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Threshold {
    /// Births from this one on.
    pub(crate) birth: i32,
    /// How many there are of them, at least the window's entries if so many are known.
    pub(crate) entries: usize,
}

/// What a row says at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct RowSum {
    /// Sum of all births.
    pub(crate) births: i64,
    /// How many origins are known.
    pub(crate) known: usize,
    /// The oldest birth; `i32::MAX` if none is known.
    pub(crate) oldest: i32,
}

/// Takes from `sender` every birth from `threshold` on that is later than the receiver's; returns
/// how many were.
pub(crate) fn merge(receiver: &mut [i32], sender: &[i32], threshold: i32) -> usize {
    let mut news = 0;
    // Chunks keep the count in a narrow lane beside the births.
    for (held, sent) in receiver.chunks_mut(1024).zip(sender.chunks(1024)) {
        let mut chunk_news = 0i32;
        for (held, &sent) in held.iter_mut().zip(sent) {
            let sent = if sent >= threshold { sent } else { 0 };
            chunk_news += i32::from(sent > *held);
            *held = if sent > *held { sent } else { *held };
        }
        news += chunk_news as usize;
    }
    news
}

/// The origins of all births from `threshold` on.
pub(crate) fn origins_from(row: &[i32], threshold: i32) -> Vec<u32> {
    let from = row.iter().enumerate().filter(|(_, birth)| **birth >= threshold);
    from.map(|(origin, _)| origin as u32).collect()
}

/// Takes from `sender` the births of these origins that are later than the receiver's; returns how
/// many were.
pub(crate) fn merge_origins(receiver: &mut [i32], sender: &[i32], origins: &[u32]) -> usize {
    let mut news = 0;
    for &origin in origins {
        let (held, sent) = (&mut receiver[origin as usize], sender[origin as usize]);
        news += usize::from(sent > *held);
        *held = sent.max(*held);
    }
    news
}

/// Sums up a row.
pub(crate) fn sum(row: &[i32]) -> RowSum {
    let mut sum = RowSum { oldest: i32::MAX, ..RowSum::default() };
    for chunk in row.chunks(1024) {
        let (mut known, mut oldest) = (0i32, i32::MAX);
        for &birth in chunk {
            let there = if birth > 0 { birth } else { i32::MAX };
            oldest = if there < oldest { there } else { oldest };
            known += i32::from(birth > 0);
        }
        sum.births += chunk.iter().map(|&birth| i64::from(birth)).sum::<i64>();
        sum.known += known as usize;
        sum.oldest = sum.oldest.min(oldest);
    }
    sum
}

/// How many births are not older than `threshold`.
pub(crate) fn count_from(row: &[i32], threshold: i32) -> usize {
    let later = |chunk: &[i32]| chunk.iter().map(|&birth| i32::from(birth >= threshold)).sum();
    row.chunks(1024).map(later).map(|count: i32| count as usize).sum()
}

/// The bin of an age in ticks, for a selection.
#[inline]
fn bin_of(now: i32, birth: i32) -> usize {
    (((now - birth) >> BIN_SHIFT) as usize).min(BINS - 1)
}

impl Selector {
    /// A selector for rows of any length.
    pub(crate) fn empty() -> Self {
        Self { counts: vec![0; BINS], cut: Vec::new() }
    }

    /// The threshold of the newest `window` births of a row at the tick `now`.
    pub(crate) fn threshold(&mut self, row: &[i32], now: i32, window: usize) -> Threshold {
        let known = count_from(row, 1);
        if known <= window {
            return Threshold { birth: 1, entries: known };
        }
        self.counts.fill(0);
        for &birth in row {
            self.counts[bin_of(now, birth)] += 1;
        }
        // What is unknown looks like the oldest of all: it lies in the last bin, behind the rest.
        let (mut bin, mut newer) = (0, 0);
        while newer + (self.counts[bin] as usize) < window {
            newer += self.counts[bin] as usize;
            bin += 1;
        }
        self.cut.clear();
        self.cut.extend(row.iter().filter(|&&birth| bin_of(now, birth) == bin));
        let nth = window - newer - 1;
        let (_, &mut birth, later) = self.cut.select_nth_unstable_by(nth, |a, b| b.cmp(a));
        let ties = later.iter().filter(|&&other| other == birth).count();
        Threshold { birth, entries: window + ties }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Purpose, stream};

    #[test]
    fn a_merge_takes_what_is_newer_and_in_the_window() {
        let mut held = [5, 0, 7, 9, 3];
        assert_eq!(merge(&mut held, &[6, 4, 7, 8, 20], 6), 2);
        assert_eq!(held, [6, 0, 7, 9, 20]);
        assert_eq!(merge(&mut held, &[1, 4, 0, 0, 0], 1), 1);
        assert_eq!(held, [6, 4, 7, 9, 20]);
    }

    #[test]
    fn a_sum_counts_what_is_known() {
        assert_eq!(sum(&[0, 4, 9]), RowSum { births: 13, known: 2, oldest: 4 });
        assert_eq!(sum(&[0; 3]).oldest, i32::MAX);
    }

    #[test]
    fn thresholds_are_those_a_sort_finds() {
        let mut chance = stream(5, Purpose::Network);
        let mut selector = Selector::empty();
        for round in 0..2_000 {
            let span = 1 + chance.below(if round % 2 == 0 { 40 } else { 100 << UNIT_SHIFT });
            let now = 120 << UNIT_SHIFT;
            let births = (0..=chance.below(80)).map(|_| {
                let birth = now - chance.below(span) as i32;
                if chance.below(4) == 0 { 0 } else { birth }
            });
            let row: Vec<i32> = births.collect();
            let window = 1 + chance.below(row.len());
            let mut known: Vec<i32> = row.iter().copied().filter(|&birth| birth > 0).collect();
            known.sort_unstable_by(|a, b| b.cmp(a));
            let found = selector.threshold(&row, now, window);
            let expected = known.get(window - 1).copied().unwrap_or(1);
            let expected = if known.len() <= window { 1 } else { expected };
            assert_eq!(found.birth, expected, "window {window} of {row:?}");
            assert_eq!(found.entries, known.iter().filter(|&&b| b >= expected).count());
        }
    }
}
