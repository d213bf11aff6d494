//! Tests by ranks: Wilcoxon's signed ranks for pairs, Mann and Whitney's for two samples.
//!
//! Exact where no two values tie and the sample is small enough to count (the distribution is built
//! by adding one rank after the other); else by the normal approximation with the correction for
//! ties and for continuity. Both are two-sided.

/// The largest sample of pairs that is counted.
const EXACT_PAIRS: usize = 60;
/// The largest product of two samples' sizes that is counted.
const EXACT_PRODUCT: usize = 900;

/// How likely ratios at least this lopsided are if each is as likely above zero as below: the p of
/// Wilcoxon's signed-rank test. Zeros say nothing and are left out.
pub fn signed_rank(values: &[f64]) -> f64 {
    let signed: Vec<f64> = values.iter().copied().filter(|&value| value != 0.0).collect();
    let sizes: Vec<f64> = signed.iter().map(|value| value.abs()).collect();
    let (ranks, ties) = ranked(&sizes);
    let above: f64 = ranks.iter().zip(&signed).filter(|(_, v)| **v > 0.0).map(|(r, _)| r).sum();
    let n = signed.len() as f64;
    if signed.is_empty() {
        return 1.0;
    }
    if ties == 0.0 && signed.len() <= EXACT_PAIRS {
        let ways = ways_of_signs(signed.len());
        return two_sided(&ways, above as usize);
    }
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    by_normal(above - mean, variance)
}

/// The least p that so many pairs can have.
pub fn signed_rank_least(pairs: u32) -> f64 {
    (2.0 * 0.5_f64.powi(pairs as i32)).min(1.0)
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
        let ways = ways_of_orders(values.len(), others.len());
        return two_sided(&ways, above as usize);
    }
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    by_normal(above - n * m / 2.0, variance)
}

/// The rank of each value, from 1, the mean rank where values are equal; and the sum of t³ − t over
/// groups of t equal values.
fn ranked(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
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

/// In how many ways of giving signs to the ranks 1 to n the positive ones add up to 0, 1, 2, ...
fn ways_of_signs(n: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * (n + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
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

/// The share of ways at least as far from the middle as `at`, on both sides; ways are symmetrical.
fn two_sided(ways: &[f64], at: usize) -> f64 {
    let tail = at.min(ways.len() - 1 - at);
    let all: f64 = ways.iter().sum();
    (2.0 * ways[..=tail].iter().sum::<f64>() / all).min(1.0)
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
        // scipy.stats.wilcoxon(x, method="exact"), and without it where values tie.
        near(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.03125);
        near(signed_rank(&[1.0, -2.0, 3.0, 4.0, 5.0, -6.0, 7.0]), 0.375);
        near(signed_rank(&[1.0, 1.0, 2.0, -1.0, 3.0, 2.0, 2.0, 5.0]), 0.028_377_266_738);
        // scipy.stats.mannwhitneyu(x, y, method="exact") and method="asymptotic".
        near(mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0]), 0.057_142_857);
        near(mann_whitney(&[1.0, 4.0, 9.0, 12.0], &[2.0, 3.0, 5.0, 6.0]), 0.685_714_285_714);
        near(mann_whitney(&[1.0, 2.0, 2.0, 3.0], &[2.0, 4.0, 5.0, 5.0]), 0.101_591_499_862);
    }

    #[test]
    fn what_says_nothing_has_p_1() {
        near(signed_rank(&[]), 1.0);
        near(signed_rank(&[0.0; 9]), 1.0);
        near(mann_whitney(&[1.0; 40], &[1.0; 40]), 1.0);
        near(mann_whitney(&[], &[1.0]), 1.0);
    }

    #[test]
    fn the_exact_and_the_approximate_meet() {
        let values: Vec<f64> = (1..=60).map(|at| f64::from(at * 37 % 61) - 24.5).collect();
        let exact = signed_rank(&values);
        let mut tied = values.clone();
        tied[1] = tied[0];
        assert!((exact - signed_rank(&tied)).abs() < 0.02, "{exact}");
        near(signed_rank_least(6), signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    }
}
