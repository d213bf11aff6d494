//! The search for the cheapest interval, window and strategy that keep an age.

use std::fmt;

use tidings_gossip::Strategy;
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::model::{self, Forecast};
use tidings_gossip::wire::{ENTRY_OVERHEAD_BYTES, OVERHEAD_BYTES};

use super::failure::PlanError;

/// Bytes of IPv6 and UDP header in a packet, as the agent counts.
const HEADER_BYTES: u16 = 48;
/// The intervals that are considered, in milliseconds.
const INTERVALS_MS: [u32; 15] =
    [64, 96, 128, 192, 256, 384, 512, 768, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000];

/// The request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) nodes: usize,
    pub(super) payload_bytes: u16,
    /// What an entry takes as a change by a base, where nodes write version 3.
    pub(super) change_bytes: Option<u16>,
    pub(super) goal: Goal,
    pub(super) loss: f64,
    pub(super) mtu_bytes: u16,
}

/// The age to keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) age_ms: f64,
    /// The share of entries that must be no older; `None`: the average.
    pub(super) quantile: Option<f64>,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quantile {
            None => write!(f, "an average age of {} ms", self.age_ms),
            Some(share) => write!(f, "an age of {} ms for {} %", self.age_ms, 100.0 * share),
        }
    }
}

/// A choice with its age and cost.
#[derive(Clone, Debug)]
pub(super) struct Costed {
    pub(super) interval_ms: u32,
    pub(super) window_entries: usize,
    pub(super) strategy: Strategy,
    pub(super) forecast: Forecast,
}

impl Costed {
    /// Units of time in a second.
    pub(super) fn units_s(&self) -> f64 {
        1e3 / f64::from(self.interval_ms)
    }

    /// Bytes that a node sends per second.
    pub(super) fn bytes_s(&self) -> f64 {
        self.forecast.bytes * self.units_s()
    }

    /// Datagrams that a node sends per second.
    pub(super) fn datagrams_s(&self) -> f64 {
        self.forecast.datagrams * self.units_s()
    }

    /// The age that the goal is about.
    pub(super) fn age_ms(&self, goal: &Goal) -> f64 {
        self.forecast.age_units(goal.quantile) * f64::from(self.interval_ms)
    }
}

impl Asked {
    /// Datagrams and bytes of windows of this many entries.
    pub(super) fn budget(&self, window_entries: usize) -> Result<Budget, PlanError> {
        let entry_bytes = ENTRY_OVERHEAD_BYTES + usize::from(self.payload_bytes);
        let room = usize::from(self.mtu_bytes - HEADER_BYTES);
        if room < entry_bytes + OVERHEAD_BYTES {
            return Err(PlanError::Mtu { entry_bytes, mtu: self.mtu_bytes });
        }
        let room = room - OVERHEAD_BYTES;
        let whole = Budget {
            entry_bytes,
            frame_bytes: OVERHEAD_BYTES,
            datagram_entries: room / entry_bytes,
            window_entries,
            changes: None,
        };
        let changes = self.change_bytes.map(|bytes| whole.with_changes(bytes.into(), room));
        Ok(changes.unwrap_or(whole))
    }

    /// The choice that reaches the goal with the fewest bytes per second, and then datagrams.
    pub(super) fn cheapest(&self, strategies: &[Strategy]) -> Result<Option<Costed>, PlanError> {
        let choices = self.choices(strategies, |interval_ms, strategy| {
            let goal = model::Goal {
                age_units: self.goal.age_ms / f64::from(interval_ms),
                quantile: self.goal.quantile,
            };
            Ok(model::least_window(strategy, self.nodes, &self.budget(1)?, self.loss, goal))
        })?;
        Ok(choices.into_iter().min_by(|one, other| {
            let bytes = one.bytes_s().total_cmp(&other.bytes_s());
            bytes.then(one.datagrams_s().total_cmp(&other.datagrams_s()))
        }))
    }

    /// The choice with the least age within a budget.
    pub(super) fn freshest(
        &self,
        strategies: &[Strategy],
        budget_bytes_s: f64,
    ) -> Result<Option<Costed>, PlanError> {
        let choices = self.choices(strategies, |interval_ms, _| {
            let unit_bytes = budget_bytes_s * f64::from(interval_ms) / 1e3;
            let budget = self.budget(1)?;
            let fits = |entries: &usize| budget.window_bytes(*entries) as f64 <= unit_bytes;
            Ok(largest(self.nodes, fits))
        })?;
        let affordable = choices.into_iter().filter(|choice| choice.bytes_s() <= budget_bytes_s);
        Ok(affordable
            .min_by(|one, other| one.age_ms(&self.goal).total_cmp(&other.age_ms(&self.goal))))
    }

    /// The choices that a rule for windows gives, for every interval and strategy.
    fn choices(
        &self,
        strategies: &[Strategy],
        window: impl Fn(u32, Strategy) -> Result<Option<usize>, PlanError>,
    ) -> Result<Vec<Costed>, PlanError> {
        let mut choices = Vec::new();
        for &strategy in strategies {
            for interval_ms in INTERVALS_MS {
                if let Some(window_entries) = window(interval_ms, strategy)? {
                    let forecast = self.forecast(strategy, window_entries)?;
                    choices.push(Costed { interval_ms, window_entries, strategy, forecast });
                }
            }
        }
        Ok(choices)
    }

    fn forecast(&self, strategy: Strategy, window_entries: usize) -> Result<Forecast, PlanError> {
        let budget = self.budget(window_entries)?;
        Ok(model::forecast(strategy, self.nodes, &budget, self.loss))
    }
}

/// The largest number up to `most` that fits, if smaller ones fit too; `None` if 1 does not.
fn largest(most: usize, fits: impl Fn(&usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (0, most + 1);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(&middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low > 0).then_some(low)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use tidings_sim::{Mode, Scenario, Span, Window};

    use super::*;

    fn asked(nodes: usize, age_ms: f64) -> Asked {
        let goal = Goal { age_ms, quantile: None };
        Asked { nodes, payload_bytes: 64, change_bytes: None, goal, loss: 0.0, mtu_bytes: 1500 }
    }

    #[test]
    fn the_cheapest_plan_reaches_the_goal_and_grid_is_cheaper_than_uniform() {
        let asked = asked(256, 1_000.0);
        let of = |strategies: &[Strategy]| {
            asked.cheapest(strategies).expect("entries fit").expect("it can be reached")
        };
        let (any, uniform) = (of(&[Strategy::Grid, Strategy::Uniform]), of(&[Strategy::Uniform]));
        assert!(any.age_ms(&asked.goal) <= 1_000.0 && uniform.age_ms(&asked.goal) <= 1_000.0);
        assert_eq!(any.strategy, Strategy::Grid);
        assert!(any.bytes_s() < 0.6 * uniform.bytes_s());
    }

    /// Source: the simulator of the same nodes, in compact mode.
    #[test]
    fn plans_keep_their_age_in_the_simulation() {
        for (strategy, nodes) in
            [(Strategy::Grid, 96), (Strategy::Uniform, 96), (Strategy::Grid, 256)]
        {
            let asked = asked(nodes, 1_000.0);
            let plan =
                asked.cheapest(&[strategy]).expect("entries fit").expect("it can be reached");
            let mut scenario = Scenario { mode: Mode::Compact, ..Scenario::default() };
            (scenario.units, scenario.warmup_units) = (300, 300);
            scenario.cluster.nodes = nodes as u32;
            scenario.cluster.strategy = strategy;
            scenario.cluster.window = Window::Entries(plan.window_entries as u32);
            scenario.cluster.interval = Span::from_micros(u64::from(plan.interval_ms) * 1_000);
            scenario.network.mtu_bytes = 1_480;
            let report = tidings_sim::run(&scenario, &mut |_, _| ControlFlow::Continue(()));
            let age = report.expect("possible").age_avg_units.expect("there are samples");
            let off = plan.forecast.age_avg_units / age - 1.0;
            assert!(off.abs() <= 0.05, "{plan:?}: {age} units");
        }
    }

    #[test]
    fn a_budget_gives_the_freshest_choice_within_it() {
        let asked = asked(256, 1_000.0);
        let fresh = asked.freshest(&[Strategy::Grid], 5_000.0).expect("entries fit").expect("some");
        assert!(fresh.bytes_s() <= 5_000.0);
        let more = asked.freshest(&[Strategy::Grid], 50_000.0).expect("entries fit").expect("some");
        assert!(more.age_ms(&asked.goal) < fresh.age_ms(&asked.goal));
        assert!(asked.freshest(&[Strategy::Grid], 1.0).expect("entries fit").is_none());
        assert_eq!(largest(9, |&number| number <= 4), Some(4));
    }

    #[test]
    fn entries_that_are_told_as_changes_cost_less() {
        let whole = asked(256, 500.0);
        let changes = Asked { change_bytes: Some(10), ..whole };
        let of = |asked: Asked| {
            asked.cheapest(&[Strategy::Grid]).expect("entries fit").expect("it can be reached")
        };
        let (whole, changes) = (of(whole), of(changes));
        assert!(changes.bytes_s() < 0.8 * whole.bytes_s(), "{changes:?} {whole:?}");
    }

    #[test]
    fn impossible_goals_are_rejected() {
        assert!(asked(4096, 10.0).cheapest(&[Strategy::Grid]).expect("entries fit").is_none());
        let mut wide = asked(16, 1_000.0);
        (wide.payload_bytes, wide.mtu_bytes) = (1024, 576);
        assert_eq!(wide.cheapest(&[Strategy::Grid]).expect_err("too wide").exit_code(), 2);
    }
}
