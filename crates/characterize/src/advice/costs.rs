//! What messages cost on a machine: few numbers, read from the points of its characterisation.
//!
//! | number | test |
//! |---|---|
//! | latency to a neighbour, and what a further hop adds | `hops`, else `pair` |
//! | bandwidth of a link | `hops`, else `pair` between nodes |
//! | what a node sends and receives over all of its links | `fans` |
//! | latency and bandwidth inside a node | `cores` |
//! | how much longer than fair two flows over one link take | `overlap` |
//!
//! What was not measured is taken from what was, and named in [`Costs::assumed`].

use serde::Serialize;

use super::error::AdviceError;
use crate::figure::rate;
use crate::point::Point;

/// Sharing outside of these is an error of measurement.
const SHARING: [f64; 2] = [0.5, 8.0];

/// What messages cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A small message to a neighbouring node, in seconds.
    pub latency_s: f64,
    /// What each further hop adds, in seconds.
    pub hop_s: f64,
    /// Bytes a second of a link.
    pub link_bytes_per_s: f64,
    /// Bytes a second that a node sends over all of its links.
    pub out_bytes_per_s: f64,
    /// Bytes a second that a node receives over all of its links.
    pub in_bytes_per_s: f64,
    /// A small message inside a node, in seconds.
    pub inside_latency_s: f64,
    /// Bytes a second inside a node.
    pub inside_bytes_per_s: f64,
    /// How much longer two flows over one link take than if each had half of it.
    pub sharing: f64,
    /// What was not measured, and what was taken for it.
    pub assumed: Vec<String>,
}

impl Costs {
    /// The costs of a machine of several nodes, or of a single one.
    ///
    /// # Errors
    /// [`AdviceError::NotMeasured`] if there is no latency or bandwidth.
    pub fn of(points: &[Point], nodes: usize) -> Result<Self, AdviceError> {
        let points: Vec<&Point> = points.iter().filter(|own| own.valid).collect();
        let lacking = |what, test| AdviceError::NotMeasured { what, test };
        let pair = || Some((least(&points, "latency")?, 0.0));
        let (latency_s, hop_s) =
            over_hops(&points).or_else(pair).ok_or_else(|| lacking("latency", "pair"))?;
        let between = most(&points, "hops-bandwidth").or_else(|| most(&points, "bandwidth"));
        let link = between.ok_or_else(|| lacking("bandwidth", "pair"))?;
        let mut assumed = Vec::new();
        let mut or_else = |value: Option<f64>, other: f64, said: &str| {
            value.unwrap_or_else(|| {
                assumed.push(said.to_owned());
                other
            })
        };
        let is_known = over_hops(&points).is_some() || nodes < 3;
        or_else(is_known.then_some(0.0), 0.0, "no test `hops`: hops are taken to cost nothing");
        let out = or_else(
            most(&points, "fan-out"),
            link,
            "no test `fans`: a node is taken to have one link",
        );
        let into = most(&points, "fan-in").unwrap_or(link);
        let like_pair = "no test `cores`: messages inside a node are taken to cost as between two";
        let inside_latency_s = or_else(least(&points, "core-latency"), latency_s, like_pair);
        let inside_bytes_per_s = most(&points, "core-bandwidth").unwrap_or(link);
        let fair = "no test `overlap`: two flows over one link are taken to get half of it each";
        let sharing = or_else(sharing(&points), 1.0, fair);
        Ok(Self {
            latency_s,
            hop_s,
            link_bytes_per_s: link,
            // A fan that was measured with messages that are too small is no bound.
            out_bytes_per_s: out.max(link),
            in_bytes_per_s: into.max(link),
            inside_latency_s,
            inside_bytes_per_s,
            sharing,
            assumed,
        })
    }
}

fn of<'a>(points: &[&'a Point], test: &str) -> Vec<&'a Point> {
    points.iter().copied().filter(|point| point.key.test == test).collect()
}

/// The shortest time of a test.
fn least(points: &[&Point], test: &str) -> Option<f64> {
    of(points, test).into_iter().map(|point| point.seconds.estimate).min_by(f64::total_cmp)
}

/// The highest rate of a test.
fn most(points: &[&Point], test: &str) -> Option<f64> {
    of(points, test).into_iter().map(rate).filter(|rate| rate.is_finite()).max_by(f64::total_cmp)
}

/// Latency of the smallest messages at one hop, and the slope over hops.
fn over_hops(points: &[&Point]) -> Option<(f64, f64)> {
    let hops = of(points, "hops-latency");
    let bytes = hops.iter().map(|point| point.key.bytes).min()?;
    let small = hops.iter().filter(|point| point.key.bytes == bytes);
    let places: Vec<(f64, f64)> =
        small.map(|point| (point.key.count as f64, point.seconds.estimate)).collect();
    let count = places.len() as f64;
    let [hops, seconds] = [|own: &(f64, f64)| own.0, |own: &(f64, f64)| own.1]
        .map(|of| places.iter().map(of).sum::<f64>() / count);
    let along = |own: &(f64, f64)| (own.0 - hops) * (own.1 - seconds);
    let spread: f64 = places.iter().map(|own| (own.0 - hops).powi(2)).sum();
    let slope = if spread > 0.0 { places.iter().map(along).sum::<f64>() / spread } else { 0.0 };
    // Noise may let the farthest look nearest; then hops cost nothing that was measured.
    let slope = slope.max(0.0);
    Some(((seconds + slope * (1.0 - hops)).max(f64::MIN_POSITIVE), slope))
}

/// The slower of two flows over one link beside itself alone, as a multiple of twice that.
fn sharing(points: &[&Point]) -> Option<f64> {
    let overlap = of(points, "overlap");
    let bytes = overlap.iter().map(|point| point.key.bytes).max()?;
    let large: Vec<&&Point> = overlap.iter().filter(|point| point.key.bytes == bytes).collect();
    let slowdown = |shared: &Point| {
        let (flow, _) = shared.key.variant.split_once(", with ")?;
        let alone = format!("{flow}, no overlap");
        let alone = large.iter().find(|point| point.key.variant == alone)?;
        Some(shared.seconds.estimate / alone.seconds.estimate)
    };
    let slowest = large.iter().filter_map(|point| slowdown(point)).max_by(f64::total_cmp)?;
    Some((slowest / 2.0).clamp(SHARING[0], SHARING[1]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::point::characterisation;
    use crate::point::tests::{record, series};

    /// A torus of 400 MB/s a link whose hops cost a microsecond.
    pub(crate) fn torus_rows() -> Vec<(&'static str, &'static str, u64, u64, f64)> {
        let large = 1 << 20;
        let at_400 = large as f64 / 400e6;
        vec![
            ("hops-latency", "idle network", 0, 1, 3e-6),
            ("hops-latency", "idle network", 0, 2, 4e-6),
            ("hops-latency", "idle network", 0, 3, 5e-6),
            ("hops-bandwidth", "idle network", large, 1, at_400),
            ("overlap", "P0-P3, no overlap", large, 0, at_400),
            ("overlap", "P0-P3, with P1-P2", large, 0, 3.0 * at_400),
            ("fan-out", "sum of neighbours", large, 6, at_400),
            ("core-latency", "core 0 and core 1", 0, 0, 1e-6),
            ("core-bandwidth", "core 0 and core 1", large, 0, at_400 / 5.0),
        ]
    }

    pub(crate) fn points(rows: &[(&str, &str, u64, u64, f64)]) -> Vec<Point> {
        characterisation(&series(), &[record(rows, 0.0)]).points
    }

    fn near(value: f64, wanted: f64) -> bool {
        (value / wanted - 1.0).abs() < 0.03
    }

    #[test]
    fn costs_are_those_of_the_points() {
        let costs = Costs::of(&points(&torus_rows()), 27).expect("all is there");
        assert!(near(costs.latency_s, 3e-6) && near(costs.hop_s, 1e-6), "{costs:?}");
        assert!(near(costs.link_bytes_per_s, 400e6), "{costs:?}");
        assert!(near(costs.out_bytes_per_s, 2.4e9), "six links at once: {costs:?}");
        assert!(near(costs.inside_bytes_per_s, 2e9) && near(costs.sharing, 1.5), "{costs:?}");
        assert!(costs.assumed.is_empty(), "{costs:?}");
    }

    #[test]
    fn what_was_not_measured_is_named() {
        let rows = [("latency", "in cache", 8, 0, 1e-6), ("bandwidth", "in cache", 1000, 0, 1e-6)];
        let costs = Costs::of(&points(&rows), 4).expect("a pair is enough");
        assert_eq!(costs.assumed.len(), 4, "{costs:?}");
        assert!(costs.hop_s == 0.0 && (costs.sharing - 1.0).abs() < 1e-12, "{costs:?}");
        let refused = Costs::of(&points(&rows[..1]), 4).expect_err("no bandwidth").to_string();
        assert!(refused.contains("no bandwidth") && refused.contains("--test pair"), "{refused}");
    }
}
