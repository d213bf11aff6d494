//! Placement from the board: a coordinator's driver looks at the board of the local agent.
//!
//! What it sees there decides *when* and *where*, never *whether*: a host that has just died loses
//! its tasks at once, instead of after the silence of its sessions; a task with a filter goes to a
//! host that the filter accepts; among hosts with room the less busy one is first. Without a board
//! the sessions alone decide.
//!
//! The board is memory that is read; the agent is not asked. Where no session is open nothing is
//! looked at, and where there is no board the kernel tells when one comes: an idle coordinator
//! without an agent sleeps.

mod arrival;
mod deaths;
mod picture;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_board::BoardError;
use tidings_control::NodeReport;
use tidings_tasks_core::hosts::Hosts;
use tokio::time::Instant;

use arrival::{Arrival, Watched};
use deaths::Deaths;

/// Between two looks: a death is acted on so much later at most.
const PERIOD: Duration = Duration::from_millis(250);

/// Between two looks where there is no board, and the kernel does not tell when one comes: a user
/// may have so many watches only. At first also where one is there whose writer is silent.
const ABSENT: Duration = Duration::from_secs(2);

/// The longest time between two looks: a silent writer may go on, and what is mounted is not told.
const RARELY: Duration = Duration::from_secs(60);

/// What one look has shown.
#[derive(Debug)]
pub(crate) struct Look(Result<(Vec<NodeReport>, Hosts), Absent>);

/// There is no live board.
#[derive(Debug)]
struct Absent {
    /// There is a file, which may come to life as it is.
    is_silent: bool,
    /// What tells of another one; none if that was refused.
    watched: Option<Watched>,
}

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
    /// What tells to look before that.
    arrival: Option<Arrival>,
    /// How long a board was waited for whose writer is silent.
    wait: Duration,
    /// There is nothing to look for.
    rests: bool,
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
            arrival: None,
            wait: ABSENT,
            rests: false,
            filters: 0,
        }
    }

    /// Begins a look: the path, to be passed to [`look`].
    pub(crate) fn begin(&mut self, filters: u64) -> PathBuf {
        (self.next, self.arrival, self.filters) = (None, None, filters);
        self.path.clone()
    }

    /// There is nothing to look for, until somebody has a session.
    pub(crate) fn rest(&mut self) {
        self.rests = true;
    }

    /// There are so many sessions and filters: one that is new is not left waiting.
    pub(crate) fn expect(&mut self, sessions: usize, filters: u64) {
        let is_new = self.hosts.is_some() && filters != self.filters;
        if is_new || (self.rests && sessions > 0) {
            self.next = self.next.map(|_| Instant::now());
        }
        self.rests &= sessions == 0;
    }

    /// What follows from a look.
    pub(crate) fn take(&mut self, Look(seen): Look) -> News {
        let seen = seen.map_err(|absent| self.miss(absent)).ok();
        if seen.is_some() {
            (self.next, self.wait) = (Some(Instant::now() + PERIOD), ABSENT);
        }
        let (nodes, hosts) = seen.unzip();
        let lost = nodes.map(|nodes| self.deaths.news(&nodes, &self.own)).unwrap_or_default();
        let is_other = self.hosts != hosts;
        self.hosts.clone_from(&hosts);
        News { lost, hosts, is_other }
    }

    /// There was no live board.
    fn miss(&mut self, Absent { is_silent, watched }: Absent) {
        self.arrival = watched.and_then(|watched| Arrival::new(watched).ok());
        let wait = match &self.arrival {
            None => ABSENT,
            Some(_) if is_silent => self.wait,
            Some(_) => RARELY,
        };
        self.wait = (wait * 2).min(RARELY);
        self.next = Some(Instant::now() + wait);
    }

    /// Waits until it is time to look.
    async fn due(&self) {
        let Some(next) = self.next.filter(|_| !self.rests) else {
            return core::future::pending().await;
        };
        let come = async {
            match &self.arrival {
                Some(arrival) => arrival.come().await,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = come => {}
        }
    }
}

/// Waits until it is time for a look, if there is somebody who looks.
pub(crate) async fn due(lookout: Option<&Lookout>) {
    match lookout {
        Some(lookout) => lookout.due().await,
        None => core::future::pending().await,
    }
}

/// Looks at the board at a path. It blocks, for the time it takes to read all nodes.
pub(crate) fn look(path: &Path, filters: &BTreeSet<String>) -> Look {
    let read = || {
        let nodes = tidings_nodes::board::nodes(path)?.nodes;
        let hosts = picture::hosts(&nodes, filters);
        Ok((nodes, hosts))
    };
    Look(read().or_else(|_: BoardError| {
        let watched = arrival::watch(path).ok();
        // It may have come before it was watched for.
        read().map_err(|error| Absent { is_silent: is_silent(&error), watched })
    }))
}

/// Whether this very file may be a live board later. Another one is put in its place by renaming.
fn is_silent(error: &BoardError) -> bool {
    match error {
        BoardError::Unreadable { source, .. } => source.kind() != io::ErrorKind::NotFound,
        BoardError::NotABoard { .. } | BoardError::Version { .. } | BoardError::Left { .. } => {
            false
        }
        _ => true,
    }
}
