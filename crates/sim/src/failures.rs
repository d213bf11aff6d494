//! What loss and dead nodes do to the ages, and how long until a dead node is noticed everywhere.
//!
//! The slides of Levy et al. (ROSS'14) name fault tolerance and loss of messages as future work.
//! Here a cluster in its steady state loses a share of its messages all the time, or a share of its
//! nodes at one moment, and is watched for 100 units.
//!
//! **Noticed.** Nothing declares a node dead: its entry only grows old. A holder notices the end of
//! a node when its entry's age exceeds a threshold that the entries of living nodes exceed, in the
//! run without faults, with a probability below one in a million for each pair and sample. The last
//! entries a dead node left behind go on spreading, so what counts is the birth of the newest one
//! that a holder ever gets: from that birth plus the threshold on, it stays noticed. Times count
//! from the crash. The mean over pairs lies below the threshold, since one entry reaches only about
//! as large a share of the nodes as a window has of the entries; the rest keep an older one.
//! Everywhere means at every node that is still up, so the freshest holder decides: it is late by
//! the threshold, less the time from the dead node's last round that was heard to its end.

use core::fmt::Write as _;

use tidings_gossip::{Strategy, Window};

use crate::fault::Fault;
use crate::report::Report;
use crate::sample::Distribution;
use crate::scenario::{Mode, Scenario};
use crate::strategies::MTU_BYTES;
use crate::summary::mean_and_error;

/// Shares of messages lost.
const LOSSES: [f64; 4] = [0.0, 0.01, 0.1, 0.3];
/// Nodes that crash at one moment, in per cent.
const CRASHES_PERCENT: [f64; 3] = [1.0, 10.0, 50.0];
/// Units after which a crash comes, and the measuring begins.
const WARMUP_UNITS: u32 = 60;
/// Units that are watched.
const UNITS: u32 = 100;
/// A pair of living nodes exceeds the threshold with at most this probability at a sample.
const FALSE_ALARM: f64 = 1e-6;
/// Ages that must be counted for the threshold to mean something: ten of them lie above it.
const AGES_NEEDED: f64 = 10.0 / FALSE_ALARM;
/// An entry younger than this is fresh.
const FRESH_UNITS: f64 = 20.0;

/// What affects the cluster.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    /// To whom windows go.
    pub strategy: Strategy,
    /// Nodes in the cluster.
    pub nodes: u32,
    /// Share of the messages that is lost.
    pub loss: f64,
    /// Nodes that crash after the warm-up, in per cent.
    pub crashed_percent: f64,
}

/// What came of it: means over runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    case: Case,
    runs: u32,
    age_avg_units: Option<f64>,
    age_avg_error_units: Option<f64>,
    age_p99_units: Option<f64>,
    age_max_units: Option<f64>,
    full_view_units: Option<f64>,
    ages: Distribution,
    /// Mean over dead nodes and their holders of the age at the last sample.
    departed_avg_units: Option<f64>,
    /// Mean over dead nodes of the least age that a holder has at the last sample.
    departed_least_units: Option<f64>,
    /// The least of these.
    departed_lowest_units: Option<f64>,
}

/// The cases of one strategy among so many nodes; the first is the one without faults.
pub fn cases(strategy: Strategy, nodes: u32) -> Vec<Case> {
    let plain = Case { strategy, nodes, loss: 0.0, crashed_percent: 0.0 };
    let losses = LOSSES.into_iter().map(|loss| Case { loss, ..plain });
    let crashes =
        CRASHES_PERCENT.into_iter().map(|crashed_percent| Case { crashed_percent, ..plain });
    losses.chain(crashes).collect()
}

impl Case {
    /// The scenario of the case.
    pub fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario { mode: Mode::Compact, seed, ..Scenario::default() };
        (scenario.units, scenario.warmup_units) = (UNITS, WARMUP_UNITS);
        scenario.cluster.nodes = self.nodes;
        scenario.cluster.strategy = self.strategy;
        scenario.network.mtu_bytes = MTU_BYTES;
        scenario.network.loss = self.loss;
        if self.crashed_percent > 0.0 {
            let nodes = Window::Percent(self.crashed_percent);
            let at = f64::from(WARMUP_UNITS);
            scenario.faults.push(Fault::Crash { at, nodes, restart_after: None });
        }
        scenario
    }
}

impl Measured {
    /// The means over the reports of a case's runs.
    pub fn of(case: Case, reports: &[Report]) -> Self {
        let over_runs = |figure: fn(&Report) -> Option<f64>| {
            let draws: Option<Vec<f64>> = reports.iter().map(figure).collect();
            draws.map_or((None, None), |draws| mean_and_error(&draws))
        };
        let mut ages = Distribution::default();
        for report in reports {
            ages.absorb(&report.ages);
        }
        let departed = reports.iter().flat_map(|report| &report.departed);
        let departed: Vec<_> = departed.filter(|gone| gone.holders > 0).collect();
        let mean = |of: fn(f64, f64) -> f64| {
            let draws: Vec<f64> =
                departed.iter().map(|gone| of(gone.age_avg_units, gone.age_least_units)).collect();
            mean_and_error(&draws).0
        };
        let (age_avg_units, age_avg_error_units) = over_runs(|report| report.age_avg_units);
        Self {
            case,
            runs: reports.len() as u32,
            age_avg_units,
            age_avg_error_units,
            age_p99_units: over_runs(|report| report.age_p99_units).0,
            age_max_units: over_runs(|report| report.age_max_units).0,
            full_view_units: over_runs(|report| report.first_full_view_units.map(f64::from)).0,
            ages,
            departed_avg_units: mean(|average, _| average),
            departed_least_units: mean(|_, least| least),
            departed_lowest_units: departed
                .iter()
                .map(|gone| gone.age_least_units)
                .reduce(f64::min),
        }
    }

    /// The threshold that follows from this case, if it is the one without faults; `None` if too
    /// few ages were counted to tell one in a million.
    pub fn threshold_units(&self) -> Option<f64> {
        let plain = self.case.loss <= 0.0 && self.case.crashed_percent <= 0.0;
        let enough = self.ages.counted() as f64 >= AGES_NEEDED;
        (plain && enough).then(|| self.ages.quantile_units(1.0 - FALSE_ALARM)).flatten()
    }

    /// A time after the crash, from an age at the last sample.
    fn noticed_units(threshold_units: Option<f64>, age_units: Option<f64>) -> Option<f64> {
        let (threshold, age) = threshold_units.zip(age_units)?;
        Some(threshold + f64::from(UNITS) - age)
    }

    /// A line of the table, under the threshold of its strategy and size.
    fn line(&self, threshold_units: Option<f64>) -> String {
        let cell = |figure: Option<f64>, digits: usize| {
            figure.map_or(String::new(), |figure| format!("{figure:.digits$}"))
        };
        let older = threshold_units.and_then(|threshold| self.ages.older_share(threshold));
        let noticed = |age| cell(Self::noticed_units(threshold_units, age), 2);
        let Case { strategy, nodes, loss, crashed_percent } = self.case;
        [
            strategy.to_string(),
            nodes.to_string(),
            self.runs.to_string(),
            format!("{}", 100.0 * loss),
            crashed_percent.to_string(),
            cell(self.age_avg_units, 3),
            cell(self.age_avg_error_units, 4),
            cell(self.age_p99_units, 2),
            cell(self.age_max_units, 2),
            format!("{:.6}", self.ages.heard_share()),
            cell(self.ages.fresh_share(FRESH_UNITS), 4),
            cell(self.full_view_units, 1),
            cell(threshold_units, 2),
            older.map_or(String::new(), |share| format!("{share:.3e}")),
            noticed(self.departed_avg_units),
            noticed(self.departed_least_units),
            noticed(self.departed_lowest_units),
        ]
        .join(",")
    }
}

/// The cases as CSV: a heading, then a line each. Each group begins with its case without faults,
/// whose threshold serves all of it.
pub fn csv(groups: &[Vec<Measured>]) -> String {
    let mut text = "strategy,nodes,runs,loss_percent,crashed_percent,age_avg_units,\
        age_avg_error_units,age_p99_units,age_max_units,heard_share,fresh_share,full_view_units,\
        threshold_units,older_share,noticed_avg_units,noticed_everywhere_avg_units,\
        noticed_everywhere_max_units\n"
        .to_owned();
    for group in groups {
        let threshold = group.iter().find_map(Measured::threshold_units);
        for measured in group {
            let _ = writeln!(text, "{}", measured.line(threshold));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use core::ops::ControlFlow;

    use super::*;

    fn measured(case: Case, mode: Mode, runs: u64) -> Measured {
        let report = |seed| {
            let scenario = Scenario { mode, ..case.scenario(seed) };
            crate::run(&scenario, &mut |_, _| ControlFlow::Continue(())).expect("possible")
        };
        Measured::of(case, &(1..=runs).map(report).collect::<Vec<_>>())
    }

    #[test]
    fn the_cases_are_those_asked_for_and_each_can_be_run() {
        let all = cases(Strategy::Uniform, 1024);
        assert_eq!(all.len(), 7);
        for case in all {
            case.scenario(1).check().expect("a case is a possible scenario");
        }
    }

    /// 200 nodes and 3 runs count 1.2 × 10⁷ ages: just enough for a threshold.
    #[test]
    fn a_crash_is_noticed_everywhere_a_little_after_the_threshold() {
        let all = cases(Strategy::Uniform, 200);
        let (plain, crash) =
            (measured(all[0], Mode::Compact, 3), measured(all[5], Mode::Compact, 3));
        let threshold = plain.threshold_units().expect("enough ages were counted");
        let exceeded = plain.ages.older_share(threshold).expect("there are ages");
        assert!(exceeded <= 2.0 * FALSE_ALARM, "{exceeded}");
        assert_eq!(crash.threshold_units(), None, "only the run without faults sets it");
        assert!((40.0..90.0).contains(&threshold), "{threshold}");
        let noticed = |age| Measured::noticed_units(Some(threshold), age).expect("nodes died");
        let average = noticed(crash.departed_avg_units);
        let everywhere = noticed(crash.departed_lowest_units);
        // The last entry is born within the last unit before the end, and its receiver counts
        // from its birth. The other holders got one some rounds older: at windows of a fifth, an
        // entry is renewed every five units.
        assert!(threshold - 1.0 <= everywhere && everywhere <= threshold, "{everywhere}");
        assert!(threshold - 10.0 < average && average < everywhere - 2.0, "{average}");
    }

    /// Both modes read the same thing: what holders have of the dead at the end. Null value: no
    /// difference in means over 20 runs of 400 pairs each, whose ages deviate by about 5 units from
    /// their mean; 0.4 is allowed, and the seeds are fixed.
    #[test]
    fn full_and_compact_hold_the_dead_alike() {
        let case = Case { crashed_percent: 50.0, ..cases(Strategy::Uniform, 40)[0] };
        let (full, compact) = (measured(case, Mode::Full, 20), measured(case, Mode::Compact, 20));
        for figure in [|m: &Measured| m.departed_avg_units, |m: &Measured| m.departed_least_units] {
            let (one, other) = (figure(&full).expect("dead"), figure(&compact).expect("dead"));
            assert!((one - other).abs() < 0.4, "{one} in full, {other} in compact");
            assert!(one > 100.0 && one < 110.0, "{one}");
        }
        assert_eq!(full.threshold_units(), None, "too few ages were counted");
    }

    #[test]
    fn a_line_has_a_cell_a_column_and_loss_costs_freshness() {
        let all = cases(Strategy::Uniform, 64);
        let group: Vec<_> = [0, 3].map(|at| measured(all[at], Mode::Compact, 2)).into();
        let text = csv(core::slice::from_ref(&group));
        let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells, [17; 3], "{text}");
        assert!(group[0].ages.fresh_share(20.0) > group[1].ages.fresh_share(20.0), "{text}");
        assert!(text.contains("uniform,64,2,30,0,"), "{text}");
    }
}
