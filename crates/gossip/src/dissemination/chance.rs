//! Chance: a node's own source of random draws, all from one seed, in the order of its inputs.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random draws.
pub(crate) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, each with the same probability (to 2⁻³² for n below 2³²); 0 if n is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// One of `things`, each with the same probability.
    pub(crate) fn pick<T: Copy>(&mut self, things: &[T]) -> Option<T> {
        let at = self.below(things.len());
        things.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Null value: 10,000 draws for each of 100 numbers. A count is binomial with standard
    /// deviation 99.5; six of them make a false alarm rarer than 1 in 10⁶ runs. The seed is fixed.
    #[test]
    fn draws_are_uniform() {
        let mut chance = Chance::new(1);
        let mut counts = [0i32; 100];
        for _ in 0..1_000_000 {
            counts[chance.below(100)] += 1;
        }
        for count in counts {
            assert!((count - 10_000).abs() < 600, "{counts:?}");
        }
    }

    #[test]
    fn nothing_is_picked_from_nothing() {
        assert_eq!(Chance::new(1).pick::<u32>(&[]), None);
    }
}
