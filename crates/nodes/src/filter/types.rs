//! From words to a condition that can be evaluated: columns are looked up, quantities scaled.
//!
//! The column decides how its literal is read. A number column takes a number with a unit of its
//! family (`8GiB` for bytes, `2s` for milliseconds; none means the column's own unit), a text
//! column takes text (`name =~` a hostlist, too), and a user's metric takes a number where the
//! literal reads as one and text otherwise.

use tidings_gossip::roster::Hostlist;

use super::error::FilterError;
use super::grammar::{Comparison, Expression, Operator, Word};
use crate::columns::{Column, Kind, nearest};
use crate::units::Unit;

/// A condition whose columns exist and whose literals fit them.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Either holds.
    Or(Box<Condition>, Box<Condition>),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// A column's cell compared with a value.
    Test {
        /// Which cell.
        column: Column,
        /// The relation.
        operator: Operator,
        /// The other side.
        value: Value,
    },
}

/// The right side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number in the column's unit.
    Number(f64),
    /// Text, or a pattern for `=~`.
    Text(String),
    /// Names of nodes, for `name =~`.
    Names(Hostlist),
}

impl Condition {
    /// Calls `visit` with each hostlist, from left to right.
    pub(super) fn for_each_hostlist(&self, visit: &mut impl FnMut(&Hostlist)) {
        match self {
            Self::Or(left, right) | Self::And(left, right) => {
                left.for_each_hostlist(visit);
                right.for_each_hostlist(visit);
            }
            Self::Not(inner) => inner.for_each_hostlist(visit),
            Self::Test { value: Value::Names(names), .. } => visit(names),
            Self::Test { .. } => {}
        }
    }
}

/// Binds the words of `expression`, which was read from `text`.
///
/// # Errors
/// [`FilterError`] at the first unknown column, unfit literal or meaningless operator.
pub fn check(text: &str, expression: &Expression) -> Result<Condition, FilterError> {
    let both = |left, right| {
        Ok::<_, FilterError>((Box::new(check(text, left)?), Box::new(check(text, right)?)))
    };
    Ok(match expression {
        Expression::Or(left, right) => {
            let (left, right) = both(left, right)?;
            Condition::Or(left, right)
        }
        Expression::And(left, right) => {
            let (left, right) = both(left, right)?;
            Condition::And(left, right)
        }
        Expression::Not(inner) => Condition::Not(Box::new(check(text, inner)?)),
        Expression::Comparison(comparison) => test(text, comparison)?,
    })
}

fn test(text: &str, comparison: &Comparison) -> Result<Condition, FilterError> {
    let Comparison { column: word, operator, literal, quoted } = comparison;
    let column = Column::named(&word.text).map_err(|_| unknown(text, word))?;
    let value = match column.kind() {
        Kind::Number(_) if *operator == Operator::Matches => {
            let message = format!("`=~` compares text, but `{}` is a number", column.name());
            return Err(FilterError::new(text, word.place.clone(), message));
        }
        Kind::Number(unit) => Value::Number(number(text, unit, &column, literal)?),
        Kind::User if *operator != Operator::Matches && !quoted => {
            let number = literal.text.parse().ok().filter(|number: &f64| number.is_finite());
            number.map_or_else(|| Value::Text(literal.text.clone()), Value::Number)
        }
        Kind::Text if is_hostlist(&column, *operator, &literal.text) => {
            Value::Names(names(text, literal)?)
        }
        Kind::Text | Kind::User => Value::Text(literal.text.clone()),
    };
    Ok(Condition::Test { column, operator: *operator, value })
}

/// Whether names are meant: no name has a bracket or a comma, so nothing else can be.
fn is_hostlist(column: &Column, operator: Operator, literal: &str) -> bool {
    column.name() == "name" && operator == Operator::Matches && literal.contains(['[', ','])
}

fn names(text: &str, literal: &Word) -> Result<Hostlist, FilterError> {
    let wrong = |message: String| FilterError::new(text, literal.place.clone(), message);
    if literal.text.contains(['*', '?']) {
        return Err(wrong(
            "a hostlist has no `*` and no `?`; join two conditions by `or`".to_owned(),
        ));
    }
    Hostlist::parse(&literal.text).map_err(|error| {
        wrong(format!("character {} of the hostlist: {}", error.column, error.problem))
    })
}

fn unknown(text: &str, word: &Word) -> FilterError {
    let message = format!("no column `{}`; the nearest is `{}`", word.text, nearest(&word.text));
    FilterError::new(text, word.place.clone(), message)
}

/// The literal as a number in the column's unit.
fn number(text: &str, unit: Unit, column: &Column, literal: &Word) -> Result<f64, FilterError> {
    let word = literal.text.trim();
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let split = word.find(|c| !digits(c)).unwrap_or(word.len());
    let (figures, typed) = word.split_at(split);
    let name = column.name();
    let at = |message: String| FilterError::new(text, literal.place.clone(), message);
    let value: f64 = figures.parse().map_err(|_| {
        at(format!("`{name}` is a number, and `{word}` is not; write for example `{name} > 2`"))
    })?;
    let scale = unit.scale(typed.trim_start()).ok_or_else(|| {
        at(format!("`{typed}` is not a unit for `{name}`; units: {}", unit.typed_units()))
    })?;
    Ok(value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::grammar::parse;

    fn checked(text: &str) -> Result<Condition, FilterError> {
        check(text, &parse(text)?)
    }

    fn value(text: &str) -> Value {
        match checked(text) {
            Ok(Condition::Test { value, .. }) => value,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn quantities_are_scaled_into_the_columns_unit() {
        for (text, number) in [
            ("mem_available > 8GiB", 8_589_934_592.0),
            ("mem_available > '8 GiB'", 8_589_934_592.0),
            ("age < 2s", 2000.0),
            ("age_ms < 2", 2.0),
            ("uptime > 1.5d", 129_600.0),
            ("net_rx >= 1MB/s", 1e6),
            ("cpu_busy < 50%", 50.0),
            ("temperature > -5", -5.0),
        ] {
            assert_eq!(value(text), Value::Number(number), "{text}");
        }
    }

    #[test]
    fn the_column_decides_what_a_word_is() {
        assert_eq!(value("name == 7"), Value::Text("7".to_owned()));
        assert_eq!(value("user.gpu >= 2"), Value::Number(2.0));
        assert_eq!(value("user.gpu == '2'"), Value::Text("2".to_owned()));
        assert_eq!(value("user.gpu == nan"), Value::Text("nan".to_owned()));
    }

    #[test]
    fn unfit_literals_are_rejected_at_their_position() {
        for (text, place, message) in [
            ("load1 < 2GiB", 8..12, "`GiB` is not a unit for `load1`; units: none"),
            ("mem_total < 2s", 12..14, "`s` is not a unit for `mem_total_bytes`; units: B, kB"),
            ("load1 < many", 8..12, "`load1` is a number, and `many` is not"),
            ("load1 < 1.2.3", 8..13, "`load1` is a number"),
            ("name =~ n[1-", 8..12, "character 5 of the hostlist: a number is missing"),
            ("name =~ n[1-3]*", 8..15, "a hostlist has no `*`"),
            ("load1 =~ 2", 0..5, "`=~` compares text, but `load1` is a number"),
            ("memtotal < 1", 0..8, "no column `memtotal`; the nearest is `mem_total_bytes`"),
        ] {
            let error = checked(text).expect_err(text);
            assert!(error.message.starts_with(message), "{}", error.message);
            assert_eq!(error.place, place, "{text}");
        }
    }
}
