//! A Fock matrix: the two-electron part of a self-consistent field, over beryllium atoms.
//!
//! A *task* is a quartet of blocks (i, j, k, l) of functions. It computes the integrals (ij|kl)
//! that can matter, and adds them, weighted by the density, to two blocks of the matrix: F_ij and
//! F_ik. Whether an integral can matter is known from a bound, S_ij · S_kl, before it is
//! computed, so that a task costs between nothing and 160,000 integrals. In a line of atoms most
//! tasks are empty, and they lie side by side.
//!
//! | module | what it holds |
//! |---|---|
//! | [`basis`] | the functions: Gaussians at atoms |
//! | [`integral`] | the integral of four of them |
//! | [`matrix`] | square matrices by blocks |
//! | [`quartet`] | a task's blocks, and which integrals matter |
//! | [`cost`] | how many integrals of each task pass the bound |
//!
//! Source: the example `scf` of Global Arrays (Pacific Northwest National Laboratory), which TASCEL
//! ran; Tilson, Minkoff, Wagner, Shepard, Sutton, Harrison, Kendall and Wong (1999) for the bound.

pub mod basis;
pub mod cost;
pub mod integral;
pub mod matrix;
pub mod quartet;

use crate::Application;
pub use basis::Basis;
use integral::{Boys, Pair};
use matrix::{BLOCK, Block, Matrix};
pub use quartet::{Quartet, THRESHOLD};

/// What all tasks read: the functions, the bounds and the density.
#[derive(Debug)]
pub struct Fock {
    basis: Basis,
    boys: Boys,
    bounds: Matrix,
    largest: f64,
    density: Matrix,
}

/// What a task adds to the matrix.
#[derive(Clone, Debug)]
pub struct Contribution {
    /// To the block (i, j).
    pub ij: Block,
    /// To the block (i, k).
    pub ik: Block,
    /// How many integrals were computed for it.
    pub integrals: u64,
}

impl Fock {
    /// The matrix of these functions. The density is their overlap, which falls with the distance
    /// as a density does, and is the same on each worker without a word between them.
    pub fn new(basis: Basis) -> Self {
        let bounds = integral::bounds(&basis);
        let largest = bounds.largest();
        let density = Matrix::of(basis.len(), |i, j| integral::overlap(&basis, i, j));
        Self { basis, boys: Boys::new(), bounds, largest, density }
    }

    /// Blocks in a row of the matrix.
    pub fn blocks(&self) -> usize {
        self.bounds.blocks()
    }

    /// How many tasks there are.
    pub fn tasks(&self) -> u64 {
        (self.blocks() as u64).pow(4)
    }

    /// The blocks of the task of this number: ((l · m + k) · m + j) · m + i of m blocks.
    pub fn quartet(&self, number: u64) -> Quartet {
        let blocks = self.blocks() as u64;
        let digit = |place: u32| (number / blocks.pow(place) % blocks) as usize;
        Quartet { i: digit(0), j: digit(1), k: digit(2), l: digit(3) }
    }

    /// The bounds of integrals, S.
    pub fn bounds(&self) -> &Matrix {
        &self.bounds
    }

    /// What a task adds to the matrix; `None` if no integral of it matters.
    pub fn contribution(&self, task: Quartet) -> Option<Contribution> {
        let (ij, kl) = (self.bounds.block(task.i, task.j), self.bounds.block(task.k, task.l));
        if ij.largest() * kl.largest() < THRESHOLD {
            return None;
        }
        let mut sum = Contribution { ij: Block::zero(), ik: Block::zero(), integrals: 0 };
        for i in 0..BLOCK {
            for j in 0..BLOCK {
                let bound = ij.at(i, j);
                if bound * self.largest >= THRESHOLD {
                    self.row(task, (i, j), bound, &mut sum);
                }
            }
        }
        Some(sum)
    }

    /// The integrals of one pair (i, j) of a task with all its pairs (k, l).
    fn row(&self, task: Quartet, (i, j): (usize, usize), bound: f64, sum: &mut Contribution) {
        let bounds = self.bounds.block(task.k, task.l);
        let (direct, exchange) =
            (self.density.block(task.k, task.l), self.density.block(task.j, task.l));
        let function = |block: usize, at: usize| self.basis.function(block * BLOCK + at);
        let left = Pair::new(function(task.i, i), function(task.j, j));
        for k in 0..BLOCK {
            for l in 0..BLOCK {
                if bound * bounds.at(k, l) < THRESHOLD {
                    continue;
                }
                let right = Pair::new(function(task.k, k), function(task.l, l));
                let value = integral::repulsion(&self.boys, &left, &right);
                sum.ij.add(i, j, value * direct.at(k, l));
                sum.ik.add(i, k, -0.5 * value * exchange.at(j, l));
                sum.integrals += 1;
            }
        }
    }
}

impl Application for Fock {
    type Task = u64;
    type Total = Matrix;

    fn roots(&self) -> impl Iterator<Item = u64> {
        0..self.tasks()
    }

    fn empty(&self) -> Matrix {
        Matrix::of(self.basis.len(), |_, _| 0.0)
    }

    fn run(&self, &task: &u64, total: &mut Matrix, _spawn: &mut impl FnMut(u64)) {
        let task = self.quartet(task);
        if let Some(sum) = self.contribution(task) {
            total.accumulate(task.i, task.j, &sum.ij);
            total.accumulate(task.i, task.k, &sum.ik);
        }
    }

    fn merge(&self, total: &mut Matrix, other: &Matrix) {
        total.add(other);
    }

    fn cost(&self, &task: &u64) -> u64 {
        cost::of_quartet(&self.bounds, self.quartet(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_order;

    fn small() -> Fock {
        Fock::new(Basis::line(4))
    }

    #[test]
    fn what_a_task_computes_is_what_it_costs() {
        let fock = small();
        for number in (0..fock.tasks()).step_by(7) {
            let sum = fock.contribution(fock.quartet(number));
            assert_eq!(sum.map_or(0, |sum| sum.integrals), fock.cost(&number), "{number}");
        }
    }

    /// The definition, element by element, without blocks or tasks.
    #[test]
    fn the_matrix_is_the_sum_of_its_definition() {
        let fock = small();
        let (matrix, tasks) = in_order(&fock);
        assert_eq!((fock.blocks(), tasks), (3, 81));
        let functions = fock.basis.len();
        let pair = |i, j| Pair::new(fock.basis.function(i), fock.basis.function(j));
        for (i, other) in [(0, 0), (3, 17), (24, 31), (59, 40)] {
            let mut sum = 0.0;
            for (k, l) in (0..functions).flat_map(|k| (0..functions).map(move |l| (k, l))) {
                let value = |a: (usize, usize), b: (usize, usize)| {
                    let passes = fock.bounds.at(a.0, a.1) * fock.bounds.at(b.0, b.1) >= THRESHOLD;
                    let right = pair(b.0, b.1);
                    f64::from(u8::from(passes))
                        * integral::repulsion(&fock.boys, &pair(a.0, a.1), &right)
                };
                sum += fock.density.at(k, l) * value((i, other), (k, l));
                sum -= 0.5 * fock.density.at(k, l) * value((i, k), (other, l));
            }
            let error = (sum - matrix.at(i, other)).abs();
            assert!(error < 1e-9 * sum.abs().max(1.0), "{i} {other}: {sum} {error}");
        }
    }

    #[test]
    fn numbers_of_tasks_are_quartets() {
        let fock = small();
        let task = fock.quartet(((2 * 3 + 1) * 3 + 2) * 3 + 1);
        assert_eq!(task, Quartet { i: 1, j: 2, k: 1, l: 2 });
    }
}
