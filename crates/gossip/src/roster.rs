//! The roster: who belongs to the cluster, as text that people write.
//!
//! One node a line, or several separated by commas, in Slurm's hostlist syntax: brackets stand for
//! every number of their ranges, padded as the first number of a range is, and the leftmost bracket
//! varies slowest. A plain name may carry the address it listens on. `#` begins a comment.
//!
//! ```text
//! n[0001-8192]                    # n0001, n0002, ... n8192
//! rack[1-3,7]-node[01-16], login1
//! gw=192.0.2.7:9616               # a name with its address
//! ```
//!
//! Invariants:
//! - a roster that is accepted names each node once, and no address twice;
//! - whatever the text, at most [`MAX_NAMES`] names of [`MAX_NAME_BYTES`] bytes are made: sizes are
//!   computed from the ranges and checked before a name is written;
//! - [`compress`] undoes [`parse`]: the names come back in the same order.
//!
//! The syntax is that of Slurm's `scontrol show hostnames`; the reference follows.
#![doc = ""]
#![doc = include_str!("../../../docs/reference/roster.md")]

use core::net::SocketAddr;

mod fold;
mod grammar;
mod hostlist;

pub use fold::compress;

use hostlist::{Item, MAX_DIGITS};

/// The most nodes a roster may name.
pub const MAX_NAMES: usize = 1 << 20;

/// The most bytes a node's name may have: one label of a host name.
pub const MAX_NAME_BYTES: usize = 63;

/// One node of a roster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterLine {
    /// The node's name, 1 to [`MAX_NAME_BYTES`] bytes of `A-Z a-z 0-9 . _ -`.
    pub name: String,
    /// `host:port` or `[IPv6]:port` as written, if the roster gives one. Not resolved.
    pub address: Option<String>,
    /// The line of the text it stands on, from 1.
    pub line: usize,
}

/// Why a roster was refused, and where. Nothing of the roster is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("roster, line {line}, column {column}: {problem}")]
pub struct RosterError {
    /// The line, from 1.
    pub line: usize,
    /// The character in that line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at a place of a roster, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text has no name at all.
    #[error("it names no node; write one name a line, or n[0001-8192]")]
    Empty,
    /// A character that cannot stand here.
    #[error("unexpected text; names are made of A-Z a-z 0-9 . _ - and parted by commas or lines")]
    Unexpected,
    /// A name is missing, or begins with a wrong character.
    #[error("a node's name must begin here, with a letter or a digit")]
    NameExpected,
    /// A bracket is empty, or a range lacks an end.
    #[error("a number is missing; a bracket holds numbers and ranges, such as [1-3,7]")]
    NumberExpected,
    /// A bracket does not end.
    #[error("expected ',' or ']': a bracket holds numbers and ranges, such as [1-3,7]")]
    BracketUnclosed,
    /// A number too large to be meant.
    #[error("the number has {digits} digits; at most {MAX_DIGITS} are allowed")]
    NumberTooLong {
        /// How many digits it has.
        digits: usize,
    },
    /// A range whose end lies before its start.
    #[error("the range {first}-{last} runs backwards; write {last}-{first}")]
    RangeReversed {
        /// The start as written.
        first: String,
        /// The end as written.
        last: String,
    },
    /// The end of a range is padded to another width than its start.
    #[error("the range {first}-{last} is padded unevenly; give both ends as many digits")]
    PaddingUneven {
        /// The start as written.
        first: String,
        /// The end as written.
        last: String,
    },
    /// A name longer than [`MAX_NAME_BYTES`].
    #[error("a name of {bytes} bytes; at most {MAX_NAME_BYTES} are allowed")]
    NameTooLong {
        /// The length of the longest name meant here.
        bytes: usize,
    },
    /// More names than [`MAX_NAMES`].
    #[error("{names} names up to here; a roster may hold at most {MAX_NAMES}")]
    TooManyNames {
        /// How many names the roster would have with those of this place.
        names: u64,
    },
    /// An address behind brackets.
    #[error("one address for a name with brackets; give each node a line with its own address")]
    AddressOfMany,
    /// An address that is neither `host:port` nor `[IPv6]:port`.
    #[error("not an address; write name:9616, 192.0.2.7:9616 or [2001:db8::7]:9616")]
    AddressMalformed,
    /// A name that an earlier place has.
    #[error("the name {name} stands on line {first_line} already; remove one of the two")]
    DuplicateName {
        /// The name.
        name: String,
        /// Where it stands first.
        first_line: usize,
    },
    /// An address that an earlier node has.
    #[error("the address {address} belongs to {owner} on line {first_line}; give each its own")]
    DuplicateAddress {
        /// The address as written here.
        address: String,
        /// The node that has it already.
        owner: String,
        /// The line of that node.
        first_line: usize,
    },
}

/// Reads a roster, or a hostlist given as one string. The nodes come in the order of the text.
///
/// # Errors
/// The first fault of the text, with its line and column; an empty roster is one.
pub fn parse(text: &str) -> Result<Vec<RosterLine>, RosterError> {
    let mut nodes = Vec::new();
    let mut places = Vec::new();
    for_each_item(text, |line, column, item| {
        nodes.reserve(item.check(nodes.len())?);
        item.expand(line, &mut nodes);
        places.push((nodes.len(), column));
        Ok(())
    })?;
    refuse_duplicates(&nodes).map_err(|(node, problem)| {
        let place = places.partition_point(|&(end, _)| end <= node);
        RosterError { line: nodes[node].line, column: places[place].1, problem }
    })?;
    Ok(nodes)
}

/// How many names a roster or hostlist stands for, duplicates included, without making them.
///
/// # Errors
/// As [`parse`], but for duplicates.
pub fn count(text: &str) -> Result<usize, RosterError> {
    let mut names = 0;
    for_each_item(text, |_, _, item| {
        names += item.check(names)?;
        Ok(())
    })?;
    Ok(names)
}

/// Calls `visit` with the line, the column and every item of a roster, until one has a problem.
fn for_each_item(
    text: &str,
    mut visit: impl FnMut(usize, usize, &Item<'_>) -> Result<(), Problem>,
) -> Result<(), RosterError> {
    let mut is_empty = true;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let at = |column, problem| RosterError { line, column, problem };
        let items = grammar::items_of(raw);
        for item in items.map_err(|(offset, problem)| at(column(raw, offset), problem))? {
            let column = column(raw, item.offset);
            visit(line, column, &item).map_err(|problem| at(column, problem))?;
            is_empty = false;
        }
    }
    if is_empty { Err(RosterError { line: 1, column: 1, problem: Problem::Empty }) } else { Ok(()) }
}

/// The column of a byte of a line, in characters from 1.
fn column(line: &str, offset: usize) -> usize {
    line.char_indices().take_while(|&(at, _)| at < offset).count() + 1
}

/// The first node, in the order of the text, whose name or address an earlier one has.
fn refuse_duplicates(nodes: &[RosterLine]) -> Result<(), (usize, Problem)> {
    let name = first_repeat(nodes, |node| Some(node.name.as_str()));
    if let Some((earlier, later)) = name {
        let (name, first_line) = (nodes[later].name.clone(), nodes[earlier].line);
        return Err((later, Problem::DuplicateName { name, first_line }));
    }
    let address = first_repeat(nodes, |node| node.address.as_deref().map(canonical));
    if let Some((earlier, later)) = address {
        let (owner, first_line) = (nodes[earlier].name.clone(), nodes[earlier].line);
        let address = nodes[later].address.clone().unwrap_or_default();
        return Err((later, Problem::DuplicateAddress { address, owner, first_line }));
    }
    Ok(())
}

/// Two nodes with the same key, the second of them as early as possible.
fn first_repeat<'r, K: Ord>(
    nodes: &'r [RosterLine],
    key: impl Fn(&'r RosterLine) -> Option<K>,
) -> Option<(usize, usize)> {
    let keyed = nodes.iter().enumerate().filter_map(|(index, node)| Some((key(node)?, index)));
    let mut sorted: Vec<_> = keyed.collect();
    sorted.sort_unstable();
    let pairs = sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    pairs.map(|pair| (pair[0].1, pair[1].1)).min_by_key(|&(_, later)| later)
}

/// An address in the one form in which equal addresses compare equal.
fn canonical(address: &str) -> String {
    address
        .parse::<SocketAddr>()
        .map_or_else(|_| address.to_ascii_lowercase(), |socket| socket.to_string())
}

#[cfg(test)]
mod tests;
