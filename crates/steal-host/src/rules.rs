//! Rules: what all workers of a segment have in common. Its maker states them; who joins reads
//! them there.

use std::time::Duration;

use tidings_steal::victims::Knowledge;
use tidings_steal::{Config, Selection, config};

use crate::layout::Shape;

/// A message and its answer among processes that are awake, rounded up.
const ROUND_TRIP_US: u64 = 1;

/// Whom a worker without tasks asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// Two others at random; then its neighbours in a hypercube send when they have something, and
    /// it sleeps.
    Lifelines,
    /// Others at random, with pauses that grow from 1 to 16 µs.
    Random,
    /// Those that have most work, as all show each other. Where nobody has enough it sleeps until
    /// its neighbours send something, as with `Lifelines`.
    Known,
    /// Others at random as with `Random`, but more often those near: of one core, of one cache, of
    /// one package, where each process stays on a processor.
    Nearest,
}

/// All of them, by their numbers in a header.
const SEARCHES: [Search; 4] = [Search::Lifelines, Search::Random, Search::Known, Search::Nearest];

/// What all workers of a segment have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The most bytes of a task, up to 4,096.
    pub slot_bytes: u32,
    /// The bytes of the ring from each worker to each other one, a power of two from 4 KiB to
    /// 1 MiB; `None`: as many as all of them together take 16 MiB, between 4 and 64 KiB.
    pub ring_bytes: Option<u32>,
    /// Whom a worker without tasks asks.
    pub search: Search,
    /// Whether phases begin with what each worker ran in the phase of the same name before.
    pub retain: bool,
    /// How long workers wait for others that do not join, or do not enter a phase.
    pub patience: Duration,
    /// The seed of random draws.
    pub seed: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            slot_bytes: 256,
            ring_bytes: None,
            search: Search::Lifelines,
            retain: false,
            patience: Duration::from_secs(60),
            seed: 0,
        }
    }
}

impl Rules {
    /// The shape of a segment for so many workers; `None` if there is none.
    pub(crate) fn shape(&self, workers: u32) -> Option<Shape> {
        let fits = self.slot_bytes as usize <= tidings_steal::frame::MAX_STATE_BYTES;
        let pairs = u64::from(workers).pow(2).max(1);
        let usual = ((16 << 20) / pairs).clamp(4 << 10, 64 << 10);
        let usual = (usual as u32 + 1).next_power_of_two() / 2;
        let ring_bytes = self.ring_bytes.unwrap_or(usual);
        Shape::new(workers, ring_bytes / 8).filter(|_| fits && ring_bytes % 8 == 0)
    }

    /// What the worker is configured with.
    pub(crate) fn config(&self) -> Config {
        let selection: Selection = match self.search {
            Search::Lifelines => config::lifelines(),
            Search::Random => config::random(ROUND_TRIP_US),
            // What a thief sleeps for may come from any neighbour: nobody looks now and then.
            Search::Known => {
                let usual = Knowledge::new(ROUND_TRIP_US);
                Selection::Known(Knowledge { lifelines: usize::MAX, ..usual })
            }
            Search::Nearest => config::nearest(ROUND_TRIP_US),
        };
        let usual = Config::new(selection, ROUND_TRIP_US);
        Config { slot_bytes: self.slot_bytes as usize, retain: self.retain, ..usual }
    }

    /// As words of a header.
    pub(crate) fn words(&self) -> [u64; 4] {
        let flags = u64::from(self.retain) | (self.search as u64) << 1;
        let patience_ms = u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX);
        [u64::from(self.slot_bytes), flags, patience_ms, self.seed]
    }

    /// Those of a header whose rings have so many bytes; `None` if they are none.
    pub(crate) fn of_words(words: [u64; 4], ring_bytes: u32) -> Option<Self> {
        let [slot_bytes, flags, patience_ms, seed] = words;
        let search = SEARCHES.get(usize::try_from(flags >> 1).ok()?)?;
        Some(Self {
            slot_bytes: u32::try_from(slot_bytes).ok()?,
            ring_bytes: Some(ring_bytes),
            search: *search,
            retain: flags & 1 == 1,
            // A year is as good as more.
            patience: Duration::from_millis(patience_ms.min(31_536_000_000)),
            seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_back_from_a_header() {
        for search in SEARCHES {
            let rules = Rules { search, retain: true, seed: 7, ..Rules::default() };
            let read = Rules::of_words(rules.words(), 4096).expect("honest words");
            assert_eq!(read, Rules { ring_bytes: Some(4096), ..rules });
        }
        assert_eq!(Rules::of_words([1 << 32, 0, 0, 0], 4096), None);
        assert_eq!(Rules::of_words([0, 8, 0, 0], 4096), None);
    }

    #[test]
    fn rings_share_sixteen_mebibytes() {
        let ring = |workers| Rules::default().shape(workers).map(|shape| 8 * shape.ring_words());
        assert_eq!([1, 2, 16, 64].map(ring), [64, 64, 64, 4].map(|kib| Some(kib << 10)));
        assert_eq!((ring(0), ring(257)), (None, None));
    }

    #[test]
    fn sizes_out_of_bounds_are_refused() {
        let with = |ring_bytes, slot_bytes| {
            Rules { ring_bytes: Some(ring_bytes), slot_bytes, ..Rules::default() }.shape(2)
        };
        assert!(with(4096, 4096).is_some());
        for (ring_bytes, slot_bytes) in [(0, 1), (2048, 1), (5000, 1), (2 << 20, 1), (4096, 4097)] {
            assert!(with(ring_bytes, slot_bytes).is_none(), "{ring_bytes} {slot_bytes}");
        }
    }
}
