//! Intervals by the bootstrap: how far the centre of a sample moves when the sample is drawn again
//! from itself.
//!
//! Efron's percentile interval, of the interquartile mean. What belongs together, as the pairs of a
//! repetition, is drawn together, or the interval would be too narrow. It is a little narrow for
//! samples of ten or so; the test of many synthetic campaigns (`tests/campaigns.rs`) counts how
//! often it misses. Drawn from a seed: the same sample gives the same interval.

use serde::{Deserialize, Serialize};
use tidings_primitives::Chance;

use super::{interquartile_mean_of, quarter};

/// The share of intervals that are to hold the true value.
pub const CONFIDENCE: f64 = 0.95;
/// How often a sample is drawn again: the ends of an interval then move by about 2 % of its width.
const DRAWS: usize = 2_000;
/// Any number will do, as long as it stays.
const SEED: u64 = 0x1ab;

/// An estimate and the interval that holds the true value with [`CONFIDENCE`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The interquartile mean of the sample.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// How far from zero its farther end is.
    pub fn reach(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// The same on another scale, by a function that only grows.
    #[must_use]
    pub fn map(&self, scale: impl Fn(f64) -> f64) -> Self {
        Self { estimate: scale(self.estimate), low: scale(self.low), high: scale(self.high) }
    }
}

/// The centre of the values of all repetitions with its interval; `None` of fewer than two
/// repetitions.
pub fn bootstrap(repetitions: &[Vec<f64>]) -> Option<Interval> {
    difference_of(repetitions, None)
}

/// The centre of the values of `repetitions` less that of `others`, with the interval of the
/// difference.
pub fn bootstrap_difference(repetitions: &[Vec<f64>], others: &[Vec<f64>]) -> Option<Interval> {
    difference_of(repetitions, Some(others))
}

fn difference_of(values: &[Vec<f64>], others: Option<&[Vec<f64>]>) -> Option<Interval> {
    if values.len() < 2 || others.is_some_and(|others| others.len() < 2) {
        return None;
    }
    let mut chance = Chance::new(SEED);
    let mut values_again = Redrawn::of(values);
    let mut others_again = others.map(Redrawn::of);
    let mut centres: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let centre = values_again.centre(&mut chance);
            centre - others_again.as_mut().map_or(0.0, |others| others.centre(&mut chance))
        })
        .collect();
    centres.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| centres[(share * (DRAWS - 1) as f64).round() as usize];
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some(Interval {
        estimate: centre_of(values) - others.map_or(0.0, centre_of),
        low: at(tail),
        high: at(1.0 - tail),
    })
}

fn centre_of(values: &[Vec<f64>]) -> f64 {
    interquartile_mean_of(&mut values.concat())
}

/// A sample that is drawn again and again from itself: as many repetitions, each any of them.
///
/// The values are sorted once. A draw then counts how often each repetition is in it, and one pass
/// over the values finds the centre: several times faster than to collect what was drawn and to
/// select from it where the quarters end.
struct Redrawn<'a> {
    repetitions: &'a [Vec<f64>],
    /// All values in ascending order, each with its repetition.
    sorted: Vec<(f64, u32)>,
    /// How often each repetition was drawn.
    counts: Vec<u32>,
}

impl<'a> Redrawn<'a> {
    fn of(repetitions: &'a [Vec<f64>]) -> Self {
        let numbered = repetitions.iter().zip(0..);
        let values =
            numbered.flat_map(|(repetition, at)| repetition.iter().map(move |&value| (value, at)));
        let mut sorted: Vec<(f64, u32)> = values.collect();
        sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        Self { repetitions, sorted, counts: vec![0; repetitions.len()] }
    }

    /// The interquartile mean of a draw.
    fn centre(&mut self, chance: &mut Chance) -> f64 {
        self.counts.fill(0);
        let mut drawn = 0;
        for _ in self.repetitions {
            let repetition = chance.below(self.repetitions.len());
            self.counts[repetition] += 1;
            drawn += self.repetitions[repetition].len();
        }
        if drawn == 0 {
            return f64::NAN;
        }
        let (whole, rest) = quarter(drawn);
        let count = drawn - 2 * whole;
        let (mut sorted, mut skipped) = (self.sorted.iter(), 0);
        let times = |&(_, repetition): &(f64, u32)| self.counts[repetition as usize] as usize;
        let mut next =
            || sorted.next().map(|pair| (pair.0, times(pair))).expect("the rest is there");
        let (mut value, mut again) = next();
        while skipped + again <= whole {
            skipped += again;
            (value, again) = next();
        }
        let first = value;
        // Those of the first value that are below the quarter's end are in the sum, less their own.
        let mut left = count + whole - skipped;
        let mut sum = -((whole - skipped) as f64 * first);
        while again < left {
            left -= again;
            sum += again as f64 * value;
            (value, again) = next();
        }
        sum += left as f64 * value;
        (sum - rest * (first + value)) / (count as f64 - 2.0 * rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The mean of a draw is that of its values, collected.
        #[test]
        fn a_draw_has_the_centre_of_its_values(
            repetitions in prop::collection::vec(prop::collection::vec(-9..9_i32, 1..4), 1..40),
            seed in any::<u64>(),
        ) {
            let third = |&value: &i32| f64::from(value) / 3.0;
            let real = |one: &Vec<i32>| one.iter().map(third).collect();
            let repetitions: Vec<Vec<f64>> = repetitions.iter().map(real).collect();
            let mut again = Redrawn::of(&repetitions);
            let (mut chance, mut same) = (Chance::new(seed), Chance::new(seed));
            for _ in 0..3 {
                let one = |_| repetitions[same.below(repetitions.len())].clone();
                let drawn = repetitions.iter().map(one);
                let centre = centre_of(&drawn.collect::<Vec<_>>());
                prop_assert!((again.centre(&mut chance) - centre).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_interval_holds_the_estimate_and_narrows_with_the_sample() {
        let sample = |n: u32| -> Vec<Vec<f64>> {
            (0..n).map(|at| vec![f64::from(at * 7919 % 101)]).collect()
        };
        let (few, many) = (bootstrap(&sample(10)), bootstrap(&sample(1_000)));
        let (few, many) = (few.expect("ten values"), many.expect("a thousand"));
        for interval in [few, many] {
            assert!(interval.low < interval.estimate && interval.estimate < interval.high);
        }
        assert!(many.half_width() < few.half_width() / 5.0, "{few:?} {many:?}");
        assert_eq!(bootstrap(&sample(10)), bootstrap(&sample(10)), "drawn from a seed");
    }

    #[test]
    fn values_of_a_repetition_are_drawn_together() {
        let single: Vec<Vec<f64>> = (0..40).map(|at| vec![f64::from(at * 7919 % 101)]).collect();
        let twice: Vec<Vec<f64>> =
            single.iter().map(|repetition| [&repetition[..], repetition].concat()).collect();
        let (single, twice) = (bootstrap(&single), bootstrap(&twice));
        let (single, twice) =
            (single.expect("forty repetitions"), twice.expect("forty repetitions"));
        assert!((single.estimate - twice.estimate).abs() < 1e-9);
        let widths = (single.half_width(), twice.half_width());
        assert!(
            (widths.0 / widths.1 - 1.0).abs() < 0.05,
            "repeated values say no more: {widths:?}"
        );
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_a_point() {
        assert_eq!(bootstrap(&[vec![1.0]]), None);
        let point = bootstrap(&vec![vec![2.0]; 5]).expect("five values");
        assert_eq!((point.low, point.high), (2.0, 2.0));
        let apart =
            bootstrap_difference(&vec![vec![3.0]; 4], &vec![vec![1.0]; 3]).expect("enough values");
        assert_eq!((apart.estimate, apart.low, apart.high), (2.0, 2.0, 2.0));
    }
}
