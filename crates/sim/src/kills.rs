//! Kills beside each other: how soon the death of a process is known, and whether others are false.
//!
//! One scenario, `scenarios/deaths.toml`, in which one of 48 nodes after the other is killed, with
//! both strategies that agents have, with and without loss, and with hosts that say that nobody
//! listens there or say nothing. The file has 20 kills; any number of them goes on as those do.

use core::fmt::Write as _;

use tidings_gossip::Strategy;

use crate::fault::Fault;
use crate::report::Report;
use crate::scenario::{Scenario, ScenarioError};

/// The kills.
const SCENARIO: &str = include_str!("../scenarios/deaths.toml");
/// Shares of the datagrams that are lost.
const LOSSES: [f64; 2] = [0.0, 0.1];
/// Units from one kill to the next. Each of ten is a tenth of a unit later beside that, so that
/// they come at all moments of a round.
const UNITS_APART: u32 = 20;

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
    /// The scenario of this case, with so many kills.
    ///
    /// # Errors
    /// Never: the scenario is a part of this crate, and a test reads it.
    pub fn scenario(&self, seed: u64, kills: u32) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario::parse(SCENARIO)?;
        scenario.seed = seed;
        scenario.units = scenario.warmup_units + UNITS_APART * kills;
        scenario.faults = scenario.faults.first().map_or_else(Vec::new, |one| repeated(one, kills));
        scenario.cluster.strategy = self.strategy;
        (scenario.network.refuses, scenario.network.loss) = (self.refuses, self.loss);
        Ok(scenario)
    }
}

/// A crash, and as many more of its kind as make this number, one after the other.
fn repeated(first: &Fault, kills: u32) -> Vec<Fault> {
    let after = |kill: u32| f64::from(UNITS_APART * kill * 10 + kill % 10) / 10.0;
    let of = |kill| match *first {
        Fault::Crash { at, nodes, restart_after } => {
            Some(Fault::Crash { at: at + after(kill), nodes, restart_after })
        }
        _ => None,
    };
    (0..kills).filter_map(of).collect()
}

/// What became known in each case as CSV: a heading, then a line a case.
pub fn csv(cases: &[(Case, Report)]) -> String {
    let mut text = "strategy,host,loss_percent,crashes,known_to_all,half_ms,all_ms,all_p99_ms,\
        all_worst_ms,false_deaths\n"
        .to_owned();
    for (case, report) in cases {
        let Some(deaths) = report.deaths else { continue };
        let host = if case.refuses { "refuses" } else { "silent" };
        let times = [deaths.half_ms, deaths.all_ms, deaths.all_p99_ms, deaths.all_worst_ms];
        let times = times.map(|ms| ms.map_or_else(String::new, |ms| format!("{ms:.1}")));
        let _ = writeln!(
            text,
            "{},{host},{},{},{},{},{}",
            case.strategy,
            100.0 * case.loss,
            deaths.crashes,
            deaths.known_to_all,
            times.join(","),
            deaths.mistaken,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_go_on_as_those_of_the_file() {
        let file = Scenario::parse(SCENARIO).expect("a scenario of this crate");
        let of = |kills| cases()[0].scenario(file.seed, kills).expect("a scenario of this crate");
        assert_eq!((of(20).units, of(20).faults), (file.units, file.faults));
        of(500).check().expect("possible");
        assert_eq!(of(500).faults.len(), 500);
    }

    #[test]
    fn every_case_can_be_run_and_has_its_line() {
        let all = cases();
        assert_eq!(all.len(), 8);
        let run = |case: Case| {
            let scenario = case.scenario(3, 2).expect("a scenario of this crate");
            scenario.check().expect("possible");
            let run = crate::run(&scenario, &mut |_, _| core::ops::ControlFlow::Continue(()));
            (case, run.expect("possible"))
        };
        let text = csv(&all.into_iter().map(run).collect::<Vec<_>>());
        let columns = text.lines().map(|line| line.split(',').count());
        assert_eq!(columns.collect::<Vec<_>>(), [10; 9]);
        assert!(text.contains("\ngrid,refuses,0,2,2,"), "{text}");
    }
}
