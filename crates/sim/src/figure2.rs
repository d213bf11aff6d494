//! Figure 2 of Levy et al. (ROSS'14): average vector age against the window, by number of nodes.
//!
//! The points are 128 to 8,192 nodes and windows of 10 to 100 %. Where an independent simulation
//! of the algorithm gave a value, a point is compared with it. Small clusters are averaged over
//! several random seeds, since few pairs make a noisy mean: 8,192 samples of nodes a unit, or one.

use core::fmt::Write as _;

use tidings_gossip::Window;

use crate::report::Report;
use crate::scenario::{Mode, Scenario};

/// Ages of the independent simulation: nodes, then the average at 10, 20, 40, 60, 80 and 100 %.
const AVERAGES: [(u32, [Option<f64>; 6]); 5] = [
    (128, [Some(12.6), Some(7.8), Some(5.8), Some(5.2), Some(5.0), Some(4.9)]),
    (1024, [Some(14.2), Some(9.8), Some(7.9), Some(7.3), Some(7.1), Some(7.05)]),
    (2048, [None, Some(10.5), None, None, None, None]),
    (4096, [None, Some(11.2), None, None, None, None]),
    (8192, [None, Some(11.9), None, None, None, None]),
];
/// The windows of [`AVERAGES`], in per cent.
const WINDOWS: [u32; 6] = [10, 20, 40, 60, 80, 100];
/// Mean over nodes of the oldest entry, at a window of 20 %.
const OLDEST: [(u32, f64); 5] =
    [(128, 28.7), (1024, 39.9), (2048, 43.6), (4096, 44.1), (8192, 42.2)];

/// A point of the figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Nodes in the cluster.
    pub nodes: u32,
    /// The window, in per cent of them.
    pub window_percent: u32,
    /// Runs that are averaged, each with a random seed of its own.
    pub runs: u32,
}

/// What was measured at a point: means over its runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Where.
    pub point: Point,
    /// Mean age over all pairs.
    pub age_avg_units: f64,
    /// Mean over nodes of the oldest entry.
    pub age_max_units: f64,
    /// The age that 99 % of all do not exceed.
    pub age_p99_units: f64,
}

/// The points, up to `nodes_max` nodes.
pub fn points(nodes_max: u32) -> Vec<Point> {
    let sizes = [128, 256, 512, 1024, 2048, 4096, 8192].into_iter();
    sizes
        .filter(|&nodes| nodes <= nodes_max)
        .flat_map(|nodes| {
            let runs = (8_192 / nodes).clamp(1, 16);
            (1..=10).map(move |tenth| Point { nodes, window_percent: 10 * tenth, runs })
        })
        .collect()
}

impl Point {
    /// The scenario of one of the point's runs.
    pub fn scenario(&self, seed: u64, run: u32) -> Scenario {
        let mut scenario = Scenario { mode: Mode::Compact, ..Scenario::default() };
        scenario.seed = seed + u64::from(run);
        scenario.cluster.nodes = self.nodes;
        scenario.cluster.window = Window::Percent(f64::from(self.window_percent));
        scenario
    }

    /// The means over the reports of all runs; `None` if one of them has no samples.
    pub fn measured(&self, reports: &[Report]) -> Option<Measured> {
        let mean = |figure: fn(&Report) -> Option<f64>| {
            let total: Option<f64> = reports.iter().map(figure).sum();
            total.map(|total| total / reports.len().max(1) as f64)
        };
        Some(Measured {
            point: *self,
            age_avg_units: mean(|report| report.age_avg_units)?,
            age_max_units: mean(|report| report.age_max_units)?,
            age_p99_units: mean(|report| report.age_p99_units)?,
        })
    }

    /// What the independent simulation gave: the average, and the oldest.
    pub fn expected(&self) -> (Option<f64>, Option<f64>) {
        let column = WINDOWS.iter().position(|&window| window == self.window_percent);
        let row = AVERAGES.iter().find(|(nodes, _)| *nodes == self.nodes);
        let average = row.zip(column).and_then(|((_, ages), column)| ages[column]);
        let oldest = OLDEST.iter().find(|(nodes, _)| *nodes == self.nodes);
        let oldest = oldest.filter(|_| self.window_percent == 20).map(|(_, age)| *age);
        (average, oldest)
    }
}

impl Measured {
    /// By how much the average differs from the expected one, in per cent of it.
    pub fn deviation_percent(&self) -> Option<f64> {
        let (expected, _) = self.point.expected();
        expected.map(|expected| 100.0 * (self.age_avg_units / expected - 1.0))
    }
}

/// The points as CSV: a heading, then a line each; empty where nothing is expected.
pub fn csv(points: &[Measured]) -> String {
    let mut text = "nodes,window_percent,runs,age_avg_units,age_avg_expected_units,\
        deviation_percent,age_max_units,age_max_expected_units,age_p99_units\n"
        .to_owned();
    let cell = |figure: Option<f64>, digits: usize| {
        figure.map_or(String::new(), |figure| format!("{figure:.digits$}"))
    };
    for measured in points {
        let Point { nodes, window_percent, runs } = measured.point;
        let (average, oldest) = measured.point.expected();
        let expected = (cell(average, 2), cell(measured.deviation_percent(), 2), cell(oldest, 1));
        let _ = writeln!(
            text,
            "{nodes},{window_percent},{runs},{:.3},{},{},{:.2},{},{:.2}",
            measured.age_avg_units,
            expected.0,
            expected.1,
            measured.age_max_units,
            expected.2,
            measured.age_p99_units,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_are_those_of_the_figure_and_each_can_be_run() {
        let all = points(8192);
        assert_eq!(all.len(), 70);
        assert_eq!(points(1000).len(), 30);
        for point in all {
            point.scenario(1, 0).check().expect("a point is a possible scenario");
        }
        let expected = points(8192).iter().filter(|point| point.expected().0.is_some()).count();
        assert_eq!(expected, 15);
    }

    #[test]
    fn a_line_has_the_deviation_where_something_is_expected() {
        let at = |window_percent| Measured {
            point: Point { nodes: 1024, window_percent, runs: 8 },
            age_avg_units: 9.898,
            age_max_units: 40.0,
            age_p99_units: 28.0,
        };
        let text = csv(&[at(20), at(30)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split(',').count(), 9);
        assert_eq!(lines[1], "1024,20,8,9.898,9.80,1.00,40.00,39.9,28.00");
        assert_eq!(lines[2], "1024,30,8,9.898,,,40.00,,28.00");
    }
}
