//! Many tests at once: Holm's rule (Scandinavian Journal of Statistics 6, 1979).
//!
//! Twenty tests at 5 % each would raise an alarm in two of three campaigns in which nothing is
//! slower. Holm multiplies the least p by the number of tests, the next by one less, and so on; an
//! adjusted p of at most 0.05 then keeps the chance of *any* false alarm at 5 %, whatever depends
//! on what.

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
}
