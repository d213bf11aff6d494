//! How measured series grow: rows for `tidings-scaling`, and how fast each may grow at most, so
//! that a machine on which one grows faster fails a test.
//!
//! A series is of one test and one size of messages, of HALO of one line of its figure. Where
//! something else than ranks changes, it is of the runs with most ranks. From two sizes nothing can
//! be said about growth: a series with fewer than three is left out, and named with its sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::point::Point;

/// The fewest sizes that `tidings-scaling` takes.
const LEAST_SIZES: usize = 3;

/// What tests grow with.
#[derive(Debug)]
struct Kind {
    tests: &'static [&'static str],
    /// Its name in rows and limits, and in words.
    parameter: &'static str,
    counted: &'static str,
    /// How fast time may grow, and how much faster it must grow to be told.
    limit: &'static str,
    within: Option<&'static str>,
}

const HOPS: Kind = Kind {
    tests: &["hops-latency", "hops-bandwidth"],
    parameter: "h",
    counted: "hops",
    limit: "h",
    within: None,
};

/// Trees of messages; the deviation is that of the study growth-mpi.
const TREES: Kind = Kind {
    tests: &["barrier", "bcast", "reduce", "allreduce"],
    parameter: "p",
    counted: "ranks",
    limit: "log p",
    within: Some("sqrt(p)"),
};

const KINDS: [Kind; 8] = [
    HOPS,
    TREES,
    Kind { tests: &["gather", "allgather"], limit: "p", ..TREES },
    Kind { tests: &["alltoall"], limit: "p log p", ..TREES },
    // Whatever is shared is shared by all of them: each takes as many times as long.
    Kind { tests: &["hotspot"], parameter: "w", counted: "workers", limit: "w", ..HOPS },
    Kind { tests: &["streams"], parameter: "s", counted: "streams", limit: "s", ..HOPS },
    Kind {
        tests: &["fan-in", "fan-out"],
        parameter: "d",
        counted: "neighbours",
        limit: "d",
        ..HOPS
    },
    Kind { tests: &["halo"], parameter: "n", counted: "N", limit: "n", ..HOPS },
];

/// Operations on several communicators at once, by how their tests begin.
const AT_ONCE: &str = "parallel-";
const COMMUNICATORS: Kind =
    Kind { tests: &[], parameter: "c", counted: "communicators at once", limit: "c", ..HOPS };

impl Kind {
    fn of(test: &str) -> Option<&'static Self> {
        let is_own = |kind: &&Self| kind.tests.contains(&test);
        let at_once = test.starts_with(AT_ONCE).then_some(&COMMUNICATORS);
        KINDS.iter().find(is_own).or(at_once)
    }

    fn is_over_ranks(&self) -> bool {
        self.parameter == TREES.parameter
    }

    /// Where a point lies; collective operations grow with the ranks of WORLD.
    fn size(&self, point: &Point) -> Option<u64> {
        let key = &point.key;
        let size = if self.is_over_ranks() { u64::from(key.ranks) } else { key.count };
        let is_counted = !self.is_over_ranks() || key.variant == "WORLD";
        (is_counted && size > 0).then_some(size)
    }
}

/// What grows.
#[derive(Debug)]
struct Series<'a> {
    test: &'a str,
    function: String,
    kind: &'static Kind,
    points: BTreeMap<u64, &'a Point>,
}

impl Series<'_> {
    fn is_whole(&self) -> bool {
        self.points.len() >= LEAST_SIZES
    }
}

/// The name of a point's series; the machine's too where there are several.
fn function(point: &Point, machines: usize) -> String {
    let key = &point.key;
    let own = match key.test.as_str() {
        "halo" => format!("halo, {}", key.variant),
        test => format!("{test}-{}", key.bytes),
    };
    if machines > 1 { format!("{}, {own}", key.machine) } else { own }
}

/// All series, those with too few sizes too.
fn series(points: &[Point]) -> Vec<Series<'_>> {
    let mut machines: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut most: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for point in points {
        let (machine, test) = (point.key.machine.as_str(), point.key.test.as_str());
        machines.entry(test).or_default().insert(machine);
        let ranks = most.entry((machine, test)).or_default();
        *ranks = point.key.ranks.max(*ranks);
    }
    let mut all: BTreeMap<(&str, String), Series<'_>> = BTreeMap::new();
    for point in points {
        let (machine, test) = (point.key.machine.as_str(), point.key.test.as_str());
        let Some(kind) = Kind::of(test) else { continue };
        let is_kept = kind.is_over_ranks() || point.key.ranks == most[&(machine, test)];
        let Some(size) = kind.size(point).filter(|_| is_kept) else { continue };
        let function = function(point, machines[test].len());
        let new = || Series { test, function: function.clone(), kind, points: BTreeMap::new() };
        let own = all.entry((test, function.clone())).or_insert_with(new);
        own.points.insert(size, point);
    }
    all.into_values().collect()
}

/// `growth.jsonl`: a line for each run of each point of a series.
pub fn rows(points: &[Point]) -> String {
    let mut text = String::new();
    for own in series(points).iter().filter(|own| own.is_whole()) {
        for (size, point) in &own.points {
            for (run, seconds) in point.of_runs.iter().enumerate() {
                let line = json!({
                    "function": own.function, "metric": "time", "parameter": own.kind.parameter,
                    "size": size, "value": seconds, "unit": "s", "run": run.to_string(),
                    "repetition": 0,
                });
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}

const HEADING: &str = "# Written by tidings lab characterize: how fast each series may grow.\n\
#     tidings-scaling check --file growth.toml --no-record\n\
# It is written again each time: change a copy.\n\n\
measurements = [\"growth.jsonl\"]\n";

/// `growth.toml`: how fast each series of the rows may grow.
pub fn limits(points: &[Point]) -> String {
    let mut text = HEADING.to_owned();
    for own in series(points).iter().filter(|own| own.is_whole()) {
        let function = json!(own.function); // a string of JSON is one of TOML
        let limit = own.kind.limit;
        let _ = write!(text, "\n[[expectation]]\nfunction = {function}\ngrowth = \"{limit}\"\n");
        if let Some(within) = own.kind.within {
            let _ = writeln!(text, "within = \"{within}\"");
        }
    }
    text
}

/// What is said of growth, and which series were left out; none if nothing grows.
pub fn sentence(points: &[Point]) -> Option<String> {
    let series = series(points);
    let whole = series.iter().filter(|own| own.is_whole()).count();
    let mut few: BTreeMap<(&str, Vec<u64>), BTreeSet<&str>> = BTreeMap::new();
    for own in series.iter().filter(|own| !own.is_whole()) {
        let sizes = own.points.keys().copied().collect();
        few.entry((own.kind.counted, sizes)).or_default().insert(own.test);
    }
    let few: Vec<String> = few
        .into_iter()
        .map(|((counted, sizes), tests)| {
            let tests: Vec<&str> = tests.into_iter().collect();
            let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
            format!("{} ({counted}: {})", tests.join(", "), sizes.join(", "))
        })
        .collect();
    let stated = format!("growth.toml says how fast {whole} series may grow, for tidings-scaling.");
    let left = format!("Left out, since growth takes three sizes: {}.", few.join("; "));
    match (whole, few.is_empty()) {
        (0, true) => None,
        (_, true) => Some(stated),
        (0, false) => Some(left),
        (_, false) => Some(format!("{stated} {left}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::characterisation;
    use crate::point::tests::{record, series as of_one};

    /// A run on so many ranks.
    fn run(ranks: u32, rows: &[(&str, &str, u64, u64, f64)]) -> Vec<Point> {
        let mut run = record(rows, 0.0);
        run.ranks = ranks;
        characterisation(&of_one(), &[run]).points
    }

    /// Two, four and eight ranks, of which the master of a hot spot has up to four workers.
    fn machine() -> Vec<Point> {
        let mut points = Vec::new();
        for ranks in [2, 4, 8] {
            let of_all = [
                ("barrier", "WORLD", 0, u64::from(ranks), 1e-6),
                ("barrier", "split by node", 0, 1, 1e-6),
                ("hotspot", "mean of workers", 1, 1, 1e-6),
                ("hotspot", "mean of workers", 1, 2, 2e-6),
            ];
            points.extend(run(ranks, &of_all));
        }
        points.extend(run(8, &[("hotspot", "mean of workers", 1, 4, 4e-6)]));
        for (side, of_streams) in [(2, 1), (32, 2), (1024, 2)] {
            let further = [
                ("halo", "XYZT, sendrecv", 4 * side, side, 1e-6),
                ("streams", "all streams", 8, of_streams, 1e-6),
            ];
            points.extend(run(8, &further));
        }
        points
    }

    #[test]
    fn a_series_is_of_one_test_and_of_the_runs_with_most_ranks() {
        let points = machine();
        let text = rows(&points);
        let of = |function: &str| text.matches(&format!("\"function\":\"{function}\"")).count();
        assert_eq!([of("barrier-0"), of("hotspot-1"), of("halo, XYZT, sendrecv")], [3, 3, 3]);
        assert_eq!(text.lines().count(), 9, "{text}");
        let limits = limits(&points);
        let barrier = "function = \"barrier-0\"\ngrowth = \"log p\"\nwithin = \"sqrt(p)\"\n";
        assert!(limits.contains(barrier), "{limits}");
        assert!(limits.ends_with("function = \"hotspot-1\"\ngrowth = \"w\"\n"), "{limits}");
        assert_eq!(limits.matches("[[expectation]]").count(), 3);
    }

    #[test]
    fn a_series_with_two_sizes_is_left_out_and_named() {
        let said = sentence(&machine()).expect("something grows");
        assert!(said.contains("how fast 3 series may grow"), "{said}");
        assert!(said.ends_with("takes three sizes: streams (streams: 1, 2)."), "{said}");
        assert_eq!(sentence(&run(2, &[("latency", "in cache", 8, 0, 1e-6)])), None);
    }

    #[test]
    fn of_several_machines_each_has_series_of_its_own() {
        let mut points = machine();
        let others: Vec<Point> = points
            .iter()
            .map(|point| {
                let mut other = point.clone();
                other.key.machine = "there".to_owned();
                other
            })
            .collect();
        points.extend(others);
        let text = limits(&points);
        for function in ["here, barrier-0", "there, barrier-0"] {
            assert!(text.contains(&format!("function = \"{function}\"")), "{text}");
        }
    }
}
