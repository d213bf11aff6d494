//! Quantiles: below which value a share of a sample lies.

/// The quantiles of some values at these shares, each between 0 and 1; NaN of none.
///
/// Between two values a quantile lies as far as its share does (Hyndman and Fan's seventh
/// definition), so none is outside the sample.
pub fn quantiles<const COUNT: usize>(values: &[f64], shares: [f64; COUNT]) -> [f64; COUNT] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    shares.map(|share| quantile_of(&sorted, share))
}

fn quantile_of(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    // Rounding must not carry it beyond its neighbours.
    (low + (high - low) * (place - below as f64)).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_share_between_two_values_lies_between_them() {
        let of = |values: &[f64]| quantiles(values, [0.25, 0.5, 0.75]).map(|own| own.to_string());
        assert_eq!(of(&[5.0, 1.0, 4.0, 2.0, 3.0]), ["2", "3", "4"]);
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), ["1.75", "2.5", "3.25"]);
        assert_eq!(of(&[7.0]), ["7"; 3]);
        assert_eq!(of(&[]), ["NaN"; 3]);
    }

    proptest! {
        #[test]
        fn none_is_outside_the_sample_and_they_grow_with_their_shares(
            values in prop::collection::vec(-1e9..1e9f64, 1..60), share in 0.0..1.0f64,
        ) {
            let [least, low, p25, p50, p75, most] =
                quantiles(&values, [0.0, share * 0.25, 0.25, 0.5, 0.75, 1.0]);
            prop_assert!(least <= low && low <= p25 && p25 <= p50 && p50 <= p75 && p75 <= most);
            let is_of_them = |end: f64| values.iter().any(|own| own.total_cmp(&end).is_eq());
            prop_assert!(is_of_them(least) && is_of_them(most));
            prop_assert!(values.iter().all(|own| (least..=most).contains(own)));
        }
    }
}
