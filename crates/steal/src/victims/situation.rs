//! Situations: what a worker knows when it chooses.
//!
//! A world tells it who lives, the time, and what is known of the work of others, by a [`Board`]:
//! an entry for each, with its age. The worker itself knows whether its phase is a [`List`].

use core::time::Duration;

use tidings_primitives::Instant;

use crate::view::View;

/// What the board says of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// How much it had that could be stolen, in nanoseconds of its own time.
    pub work_ns: u64,
    /// How long ago.
    pub age_us: u64,
}

/// What a world knows of the work of others: gossip's vector, or shared memory.
pub trait Board {
    /// What is known of a worker; `None` if nothing is.
    fn entry(&self, worker: u32) -> Option<Entry>;

    /// How far two workers are from each other, in any unit: where nothing better is known, by
    /// their numbers, as those of one host often follow each other.
    fn distance(&self, one: u32, other: u32) -> u32 {
        one.abs_diff(other)
    }
}

/// Nothing is known of anybody.
#[derive(Clone, Copy, Debug)]
pub struct NoBoard;

impl Board for NoBoard {
    fn entry(&self, _worker: u32) -> Option<Entry> {
        None
    }
}

/// A phase whose tasks are those of its list, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List {
    /// How long it has taken.
    pub elapsed: Duration,
    /// Whether each began with what it ran before.
    pub is_retained: bool,
}

impl List {
    /// What is not worth a steal: less than a 256th of the time until now; a hundredth where each
    /// began with what it ran before, as the rest is what costs differ by each time.
    pub(super) fn patience(&self) -> Duration {
        self.elapsed / if self.is_retained { 100 } else { 256 }
    }
}

/// What a thief sees.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// Who lives.
    pub view: &'a View,
    /// What is known of the work of others.
    pub board: &'a dyn Board,
    /// The time.
    pub now: Instant,
    /// The phase, if its tasks are those of a list, as far as is known.
    pub list: Option<List>,
}
