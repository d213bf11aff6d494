//! Fibonacci numbers by their definition: nothing but forks, so it measures what a fork costs.
//!
//! The task of n ≥ 2 forks those of n − 1 and n − 2; a leaf adds itself. There is no cut-off below
//! which it goes on in order, so that fib(30) makes 1,346,268 forks of a few nanoseconds.
//!
//! Source: the Cilk papers (Frigo, Leiserson and Randall, PLDI 1998).

use crate::Application;

/// The number to compute.
#[derive(Clone, Copy, Debug)]
pub struct Fibonacci(pub u32);

/// What the leaves add up to, and how many tasks forked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The Fibonacci number, when all is merged.
    pub number: u64,
    /// Tasks that spawned two others.
    pub forks: u64,
}

impl Application for Fibonacci {
    type Task = u32;
    type Total = Total;

    fn roots(&self) -> impl Iterator<Item = u32> {
        [self.0].into_iter()
    }

    fn empty(&self) -> Total {
        Total::default()
    }

    fn run(&self, &n: &u32, total: &mut Total, spawn: &mut impl FnMut(u32)) {
        if n < 2 {
            total.number += u64::from(n);
        } else {
            total.forks += 1;
            spawn(n - 1);
            spawn(n - 2);
        }
    }

    fn merge(&self, total: &mut Total, other: &Total) {
        total.number += other.number;
        total.forks += other.forks;
    }
}

/// The n-th Fibonacci number, in n steps: what the tasks must come to.
pub fn number(n: u32) -> u64 {
    let step = |(one, next): (u64, u64), _| (next, one + next);
    (0..n).fold((0, 1), step).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_order;

    #[test]
    fn thirty_makes_the_forks_that_the_papers_state() {
        let (total, tasks) = in_order(&Fibonacci(30));
        assert_eq!(total, Total { number: 832_040, forks: 1_346_268 });
        assert_eq!(tasks, 2 * total.forks + 1);
        assert_eq!(total.number, number(30));
    }

    #[test]
    fn the_first_are_zero_and_one() {
        assert_eq!((0..8).map(number).collect::<Vec<_>>(), [0, 1, 1, 2, 3, 5, 8, 13]);
        assert_eq!(in_order(&Fibonacci(0)).0, Total::default());
    }
}
