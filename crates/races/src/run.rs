//! A checked run: its tree, and the races that were found.

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::granules::Granules;
use crate::report::{Counts, Race, Report};
use crate::shadow::{Access, Conflict, Kind, Seen, Shadow};
use crate::tree::{Climb, Tree};

/// The races that are kept; the others are counted.
const MOST_RACES: usize = 100;

/// What all threads of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) tree: Tree,
    pub(crate) memory: Granules,
    races: Mutex<Vec<Race>>,
    total: AtomicU64,
    meetings: AtomicU64,
    climbed: AtomicU64,
    escaped: AtomicU64,
}

impl Run {
    /// One that begins here.
    pub(crate) fn new(climb: Climb, site: &'static Location<'static>) -> Self {
        Self {
            tree: Tree::new(climb, site),
            memory: Granules::default(),
            races: Mutex::default(),
            total: AtomicU64::new(0),
            meetings: AtomicU64::new(0),
            climbed: AtomicU64::new(0),
            escaped: AtomicU64::new(0),
        }
    }

    /// An access to a place whose shadow this is; what it conflicts with, if that is the first race
    /// there.
    pub(crate) fn access(
        &self,
        shadow: &mut Shadow,
        kind: Kind,
        access: Access,
    ) -> Option<Conflict> {
        let seen = Seen { tree: &self.tree, meetings: Cell::new((0, 0)) };
        let conflict = shadow.access(&seen, kind, access);
        let (meetings, climbed) = seen.meetings.get();
        if meetings > 0 {
            self.meetings.fetch_add(meetings, Ordering::Relaxed);
            self.climbed.fetch_add(climbed, Ordering::Relaxed);
        }
        conflict
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
            nodes: self.tree.len() as u64,
            phases: self.tree.phases() as u64,
            meetings: self.meetings.load(Ordering::Relaxed),
            climbed: self.climbed.load(Ordering::Relaxed),
            escaped: self.escaped.load(Ordering::Relaxed),
        };
        let mut races = self.races.lock().unwrap_or_else(PoisonError::into_inner);
        Report { races: core::mem::take(&mut *races), counts }
    }
}
