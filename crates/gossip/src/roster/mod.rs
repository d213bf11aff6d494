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
#![doc = include_str!("../../../../docs/reference/roster.md")]

use core::net::SocketAddr;

mod fold;
mod grammar;
mod hostlist;
mod line;
mod pattern;
mod problem;

pub use fold::compress;
pub use line::RosterLine;
pub use pattern::Hostlist;
pub use problem::{MAX_NAME_BYTES, MAX_NAMES, Problem, RosterError};

use hostlist::Item;

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
