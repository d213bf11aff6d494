//! Kills beside each other: how soon the death of a process is known, and whether others are false.
//!
//! One scenario, `scenarios/deaths.toml`, in which 20 of 48 nodes are killed one after the other,
//! with both strategies that agents have, with and without loss, and with hosts that say that
//! nobody listens there or say nothing.

use core::fmt::Write as _;

use tidings_gossip::Strategy;

use crate::report::Report;
use crate::scenario::{Scenario, ScenarioError};

/// The kills.
const SCENARIO: &str = include_str!("../scenarios/deaths.toml");
/// Shares of the datagrams that are lost.
const LOSSES: [f64; 2] = [0.0, 0.1];

/// One way to be killed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// How a unit's bytes are given away.
    pub strategy: Strategy,
    /// Whether a host without its process says that nobody listens there.
    pub refuses: bool,
    /// The share of the datagrams that is lost.
    pub loss: f64,
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for strategy in [Strategy::Grid, Strategy::Uniform] {
        for refuses in [true, false] {
            all.extend(LOSSES.map(|loss| Case { strategy, refuses, loss }));
        }
    }
    all
}

impl Case {
    /// The scenario of this case.
    ///
    /// # Errors
    /// Never: the scenario is a part of this crate, and a test reads it.
    pub fn scenario(&self, seed: u64) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario::parse(SCENARIO)?;
        scenario.seed = seed;
        scenario.cluster.strategy = self.strategy;
        (scenario.network.refuses, scenario.network.loss) = (self.refuses, self.loss);
        Ok(scenario)
    }
}

/// What became known in each case as CSV: a heading, then a line a case.
pub fn csv(cases: &[(Case, Report)]) -> String {
    let mut text = "strategy,host,loss_percent,crashes,known_to_all,half_ms,all_ms,all_worst_ms,\
        false_deaths\n"
        .to_owned();
    for (case, report) in cases {
        let Some(deaths) = report.deaths else { continue };
        let host = if case.refuses { "refuses" } else { "silent" };
        let [half, all, worst] = [deaths.half_ms, deaths.all_ms, deaths.all_worst_ms]
            .map(|ms| ms.map_or_else(String::new, |ms| format!("{ms:.1}")));
        let _ = writeln!(
            text,
            "{},{host},{},{},{},{half},{all},{worst},{}",
            case.strategy,
            100.0 * case.loss,
            deaths.crashes,
            deaths.known_to_all,
            deaths.mistaken,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_run_and_has_its_line() {
        let all = cases();
        assert_eq!(all.len(), 8);
        let run = |case: Case| {
            let mut scenario = case.scenario(3).expect("a scenario of this crate");
            scenario.check().expect("possible");
            scenario.units = 100;
            scenario.faults.truncate(1);
            let run = crate::run(&scenario, &mut |_, _| core::ops::ControlFlow::Continue(()));
            (case, run.expect("possible"))
        };
        let text = csv(&all.into_iter().map(run).collect::<Vec<_>>());
        let columns = text.lines().map(|line| line.split(',').count());
        assert_eq!(columns.collect::<Vec<_>>(), [9; 9]);
        assert!(text.contains("\ngrid,refuses,0,1,1,"), "{text}");
    }
}
