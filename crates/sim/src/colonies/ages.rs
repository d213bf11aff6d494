//! Ages in units of time, summed up in whole numbers.
//!
//! Whole numbers give the same sum in any order, so colonies can be added up as they are finished.

use crate::row::{BIN_SHIFT, RowSum, UNIT, UNIT_SHIFT};

/// Bins of ages, 64 a unit; ages beyond the last lie in the last.
const BINS: usize = 256 << (UNIT_SHIFT - BIN_SHIFT);

/// Ages over holders, origins and samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ages {
    ticks: u128,
    pairs: u64,
    oldest_ticks: u128,
    rows: u64,
    highest_ticks: i64,
    bins: Vec<u64>,
}

impl Default for Ages {
    fn default() -> Self {
        let bins = vec![0; BINS];
        Self { ticks: 0, pairs: 0, oldest_ticks: 0, rows: 0, highest_ticks: 0, bins }
    }
}

impl Ages {
    /// Takes in one holder's births at a moment, summed up.
    pub(super) fn add(&mut self, sum: RowSum, now: i64) {
        if sum.known == 0 {
            return;
        }
        let oldest = now - i64::from(sum.oldest);
        self.ticks += (sum.known as i64 * now - sum.births) as u128;
        self.pairs += sum.known as u64;
        self.oldest_ticks += oldest as u128;
        self.rows += 1;
        self.highest_ticks = self.highest_ticks.max(oldest);
    }

    /// Puts one holder's ages into the histogram.
    pub(super) fn count(&mut self, births: &[i32], now: i64) {
        for &birth in births.iter().filter(|&&birth| birth > 0) {
            let bin = (now - i64::from(birth)) >> BIN_SHIFT;
            self.bins[(bin as usize).min(BINS - 1)] += 1;
        }
    }

    /// Takes in one time, as the age of one entry that somebody holds.
    pub(super) fn add_one(&mut self, ticks: i64) {
        self.ticks += ticks as u128;
        self.pairs += 1;
        self.rows += 1;
        self.oldest_ticks += ticks as u128;
        self.highest_ticks = self.highest_ticks.max(ticks);
        self.bins[((ticks >> BIN_SHIFT) as usize).min(BINS - 1)] += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.pairs += other.pairs;
        self.oldest_ticks += other.oldest_ticks;
        self.rows += other.rows;
        self.highest_ticks = self.highest_ticks.max(other.highest_ticks);
        for (count, other) in self.bins.iter_mut().zip(&other.bins) {
            *count += other;
        }
    }

    /// The mean age in units; `None` if nothing was sampled.
    pub fn average_units(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.ticks as f64 / self.pairs as f64 / UNIT as f64)
    }

    /// The mean over holders and samples of the oldest age, in units.
    pub fn oldest_units(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.oldest_ticks as f64 / self.rows as f64 / UNIT as f64)
    }

    /// The greatest age of all, in units.
    pub fn highest_units(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.highest_ticks as f64 / UNIT as f64)
    }

    /// The age in units that a share `q` of those counted do not exceed, to 1/64 unit.
    pub fn quantile_units(&self, q: f64) -> Option<f64> {
        let all: u64 = self.bins.iter().sum();
        let rank = ((all as f64 * q).ceil() as u64).max(1);
        let mut below = 0;
        let bin = self.bins.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(((bin + 1) << BIN_SHIFT) as f64 / UNIT as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_summed_counted_and_merged_in_any_order() {
        let births = [UNIT as i32, 3 * UNIT as i32];
        let mut one = Ages::default();
        one.add(crate::row::sum(&births), 5 * UNIT);
        one.count(&births, 5 * UNIT);
        assert_eq!((one.average_units(), one.oldest_units()), (Some(3.0), Some(4.0)));
        assert_eq!(one.quantile_units(0.5), Some(2.0 + 1.0 / 64.0));
        let mut two = Ages::default();
        two.add(crate::row::sum(&births[1..]), 9 * UNIT);
        let merged = |a: &Ages, b: &Ages| {
            let mut sum = a.clone();
            sum.merge(b);
            sum
        };
        assert_eq!(merged(&one, &two), merged(&two, &one));
        assert_eq!(merged(&one, &two).average_units(), Some(4.0));
        assert_eq!(Ages::default().average_units(), None);
    }
}
