//! Hosts as the board shows them: where a task would go on well.
//!
//! A driver that reads a board evaluates filters and ranks hosts there; here lies what follows for
//! the choice of a session. Without a board all hosts are alike, and nothing is known of filters.

use std::collections::{BTreeMap, BTreeSet};

/// How a host does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Condition {
    /// As well as others.
    #[default]
    Good,
    /// Tasks take much longer there.
    Slow,
    /// It may be gone.
    Doubtful,
}

/// A host, as far as the choice among sessions with room goes: the smaller, the earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rank {
    /// How it does.
    pub condition: Condition,
    /// What others do there: thousandths of its CPUs.
    pub load: u32,
}

/// All hosts, at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hosts {
    /// Their ranks, by name. What has none is as good as any.
    pub ranks: BTreeMap<String, Rank>,
    /// For each filter that was evaluated the hosts that it accepts.
    pub matches: BTreeMap<String, BTreeSet<String>>,
}

impl Hosts {
    /// Whether a filter accepts a host: the empty one does, one that was not evaluated does not.
    pub fn accepts(&self, filter: &str, host: &str) -> bool {
        filter.is_empty() || self.matches.get(filter).is_some_and(|hosts| hosts.contains(host))
    }

    /// The rank of a host.
    pub fn rank(&self, host: &str) -> Rank {
        self.ranks.get(host).copied().unwrap_or_default()
    }
}
