//! What tasks cost: how many of their integrals pass the bound, without computing one.
//!
//! An integral counts if S_ij · S_kl ≥ 10⁻⁶. With the bounds of both blocks in descending order,
//! the more S_ij falls the fewer S_kl pass, so one walk along both counts all 160,000 products in
//! 800 steps. S is symmetric, so a block and its transpose cost the same, and (ij, kl) costs what
//! (kl, ij) does: of 48⁴ tasks an eighth is counted.

use super::matrix::{BLOCK, Matrix};
use super::quartet::{Quartet, THRESHOLD};

/// The costs of all tasks, in the order of their numbers.
///
/// ```
/// use tidings_applications::scf::{Basis, Fock, cost};
///
/// let costs = cost::of_all(Fock::new(Basis::line(16)).bounds());
/// assert_eq!((costs.len(), costs.iter().max()), (20_736, Some(&153_832)));
/// ```
pub fn of_all(bounds: &Matrix) -> Vec<u32> {
    let blocks = bounds.blocks();
    let pairs: Vec<Vec<f64>> = ordered_pairs(bounds);
    let number = |one: usize, other: usize| {
        let (low, high) = (one.min(other), one.max(other));
        high * (high + 1) / 2 + low
    };
    let mut counts = vec![0; pairs.len() * pairs.len()];
    for one in 0..pairs.len() {
        for other in 0..=one {
            let count = passing(&pairs[one], &pairs[other]);
            counts[one * pairs.len() + other] = count;
            counts[other * pairs.len() + one] = count;
        }
    }
    let mut costs = Vec::with_capacity(blocks.pow(4));
    for right in 0..blocks * blocks {
        let row = number(right % blocks, right / blocks) * pairs.len();
        for left in 0..blocks * blocks {
            costs.push(counts[row + number(left % blocks, left / blocks)]);
        }
    }
    costs
}

/// The cost of one task.
pub(super) fn of_quartet(bounds: &Matrix, task: Quartet) -> u64 {
    let ordered = |row, column| descending(bounds, row, column);
    u64::from(passing(&ordered(task.i, task.j), &ordered(task.k, task.l)))
}

/// The bounds of each block on and below the diagonal, in descending order.
fn ordered_pairs(bounds: &Matrix) -> Vec<Vec<f64>> {
    let rows = 0..bounds.blocks();
    let places = rows.flat_map(|row| (0..=row).map(move |column| (row, column)));
    places.map(|(row, column)| descending(bounds, row, column)).collect()
}

fn descending(bounds: &Matrix, row: usize, column: usize) -> Vec<f64> {
    let mut elements = bounds.block(row, column).elements().to_vec();
    elements.sort_by(|one, other| other.total_cmp(one));
    elements
}

/// How many products of one of each, both in descending order, pass.
fn passing(one: &[f64], other: &[f64]) -> u32 {
    let (mut count, mut within) = (0, other.len());
    for bound in one {
        while within > 0 && bound * other[within - 1] < THRESHOLD {
            within -= 1;
        }
        if within == 0 {
            break;
        }
        count += within as u32;
    }
    count
}

/// Costs are at most this.
pub const MOST: u32 = (BLOCK * BLOCK * BLOCK * BLOCK) as u32;

#[cfg(test)]
mod tests {
    use super::super::basis::Basis;
    use super::super::integral;
    use super::*;

    /// What describes a list of costs.
    #[derive(Debug, PartialEq)]
    struct Statistics {
        tasks: usize,
        empty: usize,
        /// Of those that are not empty, as the next two.
        mean: u64,
        median: u32,
        largest: u32,
        /// Hundred times the coefficient of variation of all.
        variation: u64,
    }

    fn statistics(sides: [usize; 3]) -> Statistics {
        let costs = of_all(&integral::bounds(&Basis::grid(sides)));
        let mut rest: Vec<u32> = costs.iter().copied().filter(|cost| *cost > 0).collect();
        rest.sort_unstable();
        let sum: f64 = rest.iter().copied().map(f64::from).sum();
        let mean = sum / costs.len() as f64;
        let squares: f64 = costs.iter().map(|cost| (f64::from(*cost) - mean).powi(2)).sum();
        Statistics {
            tasks: costs.len(),
            empty: costs.len() - rest.len(),
            mean: (sum / rest.len() as f64).round() as u64,
            median: rest[rest.len() / 2],
            largest: rest[rest.len() - 1],
            variation: (100.0 * (squares / costs.len() as f64).sqrt() / mean).round() as u64,
        }
    }

    #[test]
    fn most_tasks_of_a_line_are_empty() {
        let (tasks, empty) = (20_736, 14_332);
        let (mean, median, largest, variation) = (18_406, 2_375, 153_832, 334);
        let expected = Statistics { tasks, empty, mean, median, largest, variation };
        assert_eq!(statistics([16, 1, 1]), expected);
    }

    #[test]
    fn no_task_of_a_small_box_is_empty() {
        let (tasks, empty) = (20_736, 0);
        let (mean, median, largest, variation) = (30_292, 18_856, 154_852, 99);
        let expected = Statistics { tasks, empty, mean, median, largest, variation };
        assert_eq!(statistics([4, 2, 2]), expected);
    }

    #[test]
    fn few_tasks_of_a_large_box_are_empty() {
        let (tasks, empty) = (5_308_416, 344_976);
        let (mean, median, largest, variation) = (6_821, 1_359, 154_852, 208);
        let expected = Statistics { tasks, empty, mean, median, largest, variation };
        assert_eq!(statistics([4, 4, 4]), expected);
    }
}
