//! A hostlist as a pattern: whether it has a name, without writing its names.
//!
//! A condition or a request may hold `n[0-999999]`, a million names for every node that it is held
//! against. So a name is compared with the parts of each item instead. Several parts of numbers may
//! stand side by side, in `[1-20][1-20]` for example, and share the digits of a name in several
//! ways; all are followed at once, as the set of places in the name that a part can end at. Names
//! are so short that a word of bits holds that set. A comparison takes parts times digits steps.

use super::hostlist::{Part, Range, digits};
use super::problem::{MAX_DIGITS, MAX_NAME_BYTES, Problem, RosterError};
use super::{for_each_item, parse};

const _: () = assert!(MAX_NAME_BYTES < u64::BITS as usize, "places in a name fit in a word");

/// A hostlist, such as `n[1-3],m7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hostlist {
    text: String,
    items: Vec<Vec<Piece>>,
    names: usize,
}

/// A part of an item that owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Numbers(Vec<Range>),
}

impl Hostlist {
    /// Reads a hostlist. It may have a name several times, but no addresses.
    ///
    /// # Errors
    /// The first fault of the text, with its column.
    pub fn parse(text: &str) -> Result<Self, RosterError> {
        let (mut items, mut names) = (Vec::new(), 0);
        for_each_item(text, |_, _, item| {
            names += item.check(names)?;
            if item.address.is_some() {
                return Err(Problem::Unexpected);
            }
            items.push(item.parts.iter().map(Piece::of).collect());
            Ok(())
        })?;
        Ok(Self { text: text.to_owned(), items, names })
    }

    /// Whether one of its names is this.
    pub fn contains(&self, name: &str) -> bool {
        name.len() <= MAX_NAME_BYTES && self.items.iter().any(|pieces| matches(pieces, name))
    }

    /// Those of its names that are none of the `known` ones, in its order; none if it has more than
    /// `most` names, which is no list of nodes but a way of saying "all".
    pub fn lacking<'k>(
        &self,
        known: impl IntoIterator<Item = &'k str>,
        most: usize,
    ) -> Vec<String> {
        if self.names > most {
            return Vec::new();
        }
        let known: std::collections::BTreeSet<&str> = known.into_iter().collect();
        // Names that occur twice are refused there, and are no fault here: items are read singly.
        let names =
            self.items.iter().flat_map(|pieces| parse(&written(pieces)).unwrap_or_default());
        let mut lacking = Vec::new();
        for node in names {
            if !known.contains(node.name.as_str()) && !lacking.contains(&node.name) {
                lacking.push(node.name);
            }
        }
        lacking
    }
}

impl core::fmt::Display for Hostlist {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Piece {
    fn of(part: &Part<'_>) -> Self {
        match part {
            Part::Text(text) => Self::Text((*text).to_owned()),
            Part::Numbers(ranges) => Self::Numbers(ranges.clone()),
        }
    }

    /// The places at which it ends in `name`, if it begins at one of `begins`.
    fn ends(&self, name: &str, begins: u64) -> u64 {
        let places = (0..=name.len()).filter(|place| begins >> place & 1 == 1);
        match self {
            Self::Text(text) => {
                let is_here = |place: &usize| name[*place..].starts_with(text);
                places.filter(is_here).fold(0, |ends, place| ends | 1 << (place + text.len()))
            }
            Self::Numbers(ranges) => places.fold(0, |ends, place| {
                let rest = &name.as_bytes()[place..];
                let count = rest.iter().take(MAX_DIGITS).take_while(|b| b.is_ascii_digit()).count();
                let fits = |length: &usize| ranges.iter().any(|r| r.has(&name[place..][..*length]));
                (1..=count).filter(fits).fold(ends, |ends, length| ends | 1 << (place + length))
            }),
        }
    }
}

impl Range {
    /// Whether one of its numbers is written as these digits.
    fn has(&self, written: &str) -> bool {
        let is_written = |number: u64| written.len() == digits(number).max(self.width);
        let number = written.parse::<u64>();
        number.is_ok_and(|n| (self.first..=self.last).contains(&n) && is_written(n))
    }
}

fn matches(pieces: &[Piece], name: &str) -> bool {
    // What is no ASCII is no name; places below are then those of characters.
    name.is_ascii()
        && pieces.iter().fold(1, |at, piece| piece.ends(name, at)) >> name.len() & 1 == 1
}

/// The item as a hostlist.
fn written(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Numbers(ranges) => {
                let width = |range: &Range| range.width;
                let all: Vec<String> = ranges
                    .iter()
                    .map(|r| format!("{:0w$}-{:0w$}", r.first, r.last, w = width(r)))
                    .collect();
                text.extend(["[", &all.join(","), "]"]);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(text: &str) -> Hostlist {
        Hostlist::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn names_are_found_and_neighbours_are_not() {
        let some = list("n[1-3],m7, rack[08-11]-[1-20][5]");
        for name in ["n1", "n3", "m7", "rack08-15", "rack11-205", "rack09-155"] {
            assert!(some.contains(name), "{name}");
        }
        for name in ["n4", "n01", "n", "m70", "rack8-15", "rack12-15", "rack08-215", "größe", ""]
        {
            assert!(!some.contains(name), "{name}");
        }
        assert!(Hostlist::parse("n[0-99999999]").is_err(), "a roster has a million names at most");
    }

    #[test]
    fn names_that_nobody_has_are_named_once() {
        let some = list("n[08-11],m7,n[9-10],m7");
        assert_eq!(some.lacking(["n08", "n10", "x"], 9), ["n09", "n11", "m7", "n9"]);
        assert!(some.lacking([], 7).is_empty(), "it has eight names");
        assert!(list("n[1-2]").lacking(["n1", "n2"], 9).is_empty());
    }

    #[test]
    fn faults_are_those_of_a_roster() {
        for (text, column, problem) in [
            ("n[1-", 5, Problem::NumberExpected),
            ("n1,m7=10.0.0.1:9616", 4, Problem::Unexpected),
            (" ", 1, Problem::Empty),
        ] {
            let error = Hostlist::parse(text).expect_err(text);
            assert_eq!((error.column, error.problem), (column, problem), "{text}");
        }
    }

    proptest! {
        /// It has exactly the names that a roster of the same text has.
        #[test]
        fn a_pattern_has_the_names_of_the_roster(
            text in "[ab]{0,1}(\\[[0-2]-[3-9],1[0-2]-[2-9][0-9]\\]){1,2}[ab]{0,1}",
            other in "[ab]{0,1}[0-9]{1,4}[ab]{0,1}",
        ) {
            let Ok(nodes) = parse(&text) else { return Ok(()) };
            let pattern = list(&text);
            prop_assert!(nodes.iter().all(|node| pattern.contains(&node.name)));
            let is_there = nodes.iter().any(|node| node.name == other);
            prop_assert_eq!(pattern.contains(&other), is_there, "{} in {}", other, text);
        }
    }
}
