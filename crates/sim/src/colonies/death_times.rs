//! Times of deaths: how long after a crash its colony knew of it, and what it never knew.
//!
//! A death is *known* when all members hold it that were up at the crash and have been since. Those
//! count whose crash lies in the measured units: before, members have hardly heard of each other.
//! Whole numbers give the same sum in any order, as in `ages.rs`.

use super::ages::Ages;
use super::scenario::ColoniesScenario;
use crate::deaths::Obituaries;
use crate::row::{START, UNIT};

/// What became known of deaths in a piece of a run, or in several added up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeathTimes {
    /// Crashes in the measured units.
    pub crashes: u64,
    /// From a crash until half of its colony knew, where half did.
    pub half: Ages,
    /// From a crash until its whole colony knew, where it did.
    pub all: Ages,
    /// Deaths that some did not know of when the node restarted.
    pub missed: u64,
    /// Deaths that some did not know of at the end.
    pub open: u64,
    /// How long before the end the first of those nodes crashed, in ticks.
    pub open_longest_ticks: i64,
    /// Lives that were declared dead while their node was up, in the whole run.
    pub mistaken: u64,
    /// Members suspected, over all members and units.
    pub suspicions: u64,
    /// Probes sent, for others too.
    pub probes: u64,
}

impl DeathTimes {
    /// What was written down until the end of a run, at which members have these lives.
    pub(super) fn of(obituaries: &Obituaries, lives: &[u32], scenario: &ColoniesScenario) -> Self {
        let from = START + i64::from(scenario.warmup_units) * UNIT;
        let end = START + i64::from(scenario.all_units()) * UNIT;
        let mut times = Self { mistaken: obituaries.mistaken() as u64, ..Self::default() };
        for spread in obituaries.spreads(lives).iter().filter(|spread| spread.crash >= from) {
            times.crashes += 1;
            if let Some(half) = spread.half {
                times.half.add_one(half);
            }
            match spread.all {
                Some(all) => times.all.add_one(all),
                None if spread.is_closed => times.missed += 1,
                None => {
                    times.open += 1;
                    times.open_longest_ticks = times.open_longest_ticks.max(end - spread.crash);
                }
            }
        }
        times
    }

    /// Adds another piece.
    pub(super) fn merge(&mut self, other: &Self) {
        self.crashes += other.crashes;
        self.half.merge(&other.half);
        self.all.merge(&other.all);
        self.missed += other.missed;
        self.open += other.open;
        self.open_longest_ticks = self.open_longest_ticks.max(other.open_longest_ticks);
        self.mistaken += other.mistaken;
        self.suspicions += other.suspicions;
        self.probes += other.probes;
    }

    /// How long before the end the first node crashed of whose death some did not know, in units.
    pub fn open_longest_units(&self) -> Option<f64> {
        (self.open > 0).then(|| self.open_longest_ticks as f64 / UNIT as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_are_known_missed_or_open() {
        let scenario =
            ColoniesScenario { warmup_units: 10, units: 50, ..ColoniesScenario::default() };
        let at = |units: i64| START + units * UNIT;
        let mut obituaries = Obituaries::default();
        // Before the measured units; known to both others; to one; to one, at the end.
        for (node, units) in [(0, 5), (1, 20), (2, 30), (3, 55)] {
            let lives = (0..6).map(|other| u32::from(other > 3)).collect();
            obituaries.crashed(node, 1, at(units), lives);
            obituaries.learnt(4, (node, 1), at(units + 2));
        }
        obituaries.learnt(5, (1, 1), at(24));
        obituaries.restarts(2, &[0, 0, 0, 0, 1, 1]);
        obituaries.learnt(4, (5, 1), at(40));
        let mut times = DeathTimes::of(&obituaries, &[0, 0, 0, 0, 1, 1], &scenario);
        times.merge(&DeathTimes::default());
        assert_eq!((times.crashes, times.missed, times.open, times.mistaken), (3, 1, 1, 1));
        assert_eq!((times.all.average_units(), times.all.highest_units()), (Some(4.0), Some(4.0)));
        assert_eq!(times.half.average_units(), Some(2.0));
        assert_eq!(times.open_longest_units(), Some(5.0));
    }
}
