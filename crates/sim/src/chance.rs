//! Chance: independent streams of random draws, all from one random seed.
//!
//! Each purpose (a node's life, the network, the clocks, the faults) draws from a stream of its
//! own, so that what one of them draws changes nothing for the others: with one seed, loss 0 and
//! loss 0.1 crash the same nodes at the same times.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
pub(crate) use tidings_gossip::dissemination::permutation::mix;

/// What a stream is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The random seeds of nodes, by number and life.
    Node(u32, u32),
    /// What the network does to datagrams.
    Network,
    /// Offsets and drifts of clocks.
    Clocks,
    /// Which nodes fail, and when.
    Faults,
}

/// A stream of random draws.
#[derive(Clone, Debug)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The stream of `seed` for `purpose`.
    pub fn of(seed: u64, purpose: Purpose) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(stream_seed(seed, purpose)))
    }

    /// A number below `n`, each with the same probability (to 2⁻³² for n below 2³²); 0 if n is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// A real number, uniform in [0, 1).
    #[inline]
    pub fn real(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
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

/// The seed that a stream starts from; for a node's life it is the seed given to the node.
pub fn stream_seed(seed: u64, purpose: Purpose) -> u64 {
    let tag = match purpose {
        Purpose::Network => 1,
        Purpose::Clocks => 2,
        Purpose::Faults => 3,
        Purpose::Node(node, life) => 4 + (u64::from(life) << 32 | u64::from(node)),
    };
    mix(seed ^ mix(tag))
}

/// How late a node's timer for the time `due` goes off: below 1/256 of the unit, a millisecond of
/// 256. Without it, nodes that go by common times would act at the very same moment.
pub(crate) fn lateness(node: usize, due: i64, unit: i64) -> i64 {
    (mix(mix(node as u64) ^ due as u64) % (unit as u64 / 256).max(1)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Null value: mean 1 for each distribution of 100,000 draws. The largest standard error is
    /// 0.0032 (exponential); 0.02 is six of them: a false alarm is rarer than 1 in 10⁸.
    #[test]
    fn distributions_have_their_means() {
        let mut chance = Chance::of(1, Purpose::Network);
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
    fn samples_are_distinct_and_streams_differ() {
        let mut chance = Chance::of(7, Purpose::Faults);
        let mut sample = chance.sample(50, 100);
        sample.dedup();
        assert_eq!(sample.len(), 50);
        assert_eq!(chance.sample(9, 3), [0, 1, 2]);
        let purposes = [
            Purpose::Network,
            Purpose::Clocks,
            Purpose::Faults,
            Purpose::Node(0, 1),
            Purpose::Node(1, 1),
            Purpose::Node(0, 2),
        ];
        let seeds: std::collections::BTreeSet<u64> =
            purposes.iter().map(|&purpose| stream_seed(7, purpose)).collect();
        assert_eq!(seeds.len(), purposes.len());
    }
}
