//! Chance: random draws, all from one seed, in the order in which they are asked for.
//!
//! One generator for the whole workspace: xoshiro256++ (Blackman and Vigna, 2018), seeded by
//! SplitMix64. It is for spreading load, for simulations and for salts of a seed that is itself
//! unpredictable; it makes no keys.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random draws.
#[derive(Clone, Debug)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The stream of a seed.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, each with the same probability (to 2⁻³² for n below 2³²); 0 if n is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// One of `things`, each with the same probability.
    #[inline]
    pub fn pick<T: Copy>(&mut self, things: &[T]) -> Option<T> {
        let at = self.below(things.len());
        things.get(at).copied()
    }

    /// Puts `things` in a random order, each with the same probability (Fisher and Yates).
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let at = self.below(last + 1);
            things.swap(at, last);
        }
    }

    /// A real number, uniform in [0, 1).
    #[inline]
    pub fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Whether an event of this probability happens. Draws nothing if that is certain.
    #[inline]
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.real() < probability
    }

    /// A real number, uniform in [−`reach`, `reach`).
    pub fn either_side(&mut self, reach: f64) -> f64 {
        reach * (2.0 * self.real() - 1.0)
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.real()).ln()
    }

    /// Normally distributed with mean 0 and standard deviation 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.real()).ln()).sqrt();
        radius * (core::f64::consts::TAU * self.real()).cos()
    }

    /// `count` different numbers below `n`, ascending (all of them if there are fewer).
    pub fn sample(&mut self, count: usize, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for at in 0..count.min(n) {
            let other = at + self.below(n - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }
}

/// Spreads the bits of a number: the finaliser of SplitMix64.
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
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

    /// Null value: mean 1 for each distribution of 100,000 draws. The largest standard error is
    /// 0.0032 (exponential); 0.02 is six of them: a false alarm is rarer than 1 in 10⁸.
    #[test]
    fn distributions_have_their_means() {
        let mut chance = Chance::new(1);
        let mut mean = |draw: fn(&mut Chance) -> f64| {
            (0..100_000).map(|_| draw(&mut chance)).sum::<f64>() / 100_000.0
        };
        let means = [
            mean(|c| 2.0 * c.real()),
            mean(|c| c.exponential(1.0)),
            mean(|c| 1.0 + c.normal()),
            mean(|c| c.normal().powi(2)),
            mean(|c| 1.0 + c.either_side(1.0)),
        ];
        assert!(means.iter().all(|mean| (mean - 1.0).abs() < 0.03), "{means:?}");
    }

    #[test]
    fn samples_and_shuffles_have_each_thing_once() {
        let mut chance = Chance::new(7);
        let mut sample = chance.sample(50, 100);
        sample.dedup();
        assert_eq!(sample.len(), 50);
        assert_eq!(chance.sample(9, 3), [0, 1, 2]);
        let mut things: Vec<u32> = (0..50).collect();
        chance.shuffle(&mut things);
        assert!(!things.is_sorted());
        things.sort_unstable();
        assert!(things.into_iter().eq(0..50));
    }
}
