//! How a figure is made of points: what is drawn of each, and where.

use crate::point::{Characterisation, Point};

/// What a line, or the place on it, is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Bytes of a message.
    Bytes,
    /// What else changes.
    Count,
    /// Ranks of the run.
    Ranks,
    /// The variant.
    Variant,
}

/// What is drawn of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Its time.
    Seconds,
    /// Bytes a second: of a message, times what runs at once.
    Rate,
}

/// How a figure is made of points.
#[derive(Clone, Copy)]
pub struct Spec {
    /// The paper's number.
    pub number: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The test whose points it has.
    pub test: &'static str,
    /// Only those with so many bytes, if any.
    pub bytes: Option<u64>,
    /// What goes from left to right, and how that is called.
    pub across: (Along, &'static str),
    /// What a line is.
    pub line: Along,
    /// What goes up.
    pub value: Value,
    /// What it means for an application.
    pub sentence: fn(&[&Point], &Characterisation) -> String,
}

/// Bytes a second of all that ran at once, if a message took this long.
pub(super) fn rate_at(point: &Point, seconds: f64) -> f64 {
    let at_once = if is_sum(&point.key.test) { point.key.count.max(1) } else { 1 };
    point.key.bytes as f64 * at_once as f64 / seconds.max(1e-12)
}

/// Bytes a second of a point.
pub fn rate(point: &Point) -> f64 {
    rate_at(point, point.seconds.estimate)
}

/// Whether a test has several messages of its size at once.
pub(super) fn is_sum(test: &str) -> bool {
    matches!(test, "streams" | "fan-in" | "fan-out")
}

/// What a test counts.
pub(super) fn counted(test: &str) -> &'static str {
    match test {
        "streams" => "streams",
        "fan-in" | "fan-out" => "neighbours",
        "hotspot" => "workers",
        _ => "",
    }
}
