//! A hostlist pattern and the names it stands for.
//!
//! A pattern is a row of parts, each a fixed text or a choice of numbers; its names are the product
//! of the choices. Counting and measuring come before writing: a pattern of a few bytes can stand
//! for more names than there is memory.

use super::line::RosterLine;
use super::problem::{MAX_DIGITS, MAX_NAME_BYTES, MAX_NAMES, Problem};

/// Something between two commas: names and perhaps an address.
pub(super) struct Item<'t> {
    /// Where it begins in its line, in bytes.
    pub(super) offset: usize,
    pub(super) parts: Vec<Part<'t>>,
    pub(super) address: Option<&'t str>,
}

/// A stretch of a name: fixed, or every number of some ranges.
pub(super) enum Part<'t> {
    Text(&'t str),
    Numbers(Vec<Range>),
}

/// The numbers from `first` to `last`, written with at least `width` digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) width: usize,
}

impl Item<'_> {
    /// How many names it stands for, if those and the `known` ones fit the bounds.
    pub(super) fn check(&self, known: usize) -> Result<usize, Problem> {
        let bytes = self.parts.iter().map(Part::bytes).fold(0, usize::saturating_add);
        if bytes > MAX_NAME_BYTES {
            return Err(Problem::NameTooLong { bytes });
        }
        let count = self.parts.iter().map(Part::count).fold(1, u64::saturating_mul);
        let names = count.saturating_add(known as u64);
        if names > MAX_NAMES as u64 {
            return Err(Problem::TooManyNames { names });
        }
        Ok(count as usize)
    }

    /// Appends its names. Bounded by [`Item::check`], which comes first.
    pub(super) fn expand(&self, line: usize, nodes: &mut Vec<RosterLine>) {
        let mut emit = |name: &str| {
            let address = self.address.map(str::to_owned);
            nodes.push(RosterLine { name: name.to_owned(), address, line });
        };
        expand(&self.parts, &mut String::new(), &mut emit);
    }
}

/// Emits every name that begins with `name` and goes on with `parts`. Each part adds at least a
/// byte to a name, so that the depth is at most [`MAX_NAME_BYTES`].
fn expand(parts: &[Part<'_>], name: &mut String, emit: &mut impl FnMut(&str)) {
    let Some((part, rest)) = parts.split_first() else {
        return emit(name);
    };
    let start = name.len();
    match part {
        Part::Text(text) => {
            name.push_str(text);
            expand(rest, name, emit);
        }
        Part::Numbers(ranges) => {
            for (number, width) in ranges.iter().flat_map(Range::numbers) {
                name.truncate(start);
                push_number(name, number, width);
                expand(rest, name, emit);
            }
        }
    }
    name.truncate(start);
}

impl Part<'_> {
    /// How many ways it can be written.
    fn count(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::Numbers(ranges) => ranges.iter().map(|r| r.last - r.first + 1).sum(),
        }
    }

    /// The most bytes it adds to a name.
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Numbers(ranges) => ranges.iter().map(Range::bytes).max().unwrap_or(0),
        }
    }
}

impl Range {
    fn numbers(&self) -> impl Iterator<Item = (u64, usize)> + use<> {
        let width = self.width;
        (self.first..=self.last).map(move |number| (number, width))
    }

    pub(super) fn bytes(&self) -> usize {
        digits(self.last).max(self.width)
    }
}

/// How many digits a number has.
pub(super) fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Appends a number with at least `width` digits.
pub(super) fn push_number(text: &mut String, number: u64, width: usize) {
    use core::fmt::Write;
    write!(text, "{number:0width$}").expect("writing to a String cannot fail");
}

/// The value of a row of digits.
pub(super) fn number(digits: &str) -> Result<u64, Problem> {
    let too_long = Problem::NumberTooLong { digits: digits.len() };
    if digits.len() > MAX_DIGITS { Err(too_long) } else { digits.parse().map_err(|_| too_long) }
}
