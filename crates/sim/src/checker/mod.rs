//! Checkers: what must hold in every run, looked at from outside the nodes.
//!
//! The simulator knows what no node knows: when each entry was really made. Each checker is given
//! what the nodes' vectors say at every sample, and notes what contradicts the truth. A run of
//! correct nodes has no violations, whatever its faults.

pub mod age;
pub mod convergence;
pub mod knowledge;

use serde::Serialize;

/// What the checkers found.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Findings {
    /// Pairs looked at, over all samples.
    pub pairs_checked: u64,
    /// The most by which an age was understated, in microseconds: travel, at most.
    pub understated_max_us: u64,
    /// Ages understated by more than the travel and the drift of clocks can explain.
    pub understated_ages: u64,
    /// Entries that were older, by stamp, than one their holder had before.
    pub lowered_entries: u64,
    /// Requests that nodes dropped because their sender had made more than its share.
    pub excess_requests: u64,
    /// The first violation in words.
    pub first_violation: Option<String>,
}

impl Findings {
    /// Whether nothing contradicts the truth, and nobody who keeps to the protocol was cut short.
    pub fn is_clean(&self) -> bool {
        self.understated_ages == 0 && self.lowered_entries == 0 && self.excess_requests == 0
    }

    /// Keeps the first violation in words.
    pub(crate) fn note(&mut self, violation: impl FnOnce() -> String) {
        self.first_violation.get_or_insert_with(violation);
    }
}

/// What one node says of another at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The node that says it, and the one it is about.
    pub pair: (usize, usize),
    /// Incarnation and sequence of the entry.
    pub stamp: (u32, u32),
    /// Its age by the holder's clock, in microseconds.
    pub age_micros: i64,
    /// Its age in truth, in microseconds; `None` if it was made before its origin's first round.
    pub true_age_micros: Option<i64>,
}
