//! A run of the compact mode: its rows, what is due when, and what is sampled.

use core::cmp::Reverse;
use core::ops::ControlFlow;
use std::collections::BinaryHeap;

use tidings_gossip::dissemination::layout::Budget;

use super::play::Play;
use crate::chance::{Chance, Purpose, stream};
use crate::checker::convergence::ConvergenceChecker;
use crate::departed::Departed;
use crate::network::Network;
use crate::plan::{Action, Plan};
use crate::report::{Outcome, Totals};
use crate::row::{self, BIN_SHIFT, RowSum, START, Selector, UNIT};
use crate::sample::{self, Row, Samples};
use crate::scenario::Scenario;
use crate::trace::Trace;

/// Ages that go into the histogram of quantiles at each sample, about; of larger clusters the nodes
/// take turns.
const AGES_COUNTED: usize = 1 << 20;

/// A run under way.
pub(crate) struct Compact {
    pub(super) rows: Vec<Vec<i32>>,
    pub(super) chances: Vec<Chance>,
    pub(super) up: Vec<bool>,
    pub(super) lives: Vec<u32>,
    pub(super) seed: u64,
    /// When each node wakes next, with its life: those of earlier lives are passed over.
    pub(super) wakes: BinaryHeap<Reverse<(i64, u32, u32)>>,
    /// What happens when, in ticks; the next one is at `next_action`.
    pub(super) actions: Vec<(i64, Action)>,
    pub(super) next_action: usize,
    pub(super) network: Network,
    pub(super) budget: Budget,
    pub(super) play: Play,
    pub(super) selector: Selector,
    pub(super) totals: Totals,
    pub(super) trace: Trace,
    pub(super) convergence: ConvergenceChecker,
}

impl Compact {
    /// All nodes up, at the start, knowing nobody.
    pub(crate) fn of(scenario: &Scenario, plan: &Plan) -> Self {
        let nodes = scenario.cluster.nodes as usize;
        let budget = scenario.budget();
        let unit_micros = i128::from(scenario.cluster.interval.as_micros());
        let ticks =
            |micros: i64| START + (i128::from(micros) * i128::from(UNIT) / unit_micros) as i64;
        let mut compact = Self {
            rows: vec![vec![0; nodes]; nodes],
            chances: Vec::new(),
            up: vec![false; nodes],
            lives: vec![0; nodes],
            seed: scenario.seed,
            wakes: BinaryHeap::with_capacity(nodes),
            actions: plan.actions.iter().map(|&(micros, act)| (ticks(micros), act)).collect(),
            next_action: 0,
            network: Network::of(scenario, &plan.partitions),
            play: Play::of(scenario, &budget, plan),
            budget,
            selector: Selector::empty(),
            totals: Totals::default(),
            trace: Trace::default(),
            convergence: ConvergenceChecker::default(),
        };
        for node in 0..nodes {
            compact.chances.push(stream(scenario.seed, Purpose::Node(node as u32, 1)));
            compact.start(node, START);
        }
        compact
    }

    /// Runs to the last sample, or until `progress` breaks it off.
    pub(crate) fn run(
        mut self,
        scenario: &Scenario,
        progress: &mut dyn FnMut(u32, u32) -> ControlFlow<()>,
    ) -> Outcome {
        let mut samples = Samples::default();
        let mut before = Totals::default();
        let mut units_measured = 0;
        let mut last = 0;
        for unit in 1..=scenario.all_units() {
            if unit == scenario.warmup_units + 1 {
                before = self.totals;
            }
            last = unit;
            let now = START + sample::time(unit, UNIT);
            self.advance(now);
            let measured = unit > scenario.warmup_units;
            self.sample(unit, now, measured.then_some(&mut samples));
            // Whole units are counted, wherever in them the samples lie.
            self.advance(START + i64::from(unit) * UNIT);
            units_measured += u32::from(measured);
            if progress(unit, scenario.all_units()).is_break() {
                break;
            }
        }
        let totals = if units_measured > 0 { self.totals.since(&before) } else { before };
        Outcome {
            samples,
            units_measured,
            totals,
            nodes_up: self.up.iter().filter(|&&up| up).count() as u32,
            never_heard_pairs: self.convergence.lacking_pairs(),
            first_full_view_units: self.convergence.first_full_units(),
            fates: None,
            findings: None,
            deaths: None,
            departed: self.departed(last),
            trace: self.trace,
        }
    }

    /// What the nodes that are up hold of those that are down, at the end of a unit.
    fn departed(&self, unit: u32) -> Vec<Departed> {
        let now = START + i64::from(unit) * UNIT;
        let (holders, gone): (Vec<usize>, Vec<usize>) =
            (0..self.up.len()).partition(|&node| self.up[node]);
        let of = |origin: usize| {
            let births = holders.iter().map(|&holder| i64::from(self.rows[holder][origin]));
            let ages = births.filter(|&birth| birth > 0).map(|birth| (now - birth) as f64);
            Departed::of(origin as u32, ages.map(|ticks| ticks / UNIT as f64))
        };
        gone.into_iter().map(of).collect()
    }

    /// Does everything that is due up to `end`.
    fn advance(&mut self, end: i64) {
        loop {
            let wake = self.wakes.peek().map_or(i64::MAX, |Reverse((at, ..))| *at);
            let action = self.actions.get(self.next_action).map_or(i64::MAX, |(at, _)| *at);
            if wake.min(action) > end {
                return;
            }
            if action <= wake {
                let (at, action) = self.actions[self.next_action];
                self.next_action += 1;
                self.act(at, action);
            } else if let Some(Reverse((at, node, life))) = self.wakes.pop() {
                if self.up[node as usize] && self.lives[node as usize] == life {
                    let next = self.wake(at, node as usize);
                    self.wakes.push(Reverse((next, node, life)));
                }
            }
        }
    }

    fn act(&mut self, now: i64, action: Action) {
        match action {
            Action::Crash(node) => self.up[node as usize] = false,
            Action::Restart(node) if !self.up[node as usize] => {
                self.rows[node as usize].fill(0);
                let purpose = Purpose::Node(node, self.lives[node as usize] + 1);
                self.chances[node as usize] = stream(self.seed, purpose);
                self.start(node as usize, now);
            }
            Action::Cut(partition) => self.network.set_partition(partition, true),
            Action::Heal(partition) => self.network.set_partition(partition, false),
            // A checked scenario has no pauses and no growth in this mode.
            Action::Restart(_) | Action::Pause(_) | Action::Resume(_) | Action::Grow(_) => {}
        }
    }

    pub(super) fn start(&mut self, node: usize, now: i64) {
        self.up[node] = true;
        self.lives[node] += 1;
        self.rows[node][node] = now as i32;
        let phase = self.chances[node].below(UNIT as usize) as i64;
        let first = now + phase;
        self.play.started(node, first, &mut self.chances[node]);
        self.wakes.push(Reverse((first, node as u32, self.lives[node])));
    }

    /// Another node, each with the same probability.
    pub(super) fn other(&mut self, node: usize) -> usize {
        let other = self.chances[node].below(self.rows.len() - 1);
        other + usize::from(other >= node)
    }

    /// Whether what is sent now arrives.
    pub(super) fn arrives(&mut self, from: usize, to: usize) -> bool {
        !self.network.is_cut(from, to) && !self.network.is_lost() && self.up[to]
    }

    /// Counts a message of so many entries as the wire would carry it.
    pub(super) fn sent(&mut self, entries: usize) {
        self.totals.messages += 1;
        self.totals.datagrams += entries.div_ceil(self.budget.datagram_entries) as u64;
        self.totals.bytes += self.budget.window_bytes(entries) as u64;
        self.totals.entries_sent += entries as u64;
    }

    /// Counts what a message brought, and puts it into the trace.
    pub(super) fn received(
        &mut self,
        now: i64,
        (from, to): (usize, usize),
        entries: usize,
        news: usize,
    ) {
        self.totals.entries_received += entries as u64;
        self.totals.entries_news += news as u64;
        self.trace.fold(now as u64);
        self.trace.fold(((from as u64) << 32) | to as u64);
        self.trace.fold(((entries as u64) << 32) | news as u64);
    }

    /// Reads every row of a node that is up: the ages of the others that are up too.
    fn sample(&mut self, unit: u32, now: i64, mut samples: Option<&mut Samples>) {
        let others = self.up.iter().filter(|&&up| up).count().saturating_sub(1);
        let all_up = others + 1 == self.up.len();
        let mut lacking_pairs = 0;
        let mut masked = vec![0; self.up.len()];
        let turns = (self.up.len() * self.up.len()).div_ceil(AGES_COUNTED);
        for holder in (0..self.up.len()).filter(|&holder| self.up[holder]) {
            masked.copy_from_slice(&self.rows[holder]);
            masked[holder] = 0;
            if !all_up {
                let down = self.up.iter().enumerate().filter(|(_, up)| !**up);
                down.for_each(|(origin, _)| masked[origin] = 0);
            }
            let sum = row::sum(&masked);
            lacking_pairs += (others - sum.known) as u64;
            if let Some(samples) = samples.as_deref_mut() {
                if (holder + unit as usize) % turns == 0 {
                    count(&masked, now, samples);
                }
                samples.add(row_of(sum, now));
                samples.lack((others - sum.known) as u64);
            }
        }
        self.convergence.sampled(unit, lacking_pairs);
    }
}

/// Puts the ages of a row into the histogram.
fn count(row: &[i32], now: i64, samples: &mut Samples) {
    for &birth in row.iter().filter(|&&birth| birth > 0) {
        samples.count(((now as i32 - birth) >> BIN_SHIFT) as usize);
    }
}

/// The ages of a row, summed up.
fn row_of(sum: RowSum, now: i64) -> Row {
    if sum.known == 0 {
        return Row::default();
    }
    let ages = sum.known as i64 * now - sum.births;
    let oldest = now - i64::from(sum.oldest);
    Row::of(ages as f64 / UNIT as f64, sum.known as u64, oldest as f64 / UNIT as f64)
}
