//! Samples of ages: sums, oldest entries and quantiles, in memory that does not grow with the run.
//!
//! Once a unit of time every node's ages go in, one row a node. Quantiles come from a histogram
//! with bins of 1/64 unit up to 2,048 units; within a bin ages are taken as spread evenly, so a
//! quantile is exact to 1/64 unit. The mean and the largest are exact. What the histogram says is
//! kept as a [`Distribution`], whose far tail tells when a silence is no chance any more.

/// When the sample of a unit is taken, after so many units of this length from the start (from 1):
/// once in each, at parts of it that fill it evenly as units pass.
///
/// Nodes may act at a part of the unit that is common to all, just after which ages are lower than
/// just before. The parts are multiples of the golden ratio, modulo 1 (Weyl, 1916; Knuth, TAOCP 3,
/// 6.4): however many there are, they leave no gap.
pub fn time(unit: u32, length: i64) -> i64 {
    let part = unit.wrapping_mul(0x9E37_79B9);
    (i64::from(unit) - 1) * length + ((i128::from(part) * i128::from(length)) >> 32) as i64
}

/// Bins in a unit of time.
pub const BINS_PER_UNIT: usize = 64;
/// Bins in all; ages beyond the last lie in the last.
const BINS: usize = 2_048 * BINS_PER_UNIT;

/// Ages in units of time, over all samples.
#[derive(Clone, Debug)]
pub struct Samples {
    bins: Vec<u64>,
    total_units: f64,
    pairs: u64,
    lacking_pairs: u64,
    oldest_total_units: f64,
    rows: u64,
    highest_units: f64,
}

/// How ages are spread over all pairs and samples.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Distribution {
    /// Ages counted, `BINS_PER_UNIT` bins a unit, up to the last that is not empty.
    bins: Vec<u64>,
    counted: u64,
    highest_units: f64,
    heard_share: f64,
}

/// The ages one node holds at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    total_units: f64,
    pairs: u64,
    oldest_units: f64,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            bins: vec![0; BINS],
            total_units: 0.0,
            pairs: 0,
            lacking_pairs: 0,
            oldest_total_units: 0.0,
            rows: 0,
            highest_units: 0.0,
        }
    }
}

impl Samples {
    /// Puts one age of a row into the histogram, by its bin: `BINS_PER_UNIT` bins a unit. Quantiles
    /// are those of the ages counted, which may be fewer than those added.
    #[inline]
    pub fn count(&mut self, bin: usize) {
        self.bins[bin.min(BINS - 1)] += 1;
    }

    /// Adds the ages of one node at one moment.
    pub fn add(&mut self, row: Row) {
        if row.pairs == 0 {
            return;
        }
        self.total_units += row.total_units;
        self.pairs += row.pairs;
        self.oldest_total_units += row.oldest_units;
        self.highest_units = self.highest_units.max(row.oldest_units);
        self.rows += 1;
    }

    /// Mean age over all pairs and samples.
    pub fn average_units(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.total_units / self.pairs as f64)
    }

    /// Age of a node's oldest entry: mean over nodes and samples.
    pub fn oldest_units(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.oldest_total_units / self.rows as f64)
    }

    /// The greatest age of all.
    pub fn highest_units(&self) -> Option<f64> {
        (self.rows > 0).then_some(self.highest_units)
    }

    /// Notes pairs without an age at one sample: the first has never heard of the second.
    pub fn lack(&mut self, pairs: u64) {
        self.lacking_pairs += pairs;
    }

    /// How the ages are spread.
    pub fn distribution(&self) -> Distribution {
        let used = self.bins.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let all = self.pairs + self.lacking_pairs;
        Distribution {
            bins: self.bins[..used].to_vec(),
            counted: self.bins.iter().sum(),
            highest_units: self.highest_units,
            heard_share: if all > 0 { self.pairs as f64 / all as f64 } else { 0.0 },
        }
    }
}

impl Distribution {
    /// The age that a share `quantile` of all ages does not exceed; `None` without ages.
    pub fn quantile_units(&self, quantile: f64) -> Option<f64> {
        let wanted = quantile * self.counted as f64;
        let mut below = 0.0;
        for (bin, &count) in self.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = count as f64;
            if below + count >= wanted {
                let share = ((wanted - below) / count).clamp(0.0, 1.0);
                let age = (bin as f64 + share) / BINS_PER_UNIT as f64;
                return Some(age.min(self.highest_units));
            }
            below += count;
        }
        None
    }

    /// How many ages were counted.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// The share of all pairs and samples with an age at all.
    pub fn heard_share(&self) -> f64 {
        self.heard_share
    }

    /// The share of all ages that exceed `age_units`, to a bin; `None` without ages.
    pub fn older_share(&self, age_units: f64) -> Option<f64> {
        let first = (age_units * BINS_PER_UNIT as f64).ceil() as usize;
        let older: u64 = self.bins.iter().skip(first).sum();
        (self.counted > 0).then(|| older as f64 / self.counted as f64)
    }

    /// The share of all pairs and samples, those without an age among them, whose age is at most
    /// `age_units`; `None` without ages.
    pub fn fresh_share(&self, age_units: f64) -> Option<f64> {
        self.older_share(age_units).map(|older| (1.0 - older) * self.heard_share)
    }

    /// Takes the ages of another run in: all ages count alike, whichever run they are from.
    pub fn absorb(&mut self, other: &Self) {
        self.bins.resize(self.bins.len().max(other.bins.len()), 0);
        self.bins.iter_mut().zip(&other.bins).for_each(|(mine, more)| *mine += more);
        let all = (self.counted + other.counted).max(1) as f64;
        let weighed = |share: f64, counted: u64| share * counted as f64 / all;
        self.heard_share =
            weighed(self.heard_share, self.counted) + weighed(other.heard_share, other.counted);
        self.counted += other.counted;
        self.highest_units = self.highest_units.max(other.highest_units);
    }
}

impl Row {
    /// A row of ages with this sum and this oldest.
    pub fn of(total_units: f64, pairs: u64, oldest_units: f64) -> Self {
        Self { total_units, pairs, oldest_units }
    }

    /// Adds one age, and counts it in `samples`.
    #[inline]
    pub fn add(&mut self, age_units: f64, samples: &mut Samples) {
        self.total_units += age_units;
        self.pairs += 1;
        self.oldest_units = self.oldest_units.max(age_units);
        samples.count((age_units * BINS_PER_UNIT as f64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_ages_put_in() {
        let mut samples = Samples::default();
        assert_eq!(samples.average_units(), None);
        assert_eq!(samples.distribution().quantile_units(0.5), None);
        for offset in [0.0, 100.0] {
            let mut row = Row::default();
            for age in 0..100 {
                row.add(offset + f64::from(age), &mut samples);
            }
            samples.add(row);
        }
        samples.add(Row::default());
        assert_eq!(samples.average_units(), Some(99.5));
        assert_eq!(samples.oldest_units(), Some(149.0));
        assert_eq!(samples.highest_units(), Some(199.0));
        for (quantile, expected) in [(0.5, 99.0), (0.9, 179.0), (0.99, 197.0), (1.0, 199.0)] {
            let age = samples.distribution().quantile_units(quantile).expect("there are ages");
            assert!((age - expected).abs() <= 1.0 / 64.0, "{quantile}: {age}");
        }
    }

    #[test]
    fn ages_beyond_the_histogram_are_kept_in_mean_and_highest() {
        let mut samples = Samples::default();
        let mut row = Row::default();
        row.add(1e6, &mut samples);
        samples.add(row);
        assert_eq!(samples.average_units(), Some(1e6));
        let middle = samples.distribution().quantile_units(0.5);
        assert!(middle.is_some_and(|age| age >= 2047.0));
    }

    #[test]
    fn shares_count_the_pairs_that_have_no_age() {
        let (mut samples, mut row) = (Samples::default(), Row::default());
        for age in 0..90 {
            row.add(f64::from(age) + 0.5, &mut samples);
        }
        samples.add(row);
        samples.lack(10);
        let mut ages = samples.distribution();
        assert_eq!(ages.older_share(81.0), Some(0.1));
        assert!((ages.heard_share() - 0.9).abs() < 1e-12);
        assert!(ages.fresh_share(45.0).is_some_and(|share| (share - 0.45).abs() < 1e-12));
        let once = ages.clone();
        ages.absorb(&once);
        assert_eq!((ages.counted, ages.older_share(81.0)), (180, Some(0.1)));
        assert!((ages.heard_share() - 0.9).abs() < 1e-12);
        assert_eq!(Distribution::default().fresh_share(1.0), None);
    }
}
