//! How long gaps were: counts in buckets, eight for each doubling, so that a value is known to an
//! eighth and the memory is fixed whatever comes.

use serde::{Deserialize, Serialize};

/// Buckets for each doubling.
const PARTS: u64 = 8;
/// All there can be for numbers of 64 bits.
const BUCKETS: usize = 64 * PARTS as usize;

/// Counts by length.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    all: u64,
}

/// A bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// From this length on.
    pub from_ns: u64,
    /// Below this one.
    pub below_ns: u64,
    /// How many.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], all: 0 }
    }
}

impl Histogram {
    /// One more of this length.
    pub fn add(&mut self, length_ns: u64) {
        self.counts[place(length_ns)] += 1;
        self.all += 1;
    }

    /// The length below which this share lies, by the upper edge of its bucket; `None` of none.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let wanted = ((self.all as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let reaches = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        self.counts.iter().position(reaches).map(|place| edge(place + 1))
    }

    /// The buckets that are not empty, shortest first.
    pub fn buckets(&self) -> Vec<Bucket> {
        let all = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        all.map(|(place, &count)| Bucket { from_ns: edge(place), below_ns: edge(place + 1), count })
            .collect()
    }
}

/// The bucket of a length: exact below `PARTS`, then by the highest bit and the three below it.
fn place(length: u64) -> usize {
    if length < PARTS {
        return length as usize;
    }
    let bits = u64::from(length.ilog2());
    let part = (length >> (bits - 3)) & (PARTS - 1);
    ((bits - 2) * PARTS + part) as usize
}

/// The least length of a bucket.
fn edge(place: usize) -> u64 {
    let place = place as u64;
    if place < PARTS {
        return place;
    }
    let (bits, part) = (place / PARTS + 2, place % PARTS);
    if bits > 63 { u64::MAX } else { (PARTS + part) << (bits - 3) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_length_lies_in_its_bucket_and_is_known_to_an_eighth(length in any::<u64>()) {
            let at = place(length);
            prop_assert!(edge(at) <= length);
            prop_assert!(length < edge(at + 1) || edge(at + 1) == u64::MAX);
            if length > 8 && edge(at + 1) != u64::MAX {
                prop_assert!(edge(at + 1) - edge(at) <= length / 8 + 1);
            }
        }
    }

    #[test]
    fn quantiles_go_by_counts() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.5), None);
        (0..99).for_each(|_| histogram.add(1_000));
        histogram.add(1_000_000);
        let half = histogram.quantile_ns(0.5).expect("there are some");
        assert!((1_000..=1_125).contains(&half), "{half}");
        assert!(histogram.quantile_ns(1.0).expect("some") > 1_000_000);
        assert_eq!(histogram.buckets().iter().map(|bucket| bucket.count).sum::<u64>(), 100);
    }
}
