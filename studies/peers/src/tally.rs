//! The ages seen: their average, a quantile and the maximum, in units of the interval; and the time
//! that looking took, which is no peer's.

use std::time::{Duration, Instant};

/// Width of a bucket, in units: how finely quantiles are told.
const BUCKET_UNITS: f64 = 0.01;

/// Buckets, for ages up to 200 units; older ones count as that old in quantiles.
const BUCKETS: usize = 20_000;

/// A tally of ages over ordered pairs of distinct nodes.
#[derive(Clone, Debug)]
pub struct Tally {
    unit_us: f64,
    buckets: Vec<u32>,
    total_units: f64,
    max_units: f64,
    known: u64,
    missing: u64,
    looking: Duration,
}

impl Tally {
    /// An empty tally with a unit of so many microseconds.
    pub fn new(unit_us: f64) -> Self {
        let buckets = vec![0; BUCKETS];
        let looking = Duration::ZERO;
        Self { unit_us, buckets, total_units: 0.0, max_units: 0.0, known: 0, missing: 0, looking }
    }

    /// Counts what one node knows at `now_us`: the birth of each state, or nothing of its node.
    pub fn look(&mut self, now_us: u64, births_us: impl Iterator<Item = Option<u64>>) {
        let began = Instant::now();
        births_us.for_each(|birth_us| self.count(now_us, birth_us));
        self.looking += began.elapsed();
    }

    fn count(&mut self, now_us: u64, birth_us: Option<u64>) {
        let Some(birth_us) = birth_us else {
            self.missing += 1;
            return;
        };
        let units = now_us.saturating_sub(birth_us) as f64 / self.unit_us;
        self.known += 1;
        self.total_units += units;
        self.max_units = self.max_units.max(units);
        self.buckets[((units / BUCKET_UNITS) as usize).min(BUCKETS - 1)] += 1;
    }

    /// Average age in units.
    pub fn average_units(&self) -> f64 {
        self.total_units / self.known as f64
    }

    /// The age that a share `q` of the pairs stay under, in units.
    pub fn quantile_units(&self, q: f64) -> f64 {
        let wanted = (self.known as f64 * q) as u64;
        let mut below = 0;
        for (at, &count) in self.buckets.iter().enumerate() {
            below += u64::from(count);
            if below > wanted {
                return (at + 1) as f64 * BUCKET_UNITS;
            }
        }
        f64::NAN
    }

    /// The oldest seen, in units.
    pub fn max_units(&self) -> f64 {
        self.max_units
    }

    /// Seconds spent looking.
    pub fn looking_s(&self) -> f64 {
        self.looking.as_secs_f64()
    }

    /// Pairs looked at.
    pub fn looks(&self) -> u64 {
        self.known + self.missing
    }

    /// The share of pairs of which nothing was known.
    pub fn missing_share(&self) -> f64 {
        self.missing as f64 / self.looks() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_averaged_in_units_and_missing_ones_are_left_out() {
        let mut tally = Tally::new(1000.0);
        let births_us = (0..1000).map(|step| Some(20_000 - step * 10));
        tally.look(20_000, births_us.chain([None]));
        assert!((tally.average_units() - 4.995).abs() < 1e-9);
        assert!((tally.quantile_units(0.99) - 9.91).abs() < 1e-9);
        assert!((tally.max_units() - 9.99).abs() < 1e-9);
        assert_eq!((tally.looks(), tally.missing_share()), (1001, 1.0 / 1001.0));
    }
}
