//! The slides' age table: how old news is in seconds, by number of nodes and interval.
//!
//! The slides of Levy et al. (ROSS'14) say of windows of 20 %: with an interval of 256 ms the
//! average vector age is 2 to 3 s, with 1,024 ms it is 10 s. Nothing in a unit of time depends on
//! how long it is as long as messages travel in much less (2.6 µs in the paper), so each size
//! is simulated once, and its ages in units give those in seconds for every interval of the paper.

use core::fmt::Write as _;

use tidings_gossip::{Strategy, Window};

use crate::report::Report;
use crate::scenario::{Mode, Scenario};
use crate::strategies::MTU_BYTES;
use crate::summary::mean_and_error;

/// The paper's intervals, in milliseconds.
pub const INTERVALS_MS: [u32; 8] = [1, 2, 4, 8, 16, 64, 256, 1024];
/// The paper's numbers of nodes.
pub const SIZES: [u32; 4] = [1024, 2048, 4096, 8192];
/// The paper's window, in per cent of the nodes.
pub const WINDOW_PERCENT: u32 = 20;

/// What was measured among some nodes: means over runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// To whom windows went.
    pub strategy: Strategy,
    /// Nodes in the cluster.
    pub nodes: u32,
    /// Runs averaged.
    pub runs: u32,
    /// Mean age over all pairs.
    pub age_avg_units: f64,
    /// Standard error of that; `None` for one run.
    pub age_avg_error_units: Option<f64>,
    /// The age that 99 % of all do not exceed.
    pub age_p99_units: f64,
    /// Mean over nodes of the oldest entry.
    pub age_max_units: f64,
}

/// Runs that are averaged for this many nodes: at least two, so that there is a standard error.
pub fn runs_of(nodes: u32) -> u32 {
    (16_384 / nodes.max(1)).clamp(2, 64)
}

/// The scenario of the runs among `nodes` nodes.
pub fn scenario(strategy: Strategy, nodes: u32, seed: u64) -> Scenario {
    let mut scenario = Scenario { mode: Mode::Compact, seed, ..Scenario::default() };
    scenario.cluster.nodes = nodes;
    scenario.cluster.strategy = strategy;
    scenario.network.mtu_bytes = MTU_BYTES;
    scenario.cluster.window = Window::Percent(f64::from(WINDOW_PERCENT));
    scenario
}

/// What the slides say of the average age at an interval.
pub fn said(interval_ms: u32) -> &'static str {
    match interval_ms {
        256 => "2-3",
        1024 => "10",
        _ => "",
    }
}

impl Measured {
    /// The means over the reports of all runs; `None` if there are none or one has no samples.
    pub fn of(reports: &[Report]) -> Option<Self> {
        let draws = |figure: fn(&Report) -> Option<f64>| -> Option<Vec<f64>> {
            reports.iter().map(figure).collect()
        };
        let cluster = &reports.first()?.parameters.cluster;
        let (average, error) = mean_and_error(&draws(|report| report.age_avg_units)?);
        Some(Self {
            strategy: cluster.strategy,
            nodes: cluster.nodes,
            runs: reports.len() as u32,
            age_avg_units: average?,
            age_avg_error_units: error,
            age_p99_units: mean_and_error(&draws(|report| report.age_p99_units)?).0?,
            age_max_units: mean_and_error(&draws(|report| report.age_max_units)?).0?,
        })
    }
}

/// The table as CSV: a heading, then a line for each size and interval.
pub fn csv(sizes: &[Measured]) -> String {
    let mut text = "strategy,nodes,window_percent,runs,interval_ms,age_avg_units,\
        age_avg_error_units,age_avg_s,age_p99_s,age_max_s,age_avg_said_s\n"
        .to_owned();
    for measured in sizes {
        let Measured { strategy, nodes, runs, .. } = measured;
        let error = measured.age_avg_error_units.map_or(String::new(), |e| format!("{e:.4}"));
        for interval_ms in INTERVALS_MS {
            let seconds = |units: f64| units * f64::from(interval_ms) / 1e3;
            let _ = writeln!(
                text,
                "{strategy},{nodes},{WINDOW_PERCENT},{runs},{interval_ms},{:.3},{error},{:.5},\
                 {:.5},{:.5},{}",
                measured.age_avg_units,
                seconds(measured.age_avg_units),
                seconds(measured.age_p99_units),
                seconds(measured.age_max_units),
                said(interval_ms),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_can_be_run_and_has_an_error() {
        for nodes in SIZES {
            scenario(Strategy::Uniform, nodes, 1).check().expect("a size is a possible scenario");
            assert!(runs_of(nodes) >= 2);
        }
    }

    /// By hand: 10 units of 256 ms are 2.56 s.
    #[test]
    fn a_line_has_seconds_and_what_the_slides_say() {
        let measured = Measured {
            strategy: Strategy::Uniform,
            nodes: 1024,
            runs: 2,
            age_avg_units: 10.0,
            age_avg_error_units: Some(0.01),
            age_p99_units: 30.0,
            age_max_units: 40.0,
        };
        let text = csv(&[measured]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + INTERVALS_MS.len());
        assert_eq!(lines[7], "uniform,1024,20,2,256,10.000,0.0100,2.56000,7.68000,10.24000,2-3");
        assert!(lines[1].ends_with("0.01000,0.03000,0.04000,"), "{}", lines[1]);
    }
}
