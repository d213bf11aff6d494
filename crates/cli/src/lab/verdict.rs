//! How a difference of two measurements was judged, in the last columns of its line.

use tidings_experiment::statistics::Interval;

/// The interval of the change, with its ends in these words; the p that is adjusted for all; and
/// whether the two differ.
pub(super) fn cells(
    change: Option<Interval>,
    end: impl Fn(f64) -> String,
    (p_holm, differs): (f64, bool),
) -> [String; 3] {
    let change = change.map_or_else(
        || "-".to_owned(),
        |change| format!("{} to {}", end(change.low), end(change.high)),
    );
    let verdict = if differs { "differs" } else { "no difference" };
    [change, format!("{p_holm:.3}"), verdict.to_owned()]
}
