//! A checked run: its tree, the races that were found, and what its threads have counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::granules::Granules;
use crate::report::{Counts, Race, Report};
use crate::shadow::{Access, Conflict, Kind, Seen, Shadow};
use crate::sites::Site;
use crate::tally::Tally;
use crate::tree::{Climb, Tree};

/// The races that are kept; the others are counted.
const MOST_RACES: usize = 100;

/// What all threads of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    /// No other run of the process has it.
    pub(crate) number: u64,
    pub(crate) tree: Tree,
    pub(crate) memory: Granules,
    races: Mutex<Vec<Race>>,
    total: AtomicU64,
    nodes: AtomicU64,
    meetings: AtomicU64,
    climbed: AtomicU64,
    escaped: AtomicU64,
}

impl Run {
    /// One that begins here.
    pub(crate) fn new(climb: Climb, site: Site) -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(1);
        Self {
            number: RUNS.fetch_add(1, Ordering::Relaxed),
            tree: Tree::new(climb, site),
            memory: Granules::default(),
            races: Mutex::default(),
            total: AtomicU64::new(0),
            nodes: AtomicU64::new(1),
            meetings: AtomicU64::new(0),
            climbed: AtomicU64::new(0),
            escaped: AtomicU64::new(0),
        }
    }

    /// An access to a place whose shadow this is; what it conflicts with, if that is the first race
    /// there.
    pub(crate) fn access(
        &self,
        tally: &Tally,
        shadow: &mut Shadow,
        kind: Kind,
        access: Access,
    ) -> Option<Conflict> {
        shadow.access(&Seen { tree: &self.tree, tally }, kind, access)
    }

    /// Adds what a thread has counted, which begins anew.
    pub(crate) fn count(&self, tally: &Tally) {
        self.nodes.fetch_add(tally.nodes.take(), Ordering::Relaxed);
        self.meetings.fetch_add(tally.meetings.take(), Ordering::Relaxed);
        self.climbed.fetch_add(tally.climbed.take(), Ordering::Relaxed);
    }

    /// Keeps a race.
    pub(crate) fn found(&self, conflict: &Conflict) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut races = self.races.lock().unwrap_or_else(PoisonError::into_inner);
        if races.len() < MOST_RACES {
            races.push(Race::of(&self.tree, conflict));
        }
    }

    /// A task was spawned into a scope around the innermost one.
    pub(crate) fn escaped(&self) {
        self.escaped.fetch_add(1, Ordering::Relaxed);
    }

    /// What was found, when it has ended.
    pub(crate) fn report(&self) -> Report {
        let counts = Counts {
            races: self.total.load(Ordering::Relaxed),
            nodes: self.nodes.load(Ordering::Relaxed),
            phases: self.tree.phases() as u64,
            meetings: self.meetings.load(Ordering::Relaxed),
            climbed: self.climbed.load(Ordering::Relaxed),
            escaped: self.escaped.load(Ordering::Relaxed),
        };
        let mut races = self.races.lock().unwrap_or_else(PoisonError::into_inner);
        Report { races: core::mem::take(&mut *races), counts }
    }
}
