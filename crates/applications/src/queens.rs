//! The queens problem: how many ways to place n queens on a board of n × n, none attacking
//! another.
//!
//! Queens are placed row by row. A task is a placement of the first rows: down to depth 4 it
//! spawns one task for each square of the next row that is not attacked, and below it counts in
//! order. Three masks tell which columns of the next row are attacked: by columns, and by both
//! diagonals, which shift by one a row.
//!
//! Source: the benchmarks of Cilk (Frigo, Leiserson and Randall, PLDI 1998); masks: Richards
//! (1997).

use crate::Application;

/// Rows whose placements are tasks of their own.
const DEPTH: u32 = 4;

/// The largest board: a mask has a bit a column.
pub const WIDEST: u32 = 32;

/// The size of the board.
#[derive(Clone, Copy, Debug)]
pub struct Queens(u32);

/// A placement of the first rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Rows with a queen.
    pub depth: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Placement {
    /// Its numbers: what a message carries.
    pub fn words(self) -> [u32; 4] {
        [self.depth, self.columns, self.falling, self.rising]
    }

    /// The placement of these numbers.
    pub fn of_words([depth, columns, falling, rising]: [u32; 4]) -> Self {
        Self { depth, columns, falling, rising }
    }

    /// With a queen in this column of the next row, a mask of one bit.
    fn with(self, column: u32) -> Self {
        Self {
            depth: self.depth + 1,
            columns: self.columns | column,
            falling: (self.falling | column) << 1,
            rising: (self.rising | column) >> 1,
        }
    }
}

impl Queens {
    /// A board of `n` × `n`; `None` if that is 0 or more than [`WIDEST`].
    pub fn new(n: u32) -> Option<Self> {
        (1..=WIDEST).contains(&n).then_some(Self(n))
    }

    /// The squares of the next row that are not attacked, each a mask of one bit.
    fn free(self, placement: Placement) -> impl Iterator<Item = u32> {
        let all = u32::MAX >> (WIDEST - self.0);
        let mut left = all & !(placement.columns | placement.falling | placement.rising);
        core::iter::from_fn(move || {
            let lowest = left & left.wrapping_neg();
            left ^= lowest;
            (lowest != 0).then_some(lowest)
        })
    }

    /// The ways to place the remaining queens, in order.
    fn count(self, placement: Placement) -> u64 {
        if placement.depth == self.0 {
            return 1;
        }
        self.free(placement).map(|column| self.count(placement.with(column))).sum()
    }
}

impl Application for Queens {
    type Task = Placement;
    type Total = u64;

    fn roots(&self) -> impl Iterator<Item = Placement> {
        [Placement::default()].into_iter()
    }

    fn empty(&self) -> u64 {
        0
    }

    fn run(&self, &task: &Placement, total: &mut u64, spawn: &mut impl FnMut(Placement)) {
        if task.depth < DEPTH.min(self.0) {
            self.free(task).for_each(|column| spawn(task.with(column)));
        } else {
            *total += self.count(task);
        }
    }

    fn merge(&self, total: &mut u64, other: &u64) {
        *total += other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_order;

    #[test]
    fn boards_have_the_known_numbers_of_solutions() {
        // Sequence A000170 of the On-Line Encyclopedia of Integer Sequences.
        let known = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596];
        for (n, solutions) in (1..).zip(known) {
            let board = Queens::new(n).expect("a board of that size");
            assert_eq!(in_order(&board).0, solutions, "{n}");
        }
    }

    #[test]
    fn tasks_are_the_placements_to_depth_four() {
        let (_, tasks) = in_order(&Queens::new(8).expect("a board"));
        // 1, 8, 42, 140 and 344 ways to place the first 0 to 4 queens on a board of 8.
        assert_eq!(tasks, 1 + 8 + 42 + 140 + 344);
    }

    #[test]
    fn a_board_without_squares_and_one_too_wide_are_refused() {
        assert!(Queens::new(0).is_none() && Queens::new(33).is_none());
    }
}
