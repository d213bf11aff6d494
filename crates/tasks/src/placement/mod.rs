//! Placement from the board: a coordinator's driver looks at the board of the local agent.
//!
//! What it sees there decides *when* and *where*, never *whether*: a host that has just died loses
//! its tasks at once, instead of after the silence of its sessions; a task with a filter goes to a
//! host that the filter accepts; among hosts with room the less busy one is first. Without a board
//! the sessions alone decide.
//!
//! The board is memory that is read; the agent is not asked. Where no session is open, or no agent,
//! nothing or little is looked at.

mod deaths;
mod picture;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_control::NodeReport;
use tidings_tasks_core::hosts::Hosts;
use tokio::time::Instant;

use deaths::Deaths;

/// Between two looks: a death is acted on so much later at most.
const PERIOD: Duration = Duration::from_millis(250);

/// Between two looks where there is no board.
const ABSENT: Duration = Duration::from_secs(2);

/// What one look has shown; nothing if there is no live board.
#[derive(Debug)]
pub(crate) struct Look(Option<(Vec<NodeReport>, Hosts)>);

/// What follows from a look.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Hosts that have died.
    pub(crate) lost: Vec<String>,
    /// Hosts as they are now, if there is a board, and whether that is not as before.
    pub(crate) hosts: Option<Hosts>,
    pub(crate) is_other: bool,
}

/// Who looks at a board.
#[derive(Debug)]
pub(crate) struct Lookout {
    path: PathBuf,
    own: String,
    deaths: Deaths,
    hosts: Option<Hosts>,
    /// When to look next; not while a look is on its way.
    next: Option<Instant>,
    /// Filters that there were at the last look.
    filters: u64,
}

impl Lookout {
    /// Looks at the board at a path, from the host of that name.
    pub(crate) fn new(path: PathBuf, own: &str) -> Self {
        Self {
            path,
            own: own.to_owned(),
            deaths: Deaths::default(),
            hosts: None,
            next: Some(Instant::now()),
            filters: 0,
        }
    }

    /// When to look next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Begins a look: the path, to be passed to [`look`].
    pub(crate) fn begin(&mut self, filters: u64) -> PathBuf {
        (self.next, self.filters) = (None, filters);
        self.path.clone()
    }

    /// There is nothing to look for: later, perhaps.
    pub(crate) fn skip(&mut self) {
        self.next = Some(Instant::now() + PERIOD);
    }

    /// There are so many filters: one that is new is not left waiting.
    pub(crate) fn expect(&mut self, filters: u64) {
        if self.hosts.is_some() && filters != self.filters {
            self.next = self.next.map(|_| Instant::now());
        }
    }

    /// What follows from a look.
    pub(crate) fn take(&mut self, Look(seen): Look) -> News {
        let wait = if seen.is_some() { PERIOD } else { ABSENT };
        self.next = Some(Instant::now() + wait);
        let (nodes, hosts) = seen.unzip();
        let lost = nodes.map(|nodes| self.deaths.news(&nodes, &self.own)).unwrap_or_default();
        let is_other = self.hosts != hosts;
        self.hosts.clone_from(&hosts);
        News { lost, hosts, is_other }
    }
}

/// Looks at the board at a path. It blocks, for the time it takes to read all nodes.
pub(crate) fn look(path: &Path, filters: &BTreeSet<String>) -> Look {
    let read = tidings_nodes::board::nodes(path).ok();
    Look(read.map(|read| {
        let hosts = picture::hosts(&read.nodes, filters);
        (read.nodes, hosts)
    }))
}
