//! Independent runs of one scenario, summed up: the mean of each figure and its standard error.
//!
//! Runs differ in their random seed alone, so their figures are independent draws from one
//! distribution. The standard error of a mean of n draws is s/√n, with s² the sum of squared
//! deviations from the mean over n − 1 (Bessel's correction; any text on statistics, such as
//! Wasserman, All of Statistics, 2004, section 6.3). One run has no standard error.

use core::fmt::Write as _;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::checker::Findings;
use crate::report::Report;
use crate::scenario::Scenario;

/// A figure of a report: its name there, and how to read it.
type Figure = (&'static str, fn(&Report) -> Option<f64>);

/// The figures that are summed up, in the order of the report.
const FIGURES: [Figure; 19] = [
    ("age_avg_units", |report| report.age_avg_units),
    ("age_max_units", |report| report.age_max_units),
    ("age_p50_units", |report| report.age_p50_units),
    ("age_p90_units", |report| report.age_p90_units),
    ("age_p99_units", |report| report.age_p99_units),
    ("age_highest_units", |report| report.age_highest_units),
    ("never_heard_pairs", |report| Some(report.never_heard_pairs as f64)),
    ("first_full_view_units", |report| report.first_full_view_units.map(f64::from)),
    ("units_measured", |report| Some(f64::from(report.units_measured))),
    ("nodes_up", |report| Some(f64::from(report.nodes_up))),
    ("messages", |report| Some(report.messages as f64)),
    ("datagrams", |report| Some(report.datagrams as f64)),
    ("bytes", |report| Some(report.bytes as f64)),
    ("entries_sent", |report| Some(report.entries_sent as f64)),
    ("entries_received", |report| Some(report.entries_received as f64)),
    ("news_share", |report| report.news_share),
    ("wall_s", |report| report.wall_s),
    ("pairs_checked", |report| report.checks.as_ref().map(|checks| checks.pairs_checked as f64)),
    ("violations", |report| report.checks.as_ref().map(violations)),
];

/// What the runs of one scenario gave.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Summary {
    /// Runs summed up.
    pub runs: u32,
    /// Whether they are all that were asked for.
    pub complete: bool,
    /// The mean of each figure; `null` if a run has none.
    #[serde(flatten)]
    pub means: Figures,
    /// The standard error of each mean; `null` for one run.
    pub standard_errors: Figures,
    /// The random seed of each run.
    pub seeds: Vec<u64>,
    /// The trace hash of each run.
    pub trace_hashes: Vec<String>,
    /// The first thing that contradicts the truth, in the first run that has one.
    pub first_violation: Option<String>,
    /// The scenario of the first run.
    pub parameters: Option<Scenario>,
}

/// Figures by name, in the order of the report.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures(Vec<(&'static str, Option<f64>)>);

/// Mean and standard error of independent draws; `None` where there are too few.
pub fn mean_and_error(draws: &[f64]) -> (Option<f64>, Option<f64>) {
    let count = draws.len() as f64;
    let Some(mean) = (!draws.is_empty()).then(|| draws.iter().sum::<f64>() / count) else {
        return (None, None);
    };
    let squares: f64 = draws.iter().map(|draw| (draw - mean).powi(2)).sum();
    (Some(mean), (draws.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt()))
}

/// The scenarios of independent runs: the same one, with the seeds that follow its own.
pub fn seeded(scenario: &Scenario, runs: u32) -> Vec<Scenario> {
    let with =
        |run| Scenario { seed: scenario.seed.wrapping_add(u64::from(run)), ..scenario.clone() };
    (0..runs).map(with).collect()
}

impl Summary {
    /// Sums up reports, of `runs` that were asked for.
    pub fn of(reports: &[Report], runs: u32) -> Self {
        let over_runs = |(name, figure): Figure| {
            let draws: Option<Vec<f64>> = reports.iter().map(figure).collect();
            let (mean, error) = draws.map_or((None, None), |draws| mean_and_error(&draws));
            ((name, mean), (name, error))
        };
        let (means, errors) = FIGURES.into_iter().map(over_runs).unzip();
        let checks = reports.iter().filter_map(|report| report.checks.as_ref());
        Self {
            runs: reports.len() as u32,
            complete: reports.len() == runs as usize,
            means: Figures(means),
            standard_errors: Figures(errors),
            seeds: reports.iter().map(|report| report.parameters.seed).collect(),
            trace_hashes: reports.iter().map(|report| report.trace_hash.clone()).collect(),
            first_violation: checks.into_iter().find_map(|checks| checks.first_violation.clone()),
            parameters: reports.first().map(|report| report.parameters.clone()),
        }
    }
}

impl Figures {
    /// The figures with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        self.0.iter().copied()
    }

    /// The figure of this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter().find(|(own, _)| *own == name).and_then(|(_, figure)| figure)
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, figure) in &self.0 {
            map.serialize_entry(name, figure)?;
        }
        map.end()
    }
}

/// One line a run as CSV, under a heading: seed, every figure, trace hash; empty where there is no
/// figure.
pub fn csv(reports: &[Report]) -> String {
    let names: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
    let mut text = format!("seed,{},trace_hash\n", names.join(","));
    for report in reports {
        let cell = |(_, figure): &Figure| {
            figure(report).map_or(String::new(), |figure| figure.to_string())
        };
        let cells: Vec<String> = FIGURES.iter().map(cell).collect();
        let (seed, hash) = (report.parameters.seed, &report.trace_hash);
        let _ = writeln!(text, "{seed},{},{hash}", cells.join(","));
    }
    text
}

fn violations(checks: &Findings) -> f64 {
    (checks.understated_ages + checks.lowered_entries) as f64
}

#[cfg(test)]
mod tests {
    use core::ops::ControlFlow;

    use super::*;

    fn reports(runs: u32) -> Vec<Report> {
        let mut scenario = Scenario::default();
        (scenario.units, scenario.warmup_units, scenario.cluster.nodes) = (5, 5, 8);
        let report = |scenario: &Scenario| {
            crate::run(scenario, &mut |_, _| ControlFlow::Continue(())).expect("possible")
        };
        seeded(&scenario, runs).iter().map(report).collect()
    }

    /// By hand: 2, 4 and 9 have the mean 5, squares 9 + 1 + 16 = 26, s² = 13, error √(13/3).
    #[test]
    fn means_and_errors_are_those_of_the_formula() {
        let (mean, error) = mean_and_error(&[2.0, 4.0, 9.0]);
        assert_eq!(mean, Some(5.0));
        assert!(error.is_some_and(|error| (error - (13.0_f64 / 3.0).sqrt()).abs() < 1e-12));
        assert_eq!(mean_and_error(&[7.0]), (Some(7.0), None));
        assert_eq!(mean_and_error(&[]), (None, None));
    }

    #[test]
    fn runs_have_seeds_of_their_own_and_sum_up_to_their_means() {
        let reports = reports(3);
        let summary = Summary::of(&reports, 3);
        assert_eq!((&summary.seeds[..], summary.complete), (&[1, 2, 3][..], true));
        assert!(!Summary::of(&reports, 4).complete);
        let ages = reports.iter().map(|report| report.age_avg_units.expect("there are samples"));
        let mean = ages.sum::<f64>() / 3.0;
        assert!(summary.means.get("age_avg_units").is_some_and(|age| (age - mean).abs() < 1e-12));
        assert_eq!(summary.means.get("messages"), Some(40.0));
        assert_eq!(summary.standard_errors.get("messages"), Some(0.0));
        assert_eq!(summary.means.get("wall_s"), None, "nobody measured the time");
        assert_eq!(summary.means.get("violations"), Some(0.0));
    }

    #[test]
    fn the_table_has_a_line_a_run_and_a_cell_a_figure() {
        let text = csv(&reports(2));
        let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells, [FIGURES.len() + 2; 3]);
        assert!(text.lines().nth(2).is_some_and(|line| line.starts_with("2,")), "{text}");
    }
}
