//! Where a sequence of values changes: Pettitt's test (Applied Statistics 28, 1979).
//!
//! For each place it is counted how often a value before it is above one after it, less how often
//! it is below; the place where that is farthest from zero is where the sequence changes, if it is
//! farther than chance goes. Only ranks count, so that a few wild values find no change.

use super::ranks::ranked;

/// With this p a sequence is taken to change.
const SIGNIFICANCE: f64 = 0.01;

/// How many values stand before the change; `None` if there is none.
pub fn change_point(values: &[f64]) -> Option<usize> {
    let n = values.len() as f64;
    let (ranks, _) = ranked(values);
    let mut sum = 0.0;
    let mut farthest = (0.0, 0);
    for (at, rank) in ranks.iter().enumerate().take(values.len().saturating_sub(1)) {
        sum += rank;
        let before = (at + 1) as f64;
        let distance = (2.0 * sum - before * (n + 1.0)).abs();
        if distance > farthest.0 {
            farthest = (distance, at + 1);
        }
    }
    let (distance, place) = farthest;
    let p = 2.0 * (-6.0 * distance * distance / (n * n * n + n * n)).exp();
    (place > 0 && p <= SIGNIFICANCE).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_primitives::Chance;

    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut chance = Chance::new(seed);
        (0..count).map(|_| 1.0 + chance.below(1000) as f64 / 1000.0).collect()
    }

    #[test]
    fn a_slow_begin_is_found_where_it_ends() {
        let mut values = noise(3, 100);
        for value in &mut values[..12] {
            *value += 2.0;
        }
        let place = change_point(&values).expect("it is slower at first");
        assert!((11..=13).contains(&place), "{place}");
        assert_eq!(change_point(&[]), None);
        assert_eq!(change_point(&[2.0; 50]), None, "equal values do not change");
    }

    #[test]
    fn of_sequences_that_do_not_change_few_are_said_to() {
        let found = (0..400).filter(|&seed| change_point(&noise(seed, 60)).is_some()).count();
        assert!(found <= 12, "{found} of 400 at 1 %");
        let mut wild = noise(1, 60);
        wild[0] = 1e9;
        assert_eq!(change_point(&wild), None, "one wild value is no change");
    }
}
