//! Rules: what all workers of a job have in common, and where each is. That the rules are the same
//! everywhere is checked when workers greet each other.

use core::net::SocketAddr;
use core::time::Duration;

use tidings_primitives::KeyRing;
use tidings_steal::{Config, Selection, config};

use crate::greeting::hash;

/// The most workers of a job: each has a connection with each other one.
pub const MAX_WORKERS: u32 = 256;

/// How many words a worker can show to all.
pub const SHOWN_WORDS: usize = 512;

/// A message and its answer between processes on a network, in microseconds.
const ROUND_TRIP_US: u64 = 30;

/// Whom a worker without tasks asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// Two others at random; then its neighbours in a hypercube send when they have something, and
    /// it sleeps.
    Lifelines,
    /// Others at random, with pauses that grow from 30 to 480 µs.
    Random,
}

/// What all workers of a job have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The most bytes of a task, up to 4,096.
    pub slot_bytes: u32,
    /// Whom a worker without tasks asks.
    pub search: Search,
    /// Whether phases begin with what each worker ran in the phase of the same name before.
    pub retain: bool,
    /// How often a busy worker looks for messages between tasks, in microseconds.
    pub poll_us: u32,
    /// How long workers wait for others that do not join, or do not enter a phase.
    pub patience: Duration,
    /// After how long without anything to say to another one a process says that it lives.
    pub beat: Duration,
    /// After how much silence a process is dead; at least three beats.
    pub silence: Duration,
    /// The seed of random draws.
    pub seed: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            slot_bytes: 256,
            search: Search::Lifelines,
            retain: false,
            poll_us: 10,
            patience: Duration::from_secs(60),
            beat: Duration::from_millis(500),
            silence: Duration::from_secs(3),
            seed: 0,
        }
    }
}

impl Rules {
    /// Whether there can be such a job of so many workers.
    pub(crate) fn are_sound(&self, workers: u32) -> bool {
        let fits = self.slot_bytes as usize <= tidings_steal::frame::MAX_STATE_BYTES;
        let beats = !self.beat.is_zero() && self.beat.saturating_mul(3) <= self.silence;
        fits && beats && (1..=MAX_WORKERS).contains(&workers)
    }

    /// What the worker is configured with.
    pub(crate) fn config(&self) -> Config {
        let selection: Selection = match self.search {
            Search::Lifelines => config::lifelines(),
            Search::Random => config::random(ROUND_TRIP_US),
        };
        let slot_bytes = self.slot_bytes as usize;
        Config { slot_bytes, retain: self.retain, ..Config::new(selection, ROUND_TRIP_US) }
    }

    /// A hash that differs where rules do.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let flags = u64::from(self.retain) | u64::from(self.search == Search::Random) << 1;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let words = [
            u64::from(self.slot_bytes),
            flags,
            u64::from(self.poll_us),
            millis(self.patience),
            millis(self.beat),
            millis(self.silence),
            self.seed,
        ];
        hash(&[b"tidings steal rules", words.map(u64::to_le_bytes).as_flattened()])
    }
}

/// Which worker of how many a process is, and where they meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number, below that of workers.
    pub number: u32,
    /// How many there are.
    pub workers: u32,
    /// Where worker 0 listens.
    pub meeting: SocketAddr,
}

/// What keeps others out.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name: workers of another job are refused.
    pub name: String,
    /// The key: all that workers say is sealed with keys that follow from it. An open ring
    /// ([`KeyRing::open`]) keeps nobody out who knows its name, and is for trusted networks.
    pub key: KeyRing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_cannot_be_kept_are_refused() {
        let rules = Rules::default();
        assert!(rules.are_sound(1) && rules.are_sound(256));
        assert!(!rules.are_sound(0) && !rules.are_sound(257));
        assert!(!Rules { slot_bytes: 4097, ..rules }.are_sound(2));
        assert!(!Rules { silence: 2 * rules.beat, ..rules }.are_sound(2));
        assert!(!Rules { beat: Duration::ZERO, ..rules }.are_sound(2));
    }

    #[test]
    fn each_rule_is_in_the_hash() {
        let rules = Rules::default();
        let others = [
            Rules { slot_bytes: 1, ..rules },
            Rules { search: Search::Random, ..rules },
            Rules { retain: true, ..rules },
            Rules { poll_us: 1, ..rules },
            Rules { patience: rules.beat, ..rules },
            Rules { beat: rules.silence, ..rules },
            Rules { silence: rules.patience, ..rules },
            Rules { seed: 1, ..rules },
        ];
        let hashes: std::collections::BTreeSet<_> =
            others.iter().chain([&rules]).map(Rules::hash).collect();
        assert_eq!(hashes.len(), 9);
    }
}
