//! Tallies: what one thread counts in a run, without a word to the others.

use std::cell::Cell;

/// What one thread has counted.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) nodes: Cell<u64>,
    pub(crate) meetings: Cell<u64>,
    pub(crate) climbed: Cell<u64>,
}

impl Tally {
    /// Of nothing.
    pub(crate) const fn new() -> Self {
        Self { nodes: Cell::new(0), meetings: Cell::new(0), climbed: Cell::new(0) }
    }

    /// So many nodes were added to the tree.
    pub(crate) fn nodes(&self, added: u64) {
        self.nodes.set(self.nodes.get() + added);
    }

    /// A common ancestor was looked for.
    pub(crate) fn meeting(&self, climbed: u32) {
        self.meetings.set(self.meetings.get() + 1);
        self.climbed.set(self.climbed.get() + u64::from(climbed));
    }
}
