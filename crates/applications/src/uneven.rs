//! Tasks made like those of a Fock matrix, as many as one likes: what they cost is known, and
//! nothing has to be computed or kept to know it.
//!
//! So a thousand ranks fit into a process, where each of them would hold the integrals of a real
//! matrix. 60 % of the tasks are empty. The others take 4.4 ms in the mean over all tasks, and none
//! takes more than 8.4 times the mean of those that have work, as in the matrix of 16 beryllium
//! atoms in a line. Tasks lie in blocks of 1,000 that differ: in the heavy ones more have work, and
//! more of it.
//!
//! Invariant: what a task costs follows from its number alone.

use tidings_primitives::Chance;

use crate::Application;

/// Tasks of a block.
const BLOCK: u32 = 1000;

/// What makes the mean of all tasks, empty ones counted, 4.4 ms.
const SCALE_NS: f64 = 6.01e6;

/// So many tasks.
#[derive(Clone, Copy, Debug)]
pub struct Uneven(pub u32);

/// What the longest task takes: 8.4 times the mean of those that have work.
const MOST_NS: f64 = 92.4e6;

/// Which tasks ran: how many, and the sum of hashes of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How many.
    pub tasks: u64,
    /// The sum, modulo 2^64.
    pub hashes: u64,
}

impl Application for Uneven {
    type Task = u32;
    type Total = Total;

    fn roots(&self) -> impl Iterator<Item = u32> {
        0..self.0
    }

    fn empty(&self) -> Total {
        Total::default()
    }

    fn run(&self, &task: &u32, total: &mut Total, _: &mut impl FnMut(u32)) {
        total.tasks += 1;
        total.hashes = total.hashes.wrapping_add(hash(task));
    }

    fn merge(&self, total: &mut Total, other: &Total) {
        total.tasks += other.tasks;
        total.hashes = total.hashes.wrapping_add(other.hashes);
    }

    /// In nanoseconds.
    fn cost(&self, &task: &u32) -> u64 {
        let heavy = Chance::new(!u64::from(task / BLOCK)).exponential(1.0).min(6.0);
        let mut chance = Chance::new(u64::from(task));
        if !chance.happens((0.2 + 0.2 * heavy).min(1.0)) {
            return 0;
        }
        (SCALE_NS * (0.4 + heavy) * chance.exponential(1.0)).min(MOST_NS) as u64
    }
}

fn hash(task: u32) -> u64 {
    tidings_primitives::chance::mix(u64::from(task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_order;

    #[test]
    fn tasks_are_like_those_of_a_fock_matrix() {
        let uneven = Uneven(1_000_000);
        let costs: Vec<u64> = uneven.roots().map(|task| uneven.cost(&task)).collect();
        let sum = |costs: &[u64]| costs.iter().sum::<u64>() as f64 / costs.len() as f64;
        let mean = sum(&costs);
        assert!((3.9e6..4.9e6).contains(&mean), "{mean}");
        let empty = costs.iter().filter(|cost| **cost == 0).count() as f64 / costs.len() as f64;
        assert!((0.57..0.63).contains(&empty), "{empty}");
        let heaviest = costs.chunks(1000).map(sum).fold(0.0, f64::max) / mean;
        assert!((4.0..16.0).contains(&heaviest), "{heaviest}");
        let longest = costs.iter().max().map_or(0.0, |most| *most as f64);
        let of_the_rest = mean / (1.0 - empty);
        assert!((8.0..8.8).contains(&(longest / of_the_rest)), "{longest} {of_the_rest}");
    }

    #[test]
    fn each_task_counts_once() {
        let (total, tasks) = in_order(&Uneven(5));
        let hashes = (0..5).map(hash).fold(0, u64::wrapping_add);
        assert_eq!((total, tasks), (Total { tasks: 5, hashes }, 5));
    }
}
