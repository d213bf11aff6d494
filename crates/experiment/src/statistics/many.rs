//! Many tests at once: Holm's rule (Scandinavian Journal of Statistics 6, 1979).
//!
//! Twenty tests at 5 % each would raise an alarm in two of three campaigns in which nothing is
//! slower. Holm multiplies the least p by the number of tests, the next by one less, and so on; an
//! adjusted p of at most 0.05 then keeps the chance of *any* false alarm at 5 %, whatever depends
//! on what.
//!
//! What differs must pass its test so adjusted, and have an interval that excludes zero: a test by
//! ranks alone would also find differences whose size nobody can state.

use super::bootstrap::{CONFIDENCE, Interval};

/// What is known of a difference before its test is adjusted for the others.
#[derive(Clone, Copy, Debug)]
pub struct Tested {
    /// The p of its own test.
    pub p: f64,
    /// The interval of the difference, where there is one.
    pub change: Option<Interval>,
}

/// What is said of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Its p, adjusted for all.
    pub p_holm: f64,
    /// Whether the two differ.
    pub differs: bool,
}

/// Judges differences that were tested together, in the order in which they came.
pub fn judge(tested: &[Tested]) -> Vec<Judged> {
    let p: Vec<f64> = tested.iter().map(|one| one.p).collect();
    let judged = |(one, p_holm): (&Tested, f64)| {
        let excludes_zero = one.change.is_some_and(|change| change.low * change.high > 0.0);
        Judged { p_holm, differs: p_holm <= 1.0 - CONFIDENCE && excludes_zero }
    };
    tested.iter().zip(holm(&p)).map(judged).collect()
}

/// The p values adjusted for their number, in the order in which they came.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_unstable_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        most = most.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_multiplied_most_and_the_order_stays() {
        // As R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (adjusted, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((adjusted - wanted).abs() < 1e-12, "{adjusted} {wanted}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn what_differs_passes_its_adjusted_test_and_has_an_interval_without_zero() {
        let of = |p, change: Option<[f64; 2]>| Tested {
            p,
            change: change.map(|[low, high]| Interval { estimate: 0.5 * (low + high), low, high }),
        };
        let judged = judge(&[
            of(0.001, Some([0.1, 0.2])),
            of(0.001, Some([-0.1, 0.2])),
            of(0.001, None),
            of(0.04, Some([0.1, 0.2])), // the greatest p is multiplied by one
            of(0.001, Some([-0.2, -0.1])),
        ]);
        let differ: Vec<bool> = judged.iter().map(|one| one.differs).collect();
        assert_eq!(differ, [true, false, false, true, true]);
        let judged = judge(&[of(0.04, Some([0.1, 0.2])), of(0.5, None)]);
        assert!(!judged[0].differs && (judged[0].p_holm - 0.08).abs() < 1e-12, "{judged:?}");
    }
}
