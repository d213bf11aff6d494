//! Tests by ranks: Hodges and Lehmann's aligned ranks for repetitions, Mann and Whitney's for two
//! samples.
//!
//! Exact where the sample is small enough to count (the distribution is built by adding one rank
//! after the other; Mann and Whitney's also wants no two values to tie); else by the normal
//! approximation with the correction for continuity. Both are two-sided.

/// The most repetitions that are counted.
const EXACT_REPETITIONS: usize = 60;
/// The largest product of two samples' sizes that is counted.
const EXACT_PRODUCT: usize = 900;

/// How likely repetitions at least this lopsided are if all runs of a repetition are alike: the p
/// of Hodges and Lehmann's test of aligned ranks (Annals of Mathematical Statistics 33, 1962). Of
/// each repetition the arm's value less each of the baseline's is given.
///
/// All runs are ranked by how far they are from the mean of their repetition; in each repetition
/// any of the ranks there might as well have been the arm's. Nothing is supposed of how times
/// scatter.
pub fn aligned_ranks(repetitions: &[Vec<f64>]) -> f64 {
    let aligned = repetitions.iter().flat_map(|ratios| {
        let mean = -ratios.iter().sum::<f64>() / (ratios.len() + 1) as f64;
        let baselines = ratios.iter().map(move |ratio| -ratio - mean);
        std::iter::once(-mean).chain(baselines)
    });
    let (ranks, _) = ranked(&aligned.collect::<Vec<f64>>());
    let mut rest = &ranks[..];
    let repetitions: Vec<&[f64]> = repetitions
        .iter()
        .map(|ratios| {
            let (own, others) = rest.split_at(ratios.len() + 1);
            rest = others;
            own
        })
        .collect();
    let arms: f64 = repetitions.iter().map(|ranks| ranks[0]).sum();
    if repetitions.len() <= EXACT_REPETITIONS {
        return two_sided(&shares_of_sums(&repetitions), doubled(arms));
    }
    let mean = |ranks: &[f64]| ranks.iter().sum::<f64>() / ranks.len() as f64;
    let spread = |ranks: &[f64]| {
        let middle = mean(ranks);
        ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>() / ranks.len() as f64
    };
    let expected: f64 = repetitions.iter().map(|ranks| mean(ranks)).sum();
    by_normal(arms - expected, repetitions.iter().map(|ranks| spread(ranks)).sum())
}

/// The least p that so many repetitions of three runs can have.
pub fn aligned_ranks_least(repetitions: u32) -> f64 {
    (2.0 * 3.0_f64.powi(-(repetitions as i32))).min(1.0)
}

/// How likely samples at least this far apart are if they come from one distribution: the p of the
/// test of Mann and Whitney.
pub fn mann_whitney(values: &[f64], others: &[f64]) -> f64 {
    if values.is_empty() || others.is_empty() {
        return 1.0;
    }
    let all: Vec<f64> = values.iter().chain(others).copied().collect();
    let (ranks, ties) = ranked(&all);
    let (n, m) = (values.len() as f64, others.len() as f64);
    let above = ranks[..values.len()].iter().sum::<f64>() - n * (n + 1.0) / 2.0;
    if ties == 0.0 && values.len() * others.len() <= EXACT_PRODUCT {
        return two_sided(&ways_of_orders(values.len(), others.len()), above as usize);
    }
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    by_normal(above - n * m / 2.0, variance)
}

/// Spearman's rank correlation of two lists, equal values having their mean rank; `None` if they
/// are not of one length, or all values of one are equal.
pub fn rank_correlation(values: &[f64], others: &[f64]) -> Option<f64> {
    let ((ranks, _), (of_others, _)) = (ranked(values), ranked(others));
    let middle = f64::midpoint(values.len() as f64, 1.0);
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    let scale = (product(&ranks, &ranks) * product(&of_others, &of_others)).sqrt();
    (values.len() == others.len() && scale > 0.0).then(|| product(&ranks, &of_others) / scale)
}

/// The rank of each value, from 1, the mean rank where values are equal; and the sum of t³ − t over
/// groups of t equal values.
pub(super) fn ranked(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut ties, mut before) = (vec![0.0; values.len()], 0.0, 0.0);
    for group in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        let t = group.len() as f64;
        for &at in group {
            ranks[at] = before + f64::midpoint(t, 1.0);
        }
        before += t;
        ties += t * t * t - t;
    }
    (ranks, ties)
}

/// How likely each sum of ranks is, doubled because ties have halves, where each repetition gives
/// one of its own.
fn shares_of_sums(repetitions: &[&[f64]]) -> Vec<f64> {
    let most = |ranks: &&[f64]| ranks.iter().copied().map(doubled).max().unwrap_or(0);
    let mut shares = vec![0.0; repetitions.iter().map(most).sum::<usize>() + 1];
    shares[0] = 1.0;
    for ranks in repetitions {
        let mut next = vec![0.0; shares.len()];
        for rank in ranks.iter().copied().map(doubled) {
            for (share, before) in next[rank..].iter_mut().zip(&shares) {
                *share += before / ranks.len() as f64;
            }
        }
        shares = next;
    }
    shares
}

fn doubled(rank: f64) -> usize {
    (2.0 * rank).round() as usize
}

/// In how many orders of n values and m others so many pairs have the value above the other: the
/// coefficients of Gauss's binomial, built by multiplying with (1 − q^(m+k)) / (1 − q^k).
fn ways_of_orders(n: usize, m: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for k in 1..=n {
        for sum in (m + k..ways.len()).rev() {
            ways[sum] -= ways[sum - m - k];
        }
        for sum in k..ways.len() {
            ways[sum] += ways[sum - k];
        }
    }
    ways
}

/// Twice the share of ways on the side of `at` that has fewer, `at` included.
fn two_sided(ways: &[f64], at: usize) -> f64 {
    let below: f64 = ways[..=at].iter().sum();
    let above: f64 = ways[at..].iter().sum();
    let all: f64 = ways.iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

/// Two-sided, with half a step taken off because ranks are whole numbers.
fn by_normal(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance.abs() - 0.5).max(0.0) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(p: f64, wanted: f64) {
        assert!((p - wanted).abs() < 1e-6 * wanted.max(1e-3), "{p} {wanted}");
    }

    #[test]
    fn p_values_are_those_of_scipy() {
        // scipy.stats.mannwhitneyu(x, y, method="exact") and method="asymptotic".
        near(mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0]), 0.057_142_857);
        near(mann_whitney(&[1.0, 4.0, 9.0, 12.0], &[2.0, 3.0, 5.0, 6.0]), 0.685_714_285_714);
        near(mann_whitney(&[1.0, 2.0, 2.0, 3.0], &[2.0, 4.0, 5.0, 5.0]), 0.101_591_499_862);
    }

    #[test]
    fn rank_correlation_is_that_of_scipy() {
        let of = |one: &[f64], other: &[f64]| rank_correlation(one, other);
        // scipy.stats.spearmanr(x, y).
        near(of(&[1.0, 2.0, 2.0, 3.0], &[1.0, 3.0, 2.0, 4.0]).expect("ranks"), 0.948_683_298_051);
        near(of(&[3.0, 2.0, 1.0], &[1.0, 20.0, 300.0]).expect("ranks"), -1.0);
        assert_eq!(of(&[1.0, 1.0], &[1.0, 2.0]), None, "one has no order");
        assert_eq!(of(&[1.0, 2.0, 3.0], &[1.0, 2.0]), None);
        assert_eq!(of(&[], &[]), None);
    }

    #[test]
    fn what_says_nothing_has_p_1() {
        near(aligned_ranks(&[]), 1.0);
        near(aligned_ranks(&vec![vec![0.0; 2]; 9]), 1.0);
        near(mann_whitney(&[1.0; 40], &[1.0; 40]), 1.0);
        near(mann_whitney(&[], &[1.0]), 1.0);
    }

    #[test]
    fn small_repetitions_are_counted() {
        // Two repetitions of three: in each the arm is the last of three with one chance in three.
        let last = vec![vec![1.0, 2.0], vec![3.0, 5.0]];
        near(aligned_ranks(&last), aligned_ranks_least(2));
        // Three repetitions of two: the arm is above in each with one chance in eight.
        let above = vec![vec![1.0], vec![2.0], vec![3.0]];
        near(aligned_ranks(&above), 2.0 / 8.0);
        let either: Vec<Vec<f64>> = above.iter().map(|repetition| vec![-repetition[0]]).collect();
        near(aligned_ranks(&either), 2.0 / 8.0);
    }

    #[test]
    fn the_exact_and_the_approximate_meet() {
        let ratio = |at: u32| f64::from(at * 37 % 61) - 24.5;
        let repetitions =
            |count| (1..=count).map(|at| vec![ratio(at), ratio(at + 7)]).collect::<Vec<_>>();
        let (exact, approximate) =
            (aligned_ranks(&repetitions(60)), aligned_ranks(&repetitions(61)));
        assert!((exact - approximate).abs() < 0.02, "{exact} {approximate}");
    }
}
