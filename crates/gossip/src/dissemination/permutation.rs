//! A pseudo-random permutation of the numbers below n, in O(1) steps and without a table.
//!
//! All nodes that agree on a round and on the members get the same order of the members, each by
//! computing the one place it wants to know. A Feistel network over ⌈√n⌉ × ⌈√n⌉ cells mixes; a
//! result of n or more is permuted again until it is smaller ("cycle walking"), which for 100
//! members or more takes less than 1.25 turns on average.
//!
//! It is for spreading load, not for secrets: who knows the round knows the permutation.
//!
//! Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002 (generalised
//! Feistel, cycle walking); the mixing function is SplitMix64's (Steele, Lea and Flood, 2014).

pub use tidings_primitives::chance::mix;

/// Rounds of the network; four make it indistinguishable from random for a polynomial observer
/// (Luby and Rackoff, 1988), which is far more than is needed here.
const ROUNDS: u64 = 4;

/// One permutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permutation {
    n: u32,
    side: u32,
    key: u64,
}

impl Permutation {
    /// The permutation of the numbers below `n` that belongs to `key`.
    pub fn of(n: usize, key: u64) -> Self {
        let n = n.clamp(1, u32::MAX as usize) as u32;
        // The root of a 32-bit number is exact enough in 64-bit floats to be rounded up.
        let side = f64::from(n).sqrt().ceil() as u32;
        Self { n, side: side.max(1), key: mix(key) }
    }

    /// The place of `index`.
    ///
    /// # Panics
    /// Never; an `index` of n or more is taken modulo n.
    pub fn place(&self, index: usize) -> usize {
        let mut at = (index % self.n as usize) as u32;
        loop {
            at = self.forward(at);
            if at < self.n {
                return at as usize;
            }
        }
    }

    /// The index whose place is `place`.
    pub fn index(&self, place: usize) -> usize {
        let mut at = (place % self.n as usize) as u32;
        loop {
            at = self.backward(at);
            if at < self.n {
                return at as usize;
            }
        }
    }

    fn forward(&self, at: u32) -> u32 {
        let (mut left, mut right) = (at / self.side, at % self.side);
        for round in 0..ROUNDS {
            (left, right) = (right, (left + self.step(round, right)) % self.side);
        }
        left * self.side + right
    }

    fn backward(&self, at: u32) -> u32 {
        let (mut left, mut right) = (at / self.side, at % self.side);
        for round in (0..ROUNDS).rev() {
            let shift = self.side - self.step(round, left);
            (left, right) = ((right + shift) % self.side, left);
        }
        left * self.side + right
    }

    /// A pseudo-random number below the side.
    fn step(&self, round: u64, half: u32) -> u32 {
        let drawn = mix(self.key ^ (round << 32) ^ u64::from(half));
        (((drawn >> 32) * u64::from(self.side)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_place_is_taken_once_and_known_back(n in 1usize..600, key in any::<u64>()) {
            let permutation = Permutation::of(n, key);
            let mut places: Vec<usize> = (0..n).map(|index| permutation.place(index)).collect();
            for (index, &place) in places.iter().enumerate() {
                prop_assert_eq!(permutation.index(place), index);
            }
            places.sort_unstable();
            prop_assert_eq!(places, (0..n).collect::<Vec<_>>());
        }
    }

    /// Null value: over 20,000 keys each of 10 places is as likely for index 3, 2,000 times with a
    /// standard deviation of 42; six of them make a false alarm rarer than 1 in 10⁷ runs, and the
    /// keys are fixed.
    #[test]
    fn every_place_is_as_likely() {
        let mut counts = [0i32; 10];
        for key in 0..20_000 {
            counts[Permutation::of(10, key).place(3)] += 1;
        }
        for count in counts {
            assert!((count - 2_000).abs() < 255, "{counts:?}");
        }
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let permutation = Permutation::of(1024, 7);
        let beside =
            |index: usize| permutation.place(index).abs_diff(permutation.place(index + 1)) == 1;
        let together = (0..1023).filter(|&index| beside(index)).count();
        assert!(together < 15, "{together} of 1,023 pairs, 2 are expected");
    }
}
