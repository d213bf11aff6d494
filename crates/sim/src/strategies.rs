//! The strategies beside each other, at equal messages and bytes.
//!
//! All run with the same window, which is the bytes they may send; what they did send is in the
//! table. Datagrams are those of an Ethernet whose IP packets hold 1,428 bytes, 1,400 of them UDP
//! payload. From one point, 1,024 nodes with windows of 20 % and nothing amiss, one thing at a time
//! is changed: the number of nodes, the window, the loss, the dead nodes, the clocks.
//!
//! Dead nodes died half a warm-up before the measuring; ages are those among the living.

use core::fmt::Write as _;

use tidings_gossip::{Strategy, Window};

use crate::fault::Fault;
use crate::report::Report;
use crate::scenario::{Mode, Scenario};
use crate::span::Span;

/// The largest IP packet.
pub(crate) const MTU_BYTES: u32 = 1_428;
/// Units before the first sample; a third more than the oldest entry of `uniform` lives.
const WARMUP_UNITS: u32 = 80;
/// Units measured.
const UNITS: u32 = 100;

/// One comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// How a unit's bytes are given away.
    pub strategy: Strategy,
    /// Nodes in the cluster.
    pub nodes: u32,
    /// The window, in per cent of them.
    pub window_percent: f64,
    /// Share of the messages that is lost.
    pub loss: f64,
    /// Nodes that died, in per cent.
    pub dead_percent: f64,
    /// How far a clock is off, at most.
    pub clock_error: Span,
}

/// An hour: clocks that nobody set.
const UNSYNCHRONISED: Span = Span::from_micros(3_600_000_000);

/// The cases of all strategies, up to `nodes_max` nodes.
pub fn cases(nodes_max: u32) -> Vec<Case> {
    let base = Case {
        strategy: Strategy::Uniform,
        nodes: 1024,
        window_percent: 20.0,
        loss: 0.0,
        dead_percent: 0.0,
        clock_error: Span::default(),
    };
    let mut all = Vec::new();
    let sizes = [128, 256, 512, 1024, 2048, 4096, 8192];
    all.extend(sizes.map(|nodes| Case { nodes, ..base }));
    all.extend([128, 8192].map(|nodes| Case { nodes, loss: 0.1, ..base }));
    for nodes in [128, 1024] {
        let windows = [5.0, 10.0, 40.0, 60.0, 80.0, 100.0];
        all.extend(windows.map(|window_percent| Case { nodes, window_percent, ..base }));
    }
    all.extend([0.01, 0.1, 0.3].map(|loss| Case { loss, ..base }));
    all.extend([0.1].map(|loss| Case { loss, window_percent: 100.0, ..base }));
    all.extend([1.0, 10.0, 50.0].map(|dead_percent| Case { dead_percent, ..base }));
    let errors = [1_000, 10_000, 100_000].map(Span::from_micros);
    let errors = errors.into_iter().chain([UNSYNCHRONISED]);
    all.extend(errors.map(|clock_error| Case { clock_error, ..base }));
    all.retain(|case| case.nodes <= nodes_max);
    let of = |case: Case| Strategy::ALL.map(|strategy| Case { strategy, ..case });
    all.into_iter().flat_map(of).collect()
}

impl Case {
    /// Runs that are averaged: few pairs make a noisy mean.
    pub fn runs(&self) -> u32 {
        (4_096 / self.nodes).clamp(1, 16)
    }

    /// The scenario of one of the runs.
    pub fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario { mode: Mode::Compact, seed, ..Scenario::default() };
        (scenario.units, scenario.warmup_units) = (UNITS, WARMUP_UNITS);
        scenario.cluster.nodes = self.nodes;
        scenario.cluster.window = Window::Percent(self.window_percent);
        scenario.cluster.strategy = self.strategy;
        scenario.network.mtu_bytes = MTU_BYTES;
        scenario.network.loss = self.loss;
        scenario.clocks.offset = self.clock_error;
        if self.dead_percent > 0.0 {
            let nodes = Window::Percent(self.dead_percent);
            let at = f64::from(WARMUP_UNITS / 2);
            scenario.faults.push(Fault::Crash { at, nodes, restart_after: None });
        }
        scenario
    }
}

/// The means over the reports of each case's runs as CSV: a heading, then a line a case.
///
/// Bytes, messages and datagrams are those sent by a living node in a unit.
pub fn csv(cases: &[(Case, Vec<Report>)]) -> String {
    let mut text = "strategy,nodes,window_percent,loss,dead_percent,clock_error_ms,runs,\
        age_avg_units,age_p50_units,age_p99_units,age_max_units,age_highest_units,news_share,\
        bytes_per_unit,messages_per_unit,datagrams_per_unit,never_heard_pairs\n"
        .to_owned();
    for (case, reports) in cases {
        let runs = reports.len().max(1) as f64;
        let mean = |figure: &dyn Fn(&Report) -> Option<f64>| {
            reports.iter().filter_map(figure).sum::<f64>() / runs
        };
        let each = |total: fn(&Report) -> u64| {
            mean(&|report| {
                let node_units = f64::from(report.nodes_up) * f64::from(report.units_measured);
                Some(total(report) as f64 / node_units)
            })
        };
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{:.3},{:.3},{:.2},{:.2},{:.1},{:.3},{:.0},{:.2},{:.2},{}",
            case.strategy,
            case.nodes,
            case.window_percent,
            case.loss,
            case.dead_percent,
            case.clock_error.as_micros() as f64 / 1e3,
            reports.len(),
            mean(&|report| report.age_avg_units),
            mean(&|report| report.age_p50_units),
            mean(&|report| report.age_p99_units),
            mean(&|report| report.age_max_units),
            mean(&|report| report.age_highest_units),
            mean(&|report| report.news_share),
            each(|report| report.bytes),
            each(|report| report.messages),
            each(|report| report.datagrams),
            reports.iter().map(|report| report.never_heard_pairs).sum::<u64>(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_run_and_has_its_line() {
        let all = cases(8192);
        assert_eq!(all.len(), 32 * Strategy::ALL.len());
        for case in &all {
            case.scenario(1).check().expect("a case is a possible scenario");
        }
        let small: Vec<_> = cases(128)
            .into_iter()
            .map(|case| {
                let mut scenario = case.scenario(1);
                (scenario.units, scenario.warmup_units) = (3, 40);
                let run = crate::run(&scenario, &mut |_, _| core::ops::ControlFlow::Continue(()));
                (case, vec![run.expect("possible")])
            })
            .collect();
        let text = csv(&small);
        let columns = text.lines().map(|line| line.split(',').count());
        assert_eq!(columns.collect::<Vec<_>>(), vec![17; 1 + small.len()]);
        assert!(text.contains("\ngrid,128,20,0,0,0,1,"), "{text}");
    }
}
