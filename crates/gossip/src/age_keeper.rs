//! Keeping an age: the window follows the members by the model, and what is seen corrects it.
//!
//! The model knows neither lost datagrams nor dead nodes nor travel times. So a node also looks how
//! old its entries are: at moments that fill the unit of time evenly, since ages rise and fall
//! within it. After some looks it compares them with the target. Where they exceed it, its windows
//! become larger than the model says; where they stay well below, smaller again. Windows change by
//! some per cent at a time and only after the last change shows, so that the nodes of a cluster,
//! which all see about the same, settle together.
//!
//! Entries twice as old as the model's oldest are of nodes that are silent, which no window makes
//! younger: they do not count.
//!
//! The model is searched when the members have changed by a thirty-second, or what entries take as
//! changes by a half, and then not again for
//! some units unless they have doubled: among thousands of nodes a search takes some hundredths of
//! a second.

use core::time::Duration;

use tidings_primitives::time::Instant;

use crate::config::AgeTarget;
use crate::dissemination::layout::{Budget, Changes};
use crate::dissemination::strategy::Strategy;
use crate::model::{Goal, forecast, least_window};

/// From look to look: the golden ratio, whose multiples fill the unit evenly.
const LOOK_UNITS: f64 = 1.618_034;
/// Looks that are compared with the target together: 26 units of time.
const LOOKS: u32 = 16;
/// Units of time until a changed window shows in the ages.
const SETTLE_UNITS: f64 = 16.0;
/// The share of the target that the model is asked for: the rest is left to its error.
const AIM: f64 = 0.95;
/// The least that is sent, as a share of what the model says.
const LEAST: f64 = 0.8;
/// Pressures (see [`Seen`]) that are left as they are, and the one to come to otherwise.
const GOOD: core::ops::RangeInclusive<f64> = 0.88..=0.98;
const BEST: f64 = 0.94;
/// By how much a window changes at a time: the most it shrinks, and grows.
const STEP: (f64, f64) = (0.95, 1.25);

/// Chooses the window of a node with a target age.
#[derive(Clone, Debug)]
pub(crate) struct AgeKeeper {
    target: AgeTarget,
    /// What is sent, as a multiple of what the model says.
    correction: f64,
    choice: Option<Choice>,
    next_look: Instant,
    pressures: f64,
    looks: u32,
    kept: Option<bool>,
}

/// A window by the model, and what it was chosen for.
#[derive(Clone, Copy, Debug)]
struct Choice {
    members: usize,
    changes: Option<Changes>,
    window_entries: usize,
    /// Entries older than that are of silent nodes.
    silent: Duration,
    /// When the model may be searched again.
    next: Instant,
}

impl Choice {
    /// Whether it would hardly be another now, or is too new to be thrown away.
    fn suits(&self, members: usize, changes: Option<Changes>, now: Instant) -> bool {
        let near = 32 * self.members.abs_diff(members) <= self.members;
        (near && changes == self.changes) || (now < self.next && members < 2 * self.members)
    }
}

/// The ages that were seen at one look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    target: AgeTarget,
    silent: Duration,
    total: Duration,
    older: u32,
    counted: u32,
}

impl AgeKeeper {
    pub(crate) fn of(target: AgeTarget) -> Self {
        Self {
            target,
            correction: 1.0,
            choice: None,
            next_look: Instant::EPOCH,
            pressures: 0.0,
            looks: 0,
            kept: None,
        }
    }

    /// Entries in a window among `members` nodes, if one has been chosen.
    pub(crate) fn window_entries(&self, members: usize) -> Option<usize> {
        let entries = self.choice?.window_entries as f64 * self.correction;
        Some((entries.round() as usize).clamp(1, members))
    }

    /// Whether the last looks together were within the target; `None` before there were enough.
    pub(crate) fn kept(&self) -> Option<bool> {
        self.kept
    }

    /// Chooses the window again if the members have changed.
    pub(crate) fn choose(
        &mut self,
        now: Instant,
        members: usize,
        interval: Duration,
        (strategy, budget): (Strategy, Budget),
    ) {
        if self.choice.is_some_and(|choice| choice.suits(members, budget.changes, now)) {
            return;
        }
        let goal = Goal {
            age_units: AIM * self.target.age.as_secs_f64() / interval.as_secs_f64(),
            quantile: self.target.quantile,
        };
        let found = least_window(strategy, members, &budget, 0.0, goal);
        // Where nothing will do, everything is nearest to it.
        let window_entries = found.unwrap_or(members);
        let budget = Budget { window_entries, ..budget };
        let oldest_units = forecast(strategy, members, &budget, 0.0).oldest_units();
        let silent = interval.mul_f64(2.0 * oldest_units.max(1.0));
        let silent = silent.max(2 * self.target.age);
        let next = now + interval.mul_f64(SETTLE_UNITS);
        self.choice =
            Some(Choice { members, changes: budget.changes, window_entries, silent, next });
        self.begin(next);
    }

    /// The moment of the look that is due by `now`, and what to count at it.
    pub(crate) fn due(&mut self, now: Instant, interval: Duration) -> Option<(Instant, Seen)> {
        let (at, choice) = (self.next_look, self.choice?);
        if now < at {
            return None;
        }
        if now.saturating_since(at) > interval {
            // The node stood still: its ages say nothing of the window.
            self.begin(now + interval.mul_f64(SETTLE_UNITS));
            return None;
        }
        self.next_look = at + interval.mul_f64(LOOK_UNITS);
        Some((at, Seen::of(self.target, choice.silent)))
    }

    /// Takes a look's ages in; after enough of them evaluates, and corrects the window if need be.
    pub(crate) fn note(&mut self, seen: &Seen, unit: Duration) {
        let Some(pressure) = seen.pressure() else { return };
        self.pressures += pressure;
        self.looks += 1;
        if self.looks < LOOKS {
            return;
        }
        let pressure = self.pressures / f64::from(self.looks);
        self.kept = Some(pressure <= 1.0);
        let settle =
            if self.correct(pressure) { unit.mul_f64(SETTLE_UNITS) } else { Duration::ZERO };
        self.begin(self.next_look + settle);
    }

    /// Changes the window if the pressure asks for it; whether it did.
    fn correct(&mut self, pressure: f64) -> bool {
        let Some(Choice { members, window_entries, .. }) = self.choice else { return false };
        let most = members as f64 / window_entries as f64;
        if GOOD.contains(&pressure) || (self.correction >= most && pressure > BEST) {
            return false;
        }
        // The share of older entries changes faster than their ages.
        let slope = if self.target.quantile.is_some() { 0.25 } else { 1.0 };
        let step = (pressure / BEST).powf(slope).clamp(STEP.0, STEP.1);
        let before = self.correction;
        self.correction = (before * step).min(most).max(LEAST);
        self.correction.to_bits() != before.to_bits()
    }

    /// Begins to look again, at `first`.
    fn begin(&mut self, first: Instant) {
        (self.next_look, self.pressures, self.looks) = (first, 0.0, 0);
    }
}

impl Seen {
    fn of(target: AgeTarget, silent: Duration) -> Self {
        Self { target, silent, total: Duration::ZERO, older: 0, counted: 0 }
    }

    /// Counts one age, unless it is a silent node's.
    pub(crate) fn count(&mut self, age: Duration) {
        if age <= self.silent {
            self.total += age;
            self.older += u32::from(age > self.target.age);
            self.counted += 1;
        }
    }

    /// How the ages stand to the target: 1 where they meet it, more where they exceed it. For an
    /// average it is the quotient of the two; for a quantile, that of the share of older entries
    /// and the share that may be older.
    fn pressure(&self) -> Option<f64> {
        let counted = (self.counted > 0).then_some(f64::from(self.counted))?;
        Some(match self.target.quantile {
            None => self.total.as_secs_f64() / counted / self.target.age.as_secs_f64(),
            Some(quantile) => f64::from(self.older) / counted / (1.0 - quantile),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::OVERHEAD_BYTES;

    const UNIT: Duration = Duration::from_millis(256);

    fn keeper(quantile: Option<f64>) -> AgeKeeper {
        let mut keeper = AgeKeeper::of(AgeTarget { age: 4 * UNIT, quantile });
        choose(&mut keeper, Instant::EPOCH);
        keeper
    }

    fn choose(keeper: &mut AgeKeeper, now: Instant) {
        let budget = Budget {
            entry_bytes: 76,
            frame_bytes: OVERHEAD_BYTES,
            datagram_entries: 18,
            window_entries: 1,
            changes: None,
        };
        keeper.choose(now, 256, UNIT, (Strategy::Grid, budget));
    }

    /// Looks for `units`, with all entries at this age, and returns the window in the end.
    fn live(keeper: &mut AgeKeeper, units: u32, age: Duration) -> usize {
        let start = keeper.next_look;
        for tick in 0..units * 8 {
            let now = start + UNIT * tick / 8;
            if let Some((_, mut seen)) = keeper.due(now, UNIT) {
                (0..255).for_each(|_| seen.count(age));
                seen.count(Duration::from_secs(3_600)); // a dead node's
                keeper.note(&seen, UNIT);
            }
            choose(keeper, now);
        }
        keeper.window_entries(256).expect("it was chosen")
    }

    #[test]
    fn windows_grow_while_ages_exceed_the_target_and_shrink_again() {
        for quantile in [None, Some(0.9)] {
            let mut keeper = keeper(quantile);
            let first = keeper.window_entries(256).expect("it was chosen");
            assert_eq!(keeper.kept(), None);
            let more = live(&mut keeper, 200, 5 * UNIT);
            assert!(more > first, "{first} {more}");
            assert_eq!(keeper.kept(), Some(false));
            let less = live(&mut keeper, 2_000, 2 * UNIT);
            assert!(less <= first, "{first} {less}");
            assert_eq!(keeper.kept(), Some(true));
        }
    }

    #[test]
    fn what_is_good_stays_as_it_is() {
        let mut keeper = keeper(None);
        let first = keeper.window_entries(256);
        let then = live(&mut keeper, 500, UNIT.mul_f64(3.8));
        assert_eq!((first, keeper.kept()), (Some(then), Some(true)));
    }

    #[test]
    fn a_node_that_was_paused_looks_again() {
        let mut keeper = keeper(None);
        let late = keeper.next_look + 3 * UNIT;
        assert!(keeper.due(late, UNIT).is_none());
        assert!(keeper.due(late + UNIT, UNIT).is_none(), "it settles first");
        assert!(keeper.due(keeper.next_look, UNIT).is_some());
    }

    #[test]
    fn windows_stay_within_bounds_where_nothing_helps() {
        let mut keeper = keeper(None);
        live(&mut keeper, 20_000, 7 * UNIT);
        assert_eq!(keeper.window_entries(256), Some(256));
        assert_eq!(keeper.window_entries(8), Some(8), "the members went");
    }
}
