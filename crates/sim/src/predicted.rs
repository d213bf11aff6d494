//! The model of the core beside the simulation: ages and costs as predicted, and as measured.
//!
//! The points are all strategies among 64 to 8,192 nodes, windows of 5 to 100 %,
//! payloads of 16 to 256 bytes and losses of 0, 1 and 10 %, all in datagrams as the agent sends
//! them. Small windows need a long time before the oldest entries are those of the steady state, so
//! the warm-up grows with the inverse of the window.

use core::fmt::Write as _;

use tidings_gossip::model::{Forecast, forecast};
use tidings_gossip::{Strategy, Window};

use crate::report::Report;
use crate::scenario::{Mode, Scenario};

/// Largest IP packet: what leaves the agent's 1,452 bytes for a datagram.
const MTU_BYTES: u32 = 1_480;
/// The windows of clusters up to 1,024 nodes, in per cent.
const WINDOWS: [u32; 6] = [5, 10, 20, 40, 70, 100];
/// Those of larger ones.
const FEW_WINDOWS: [u32; 3] = [5, 20, 100];

/// A point at which model and simulation are compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// To whom windows go.
    pub strategy: Strategy,
    /// Nodes in the cluster.
    pub nodes: u32,
    /// The window, in per cent of them.
    pub window_percent: u32,
    /// Bytes of payload in an entry.
    pub payload_bytes: u16,
    /// Probability that a message is lost, in per cent.
    pub loss_percent: u32,
}

/// Ages and costs, predicted or measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures {
    /// Mean age over all pairs, in units.
    pub age_avg_units: f64,
    /// The age that 99 % of all do not exceed.
    pub age_p99_units: f64,
    /// Mean over nodes of the oldest entry.
    pub age_max_units: f64,
    /// Bytes a node sends in a unit.
    pub bytes: f64,
    /// Datagrams a node sends in a unit.
    pub datagrams: f64,
}

/// All points, up to `nodes_max` nodes.
pub fn points(nodes_max: u32) -> Vec<Point> {
    let mut points = Vec::new();
    for nodes in [64, 128, 256, 512, 1024, 2048, 4096, 8192] {
        for strategy in Strategy::ALL {
            points.extend(points_of(strategy, nodes));
        }
    }
    points.retain(|point| point.nodes <= nodes_max);
    points
}

fn points_of(strategy: Strategy, nodes: u32) -> Vec<Point> {
    // Ages depend on payloads only where they decide how many nodes hear of something.
    let payloads: &[u16] = match (strategy, nodes) {
        (Strategy::Spread | Strategy::Grid, ..=1_024) => &[16, 64, 256],
        _ => &[64],
    };
    let (windows, losses): (&[u32], &[u32]) = match nodes {
        ..=1_024 => (&WINDOWS, &[0, 1, 10]),
        1_025..=4_096 => (&FEW_WINDOWS, &[0, 10]),
        _ => (&[20], &[0, 10]),
    };
    let mut points = Vec::new();
    for &payload_bytes in payloads {
        for &window_percent in windows {
            let of = |&loss_percent| Point {
                strategy,
                nodes,
                window_percent,
                payload_bytes,
                loss_percent,
            };
            points.extend(losses.iter().map(of));
        }
    }
    points
}

impl Point {
    /// The scenario of its run.
    pub fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario { mode: Mode::Compact, seed, ..Scenario::default() };
        scenario.units = (51_200 / self.nodes).clamp(60, 400);
        scenario.warmup_units = 60 + 1_200 / self.window_percent;
        scenario.cluster.nodes = self.nodes;
        scenario.cluster.strategy = self.strategy;
        scenario.cluster.window = Window::Percent(f64::from(self.window_percent));
        scenario.cluster.payload_bytes = self.payload_bytes;
        scenario.network.loss = f64::from(self.loss_percent) / 100.0;
        scenario.network.mtu_bytes = MTU_BYTES;
        scenario
    }

    /// What the model says of it.
    pub fn predicted(&self) -> Figures {
        let scenario = self.scenario(1);
        let nodes = self.nodes as usize;
        Figures::of(&forecast(self.strategy, nodes, &scenario.budget(), scenario.network.loss))
    }
}

impl Figures {
    /// The figures of a forecast.
    pub fn of(forecast: &Forecast) -> Self {
        Self {
            age_avg_units: forecast.age_avg_units,
            age_p99_units: forecast.quantile_units(0.99),
            age_max_units: forecast.oldest_units(),
            bytes: forecast.bytes,
            datagrams: forecast.datagrams,
        }
    }

    /// The figures of a run; `None` if it has no samples.
    pub fn measured(report: &Report) -> Option<Self> {
        let nodes = f64::from(report.parameters.cluster.nodes);
        let node_units = nodes * f64::from(report.units_measured);
        Some(Self {
            age_avg_units: report.age_avg_units?,
            age_p99_units: report.age_p99_units?,
            age_max_units: report.age_max_units?,
            bytes: report.bytes as f64 / node_units,
            datagrams: report.datagrams as f64 / node_units,
        })
    }

    /// By how much these, predicted, exceed the measured ones, in per cent of them.
    pub fn deviations_percent(&self, measured: &Self) -> [f64; 5] {
        let pairs = self.in_order().into_iter().zip(measured.in_order());
        let mut deviations =
            pairs.map(|(predicted, measured)| 100.0 * (predicted / measured - 1.0));
        [(); 5].map(|()| deviations.next().unwrap_or_default())
    }

    fn in_order(&self) -> [f64; 5] {
        let Self { age_avg_units, age_p99_units, age_max_units, bytes, datagrams } = *self;
        [age_avg_units, age_p99_units, age_max_units, bytes, datagrams]
    }
}

/// The table as CSV: a heading, then a line a point: measured, and by how much the model is off.
pub fn csv(table: &[(Point, Figures)]) -> String {
    let mut text = "strategy,nodes,window_percent,payload_bytes,loss_percent,age_avg_units,\
        age_p99_units,age_max_units,bytes_unit,datagrams_unit,age_avg_model_percent,\
        age_p99_model_percent,age_max_model_percent,bytes_model_percent,datagrams_model_percent\n"
        .to_owned();
    for (point, measured) in table {
        let Point { strategy, nodes, window_percent, payload_bytes, loss_percent } = point;
        let _ = write!(text, "{strategy},{nodes},{window_percent},{payload_bytes},{loss_percent}");
        for figure in measured.in_order() {
            let _ = write!(text, ",{figure:.3}");
        }
        for deviation in point.predicted().deviations_percent(measured) {
            let _ = write!(text, ",{deviation:.2}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_can_be_run() {
        let all = points(8192);
        assert_eq!(all.len(), 880);
        for point in all {
            point.scenario(1).check().expect("a point is a possible scenario");
        }
    }

    #[test]
    fn a_line_has_what_was_measured_and_how_far_the_model_is_off() {
        let point = points(64)[0];
        let predicted = point.predicted();
        let measured = Figures { age_avg_units: predicted.age_avg_units / 1.02, ..predicted };
        let text = csv(&[(point, measured)]);
        let line = text.lines().nth(1).expect("one line after the heading");
        assert_eq!(line.split(',').count(), text.lines().next().expect("it").split(',').count());
        assert!(line.starts_with("uniform,64,5,64,0,"), "{line}");
        assert!(line.ends_with(",2.00,0.00,0.00,0.00,0.00"), "{line}");
    }
}
