//! `scaling.jsonl`: series that grow with ranks or workers, as `tidings-scaling` reads them, so
//! that a machine on which one grows faster than it should fails a test.

use std::fmt::Write as _;

use serde_json::json;

use crate::point::Point;

/// What a test grows with, and what that is called.
fn parameter(point: &Point) -> Option<(&'static str, u64)> {
    match point.key.test.as_str() {
        "hotspot" => Some(("w", point.key.count)),
        "barrier" | "bcast" | "reduce" | "allreduce" | "gather" | "allgather" | "alltoall" => {
            (point.key.variant == "WORLD").then_some(("p", u64::from(point.key.ranks)))
        }
        _ => None,
    }
}

/// A line for each run of each point that grows with `w` (workers) or `p` (ranks).
pub fn lines(points: &[Point], wanted: &str) -> String {
    let mut text = String::new();
    for point in points {
        let Some((name, size)) = parameter(point).filter(|own| own.0 == wanted) else { continue };
        let function = format!("{}-{}", point.key.test, point.key.bytes);
        for (run, seconds) in point.of_runs.iter().enumerate() {
            let line = json!({
                "function": function, "metric": "time", "parameter": name, "size": size,
                "value": seconds, "unit": "s", "run": run.to_string(), "repetition": 0,
            });
            let _ = writeln!(text, "{line}");
        }
    }
    text
}
