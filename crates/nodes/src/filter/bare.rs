//! Numbers that lack their unit: `age < 5` is 5 ms to the program and 5 s to most people.
//!
//! They are refused where a person writes a condition. A column that is named with its unit
//! (`age_ms < 5`) leaves no doubt, and neither do 0 and units that have no relatives.

use super::error::FilterError;
use super::grammar::{Comparison, Expression};
use crate::columns::{Column, Kind};

/// Finds a number without the unit that it needs.
///
/// # Errors
/// [`FilterError`] at the first one, with what to write.
pub(super) fn refuse(text: &str, expression: &Expression) -> Result<(), FilterError> {
    match expression {
        Expression::Or(left, right) | Expression::And(left, right) => {
            refuse(text, left).and_then(|()| refuse(text, right))
        }
        Expression::Not(inner) => refuse(text, inner),
        Expression::Comparison(comparison) => check(text, comparison),
    }
}

fn check(text: &str, comparison: &Comparison) -> Result<(), FilterError> {
    let Comparison { column: given, operator, literal, .. } = comparison;
    let Ok(column) = Column::named(&given.text) else { return Ok(()) };
    let Kind::Number(unit) = column.kind() else { return Ok(()) };
    let word = literal.text.trim();
    let is_bare = word.parse().is_ok_and(|number: f64| number != 0.0);
    if !is_bare || unit.example().is_empty() || given.text == column.name() {
        return Ok(());
    }
    let (name, example, units) = (&given.text, unit.example(), unit.typed_units());
    let message = format!(
        "`{word}` has no unit; write for example `{name} {operator} {word}{example}`; units: \
         {units}"
    );
    Err(FilterError::new(text, literal.place.clone(), message))
}

#[cfg(test)]
mod tests {
    use crate::filter::Filter;

    #[test]
    fn bytes_and_times_need_their_unit() {
        for (text, place, message) in [
            ("age < 5", 6..7, "`5` has no unit; write for example `age < 5s`; units: ms, s, m"),
            ("not (cores > 2 or uptime >= 60)", 28..30, "`60` has no unit"),
            (
                "mem_available > 8",
                16..17,
                "`8` has no unit; write for example `mem_available > 8GiB`",
            ),
            ("net_rx > '1'", 9..12, "`1` has no unit; write for example `net_rx > 1MiB/s`"),
        ] {
            let error = Filter::parse(text).expect_err(text);
            assert!(error.message.starts_with(message), "{}", error.message);
            assert_eq!(error.place, place, "{text}");
            Filter::kept(text).expect("a condition of an earlier version");
        }
    }

    #[test]
    fn numbers_that_leave_no_doubt_need_none() {
        for text in [
            "age > 0",
            "age_ms < 5",
            "mem_total_bytes > 8",
            "cpu_busy < 50 and temperature > -5 and power < 300",
            "cores >= 4 or user.gpu == 3",
        ] {
            Filter::parse(text).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
