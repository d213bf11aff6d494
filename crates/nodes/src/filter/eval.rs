//! Deciding a condition for one node.
//!
//! A comparison with a missing cell is false, whatever the relation; so are those with the last
//! readings of a node that is gone. A user's metric is compared as
//! a number where both sides read as one; a metric that does not is unequal to every number.

use std::cmp::Ordering;

use tidings_control::NodeReport;

use super::grammar::Operator;
use super::types::{Condition, Value};
use crate::columns::{Cell, Kind};

/// Whether `condition` holds for the node that `report` describes.
pub fn holds(condition: &Condition, report: &NodeReport) -> bool {
    match condition {
        Condition::Or(left, right) => holds(left, report) || holds(right, report),
        Condition::And(left, right) => holds(left, report) && holds(right, report),
        Condition::Not(inner) => !holds(inner, report),
        Condition::Test { column, operator, value } => match (column.read_now(report), value) {
            (Cell::Number(cell), Value::Number(value)) => {
                related(*operator, cell.partial_cmp(value))
            }
            (Cell::Text(cell), Value::Number(value)) if column.kind() == Kind::User => {
                let number = cell.trim().parse().ok().filter(|number: &f64| number.is_finite());
                related(*operator, number.and_then(|number| number.partial_cmp(value)))
            }
            (Cell::Text(cell), Value::Text(value)) if *operator == Operator::Matches => {
                matches(&cell, value)
            }
            (Cell::Text(cell), Value::Text(value)) => {
                related(*operator, Some(cell.as_ref().cmp(value.as_str())))
            }
            (Cell::Text(cell), Value::Names(names)) => names.contains(&cell),
            (Cell::Missing, _)
            | (Cell::Number(_), Value::Text(_) | Value::Names(_))
            | (Cell::Text(_), Value::Number(_)) => false,
        },
    }
}

/// Whether an ordering satisfies the relation; `None` is incomparable.
fn related(operator: Operator, order: Option<Ordering>) -> bool {
    match operator {
        Operator::Equal => order == Some(Ordering::Equal),
        Operator::Unequal => order != Some(Ordering::Equal),
        Operator::Less => order.is_some_and(Ordering::is_lt),
        Operator::LessOrEqual => order.is_some_and(Ordering::is_le),
        Operator::Greater => order.is_some_and(Ordering::is_gt),
        Operator::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        Operator::Matches => false,
    }
}

/// `*` stands for any text, `?` for one character; a pattern without either is searched for.
fn matches(text: &str, pattern: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return text.contains(pattern);
    }
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    glob(&text, &pattern)
}

/// Greedy match that on failure lets the last `*` match one character more: O(text × pattern).
fn glob(text: &[char], pattern: &[char]) -> bool {
    let (mut t, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((t, p));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                t += 1;
                p += 1;
            }
            _ => {
                let Some((taken, at)) = star else { return false };
                star = Some((taken + 1, at));
                (t, p) = (taken + 1, at + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use proptest::prelude::*;
    use tidings_control::State;

    fn report() -> NodeReport {
        NodeReport {
            name: "node-17".to_owned(),
            address: "10.0.3.17:9616".to_owned(),
            state: State::Alive,
            age_ms: Some(1800.0),
            cores: Some(8),
            load1: Some(0.5),
            mem_available_bytes: Some(9 << 30),
            user: [("gpu", "3"), ("job", "alpha")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Default::default()
        }
    }

    fn held(text: &str) -> bool {
        Filter::parse(text).unwrap_or_else(|error| panic!("{error}")).holds(&report())
    }

    #[test]
    fn what_holds() {
        for text in [
            "load1 < 2 and mem_available > 8GiB",
            "load1 > 2 or cores == 8",
            "not (load1 > 2 or cores < 8)",
            "state == alive",
            "age < 2s and age >= 1800ms",
            "name =~ node-*7",
            "name =~ ode",
            "name =~ node-1?",
            "address =~ 10.0.*",
            "name != node-18",
            "name < node-2",
            "name =~ node-[16-18]",
            "name =~ m7,node-[1-9,17]",
            "not name =~ node-[18-20],node-1",
            "user.gpu >= 3",
            "user.gpu == '3'",
            "user.job == alpha",
            "user.job != 3",
        ] {
            assert!(held(text), "{text}");
        }
    }

    #[test]
    fn what_does_not_hold() {
        for text in [
            "load1 >= 2",
            "name == node",
            "name =~ ode-*8",
            "name =~ node-?",
            "name =~ node-[1-16,18-19]",
            "user.job > 3",
            "user.gpu > 10",
            "not state == alive",
        ] {
            assert!(!held(text), "{text}");
        }
    }

    #[test]
    fn the_last_readings_of_the_dead_meet_no_condition() {
        let dead = NodeReport { state: State::Dead, ..report() };
        let held = |text: &str| Filter::parse(text).expect(text).holds(&dead);
        assert!(held("state == dead and name =~ node-17 and age > 1s"));
        assert!(!held("load1 < 2") && !held("user.gpu >= 3") && !held("cores == 8"));
    }

    #[test]
    fn a_missing_reading_makes_every_comparison_false() {
        for operator in ["==", "!=", "<", "<=", ">", ">="] {
            assert!(!held(&format!("load5 {operator} 1")));
            assert!(!held(&format!("user.absent {operator} 1")));
        }
        assert!(!held("kernel =~ 6"));
        assert!(held("not load5 < 1"));
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_with_parts_starred(
            text in "[a-c]{0,12}", cut in 0usize..12, end in 0usize..12
        ) {
            let (cut, end) = (cut.min(text.len()), end.min(text.len()));
            let (cut, end) = (cut.min(end), cut.max(end));
            let pattern = format!("{}*{}", &text[..cut], &text[end..]);
            prop_assert!(matches(&text, &pattern));
            let longer = pattern + "?d";
            prop_assert!(!matches(&text, &longer));
        }
    }
}
