//! The few statistics that the lab needs: a robust mean, its interval, two rank tests, where a
//! sequence changes, one rule for many tests.
//!
//! Run times are skewed to the right: something disturbs, nothing hastens. Ratios of two runs are
//! symmetrical but heavy-tailed (those of a run to a mean of two are not), so the centre is the
//! *interquartile mean* (the mean of the middle half), which a quarter of wild ratios on either
//! side cannot move far, and which wastes less than the median
//! (docs/decisions/0015-paired-laps.md has the figures). Intervals are bootstrapped, tests
//! go by ranks: neither supposes a distribution.

mod bootstrap;
mod change;
mod many;
mod quantiles;
mod ranks;

pub use bootstrap::{CONFIDENCE, Interval, bootstrap, bootstrap_difference};
pub use change::change_point;
pub use many::{Judged, Tested, holm, judge};
pub use quantiles::quantiles;
pub use ranks::{aligned_ranks, aligned_ranks_least, mann_whitney, rank_correlation};

/// The mean of the middle half of some values; NaN of none.
///
/// Where a quarter of the values is no whole number, those at the edges count in part.
pub fn interquartile_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    interquartile_mean_of(&mut sorted)
}

/// The same, of values that may be put into another order: no more of it is made than the two
/// places need where a quarter ends.
fn interquartile_mean_of(values: &mut [f64]) -> f64 {
    let (whole, rest) = quarter(values.len());
    if values.is_empty() {
        return f64::NAN;
    }
    let count = values.len() - 2 * whole;
    let (_, first, above) = values.select_nth_unstable_by(whole, f64::total_cmp);
    let first = *first;
    if count == 1 {
        return first;
    }
    let (between, last, _) = above.select_nth_unstable_by(count - 2, f64::total_cmp);
    let edges = (1.0 - rest) * (first + *last);
    (edges + between.iter().sum::<f64>()) / (count as f64 - 2.0 * rest)
}

/// A quarter of so many values: whole ones, and the part of one that is left.
fn quarter(count: usize) -> (usize, f64) {
    (count / 4, (count % 4) as f64 / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_middle_half_is_what_counts() {
        let mean = |values: &[f64]| interquartile_mean(values);
        assert!((mean(&[1.0]) - 1.0).abs() < 1e-12);
        assert!((mean(&[1.0, 3.0]) - 2.0).abs() < 1e-12);
        assert!((mean(&[1e9, 2.0, 4.0, -1e9]) - 3.0).abs() < 1e-12);
        // Of six, one and a half go on either side: half of 2, 3, 4, half of 5.
        assert!((mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 60.0]) - 3.5).abs() < 1e-12);
        assert!(mean(&[]).is_nan());
    }

    proptest! {
        #[test]
        fn it_lies_between_the_extremes_and_moves_with_the_values(
            values in prop::collection::vec(-1e3..1e3f64, 1..40), shift in -1e3..1e3f64,
        ) {
            let mean = interquartile_mean(&values);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(mean >= least - 1e-9 && mean <= most + 1e-9);
            let moved: Vec<f64> = values.iter().map(|value| value + shift).collect();
            prop_assert!((interquartile_mean(&moved) - mean - shift).abs() < 1e-8);
        }
    }
}
