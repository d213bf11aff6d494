//! The figures of the paper, redrawn for what was measured: which points each has, how they are
//! drawn, and one sentence that says what it means for an application.

mod kinds;
mod sentences;
mod specs;

use std::collections::BTreeMap;

use crate::chart::{self, Axes, Line, Mark};
use crate::point::{Characterisation, Point};
use crate::words;

pub use self::kinds::{Along, Spec, Value, rate};
use self::kinds::{counted, rate_at};
pub use self::specs::SPECS;

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The paper's number.
    pub number: &'static str,
    /// The name of its file.
    pub file: String,
    /// What it shows.
    pub title: &'static str,
    /// The picture, if anything was measured.
    pub svg: Option<String>,
    /// What it means for an application, or why there is no picture.
    pub sentence: String,
}

/// All figures of a characterisation.
pub fn figures(all: &Characterisation) -> Vec<Figure> {
    SPECS.iter().map(|spec| figure(spec, all)).collect()
}

fn figure(spec: &Spec, all: &Characterisation) -> Figure {
    let points = points_of(spec, all);
    let file = format!("figure-{}.svg", spec.number.replace(' ', ""));
    if points.is_empty() {
        let reason = all.skipped.iter().find(|own| own.test == spec.test);
        let reason = reason.map_or_else(|| not_run(all), |own| own.reason.clone());
        let sentence = format!("Not measured: {reason}.");
        return Figure { number: spec.number, file, title: spec.title, svg: None, sentence };
    }
    let upwards = match spec.value {
        Value::Seconds => ("time", words::seconds as fn(f64) -> String),
        Value::Rate => ("bandwidth", words::rate as fn(f64) -> String),
    };
    let across = match spec.across.0 {
        Along::Bytes => |bytes: f64| words::number(bytes),
        _ => words::number as fn(f64) -> String,
    };
    let title = format!("Figure {}: {}", spec.number, spec.title);
    let axes =
        Axes { title: &title, names: [spec.across.1, upwards.0], words: [across, upwards.1] };
    let lines = lines(spec, &points);
    Figure {
        number: spec.number,
        file,
        title: spec.title,
        svg: Some(chart::svg(&lines, &axes)),
        sentence: (spec.sentence)(&points, all),
    }
}

/// Why a test has neither points nor a reason: it may be of a program that was left out.
fn not_run(all: &Characterisation) -> String {
    let whole = all.left_out.iter().find(|own| own.is_whole());
    let reason = whole.map_or(String::new(), |own| format!(" ({})", own.skipped.reason));
    format!("its test was not run{reason}")
}

/// The points of a figure: where ranks are not what changes, of the runs with most ranks.
fn points_of<'a>(spec: &Spec, all: &'a Characterisation) -> Vec<&'a Point> {
    let of_test = |point: &&Point| {
        point.key.test == spec.test && spec.bytes.is_none_or(|bytes| point.key.bytes == bytes)
    };
    let points: Vec<&Point> = all.points.iter().filter(of_test).collect();
    let most = points.iter().map(|point| point.key.ranks).max().unwrap_or(0);
    let is_kept = |point: &&Point| spec.across.0 == Along::Ranks || point.key.ranks == most;
    points.into_iter().filter(is_kept).collect()
}

fn lines(spec: &Spec, points: &[&Point]) -> Vec<Line> {
    let mut lines: BTreeMap<(u64, String), Vec<Mark>> = BTreeMap::new();
    for point in points {
        lines.entry(name_of(spec, point)).or_default().push(mark(spec, point));
    }
    let line = |((_, name), mut marks): ((u64, String), Vec<Mark>)| {
        marks.sort_by(|one, other| one.x.total_cmp(&other.x));
        Line { name, marks }
    };
    lines.into_iter().map(line).collect()
}

/// The name of a point's line, with what lines are sorted by.
fn name_of(spec: &Spec, point: &Point) -> (u64, String) {
    let key = &point.key;
    match spec.line {
        Along::Bytes => (key.bytes, words::bytes(key.bytes)),
        Along::Count => (key.count, format!("{} {}", key.count, counted(&key.test))),
        Along::Ranks => (u64::from(key.ranks), format!("{} ranks", key.ranks)),
        Along::Variant => (0, key.variant.clone()),
    }
}

fn mark(spec: &Spec, point: &Point) -> Mark {
    let x = match spec.across.0 {
        // A message without content has no place on a logarithmic scale: it stands below one byte.
        Along::Bytes => (point.key.bytes as f64).max(0.5),
        Along::Ranks => f64::from(point.key.ranks),
        Along::Count | Along::Variant => point.key.count as f64,
    };
    let seconds = point.seconds;
    match spec.value {
        Value::Seconds => Mark { x, y: seconds.estimate, ends: [seconds.low, seconds.high] },
        Value::Rate => {
            let ends = [seconds.high, seconds.low].map(|end| rate_at(point, end));
            Mark { x, y: rate_at(point, seconds.estimate), ends }
        }
    }
}
