//! A session: what a worker or client offers, and what it has in hand.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use tidings_primitives::Instant;

use crate::class::Class;
use crate::hosts::{Hosts, Rank};
use crate::id::TaskId;
use crate::resources::{Amount, Used};
use crate::view::{MAX_SHOWN_OF_SESSION, MAX_SHOWN_TASKS, RunningView, SessionView};

use super::phi::Gaps;
use super::rooms::{Fit, Fits, Standing};
use super::slots::{Hold, Slots};

/// A worker or client.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) name: Arc<str>,
    pub(super) host: Arc<str>,
    /// The queues it takes tasks of; all, if there is none.
    pub(super) queues: Vec<Arc<str>>,
    pub(super) slots: u32,
    /// The tasks that it has in hand beside those in its slots, if only slots count. Without slots:
    /// whether it will offer some later.
    pub(super) ahead: u32,
    /// What it offers, by name; nothing if only slots count.
    pub(super) resources: Vec<(String, Amount)>,
    /// Why it takes none now: a folder of its host is full.
    pub(super) full: Option<String>,
    /// The tasks it does.
    pub(super) running: BTreeMap<TaskId, Hold>,
    /// How many of them are ending, and what the others take of what it offers.
    pub(super) ending: usize,
    pub(super) used: Used,
    pub(super) taken: Slots,
    /// Those on its host that stay apart from each other.
    pub(super) apart: Vec<Arc<Class>>,
    /// Hosts as the board shows them, if there is one, and its own.
    pub(super) hosts: Option<Arc<Hosts>>,
    pub(super) rank: Rank,
    /// When it got its last task.
    pub(super) turn: u64,
    pub(super) until: Instant,
    /// When it was last heard of.
    pub(super) heard: Instant,
    /// The times between its heartbeats, and how long it may be silent by them.
    pub(super) gaps: Gaps,
    pub(super) silence: Duration,
}

impl Session {
    /// The lowest place that no try has.
    pub(super) fn free_slot(&self) -> u32 {
        self.taken.first_free()
    }

    /// How much it offers of a resource: of each as much as can be if only slots count.
    pub(super) fn offers(&self, name: &str) -> Amount {
        if self.resources.is_empty() {
            return Amount::MAX;
        }
        self.resources.iter().find(|(known, _)| known == name).map_or(0, |(_, amount)| *amount)
    }

    /// Whether it takes tasks, now or later: its slots may be offered to another part just now.
    fn is_worker(&self) -> bool {
        self.slots > 0 || self.ahead > 0
    }

    pub(super) fn takes_of(&self, queue: &str) -> bool {
        self.is_worker() && self.is_of(queue)
    }

    pub(super) fn is_of(&self, queue: &str) -> bool {
        self.queues.is_empty() || self.queues.iter().any(|one| **one == *queue)
    }

    /// Whether it has what a class needs, on a host that its filter accepts.
    pub(super) fn suits(&self, class: &Class) -> bool {
        let hosts = self.hosts.as_ref();
        let is_accepted = class.filter.is_empty()
            || hosts.is_some_and(|hosts| hosts.accepts(&class.filter, &self.host));
        // Without resources only slots count.
        is_accepted && (self.resources.is_empty() || class.need.fits(&self.resources))
    }

    pub(super) fn has_room(&self) -> bool {
        let ahead = if self.slots > 0 && self.resources.is_empty() { self.ahead } else { 0 };
        self.running.len() - self.ending < self.slots as usize + ahead as usize
    }

    /// A task is no longer among those it has.
    pub(super) fn release(&mut self, id: TaskId) -> Option<Hold> {
        let hold = self.running.remove(&id)?;
        if hold.is_ending {
            self.ending -= 1;
        } else {
            self.used.remove(&hold.class.need);
            self.taken.set(hold.slot, false);
        }
        Some(hold)
    }

    pub(super) fn view(&self, now: Instant) -> SessionView {
        let queues = self.queues.iter().take(MAX_SHOWN_OF_SESSION);
        SessionView {
            name: self.name.to_string(),
            host: self.host.to_string(),
            slots: self.slots,
            running: self.running.len() as u32,
            resources: self.resources.clone(),
            queues: queues.map(ToString::to_string).collect(),
            tasks: self.running.iter().take(MAX_SHOWN_TASKS).map(running_view).collect(),
            silent_ms: now.saturating_since(self.heard).as_millis() as u64,
            full: self.full.clone(),
        }
    }
}

fn running_view((&task, hold): (&TaskId, &Hold)) -> RunningView {
    RunningView { task, attempt: hold.attempt, progress: hold.progress.as_deref().cloned() }
}

impl Fits for Session {
    fn fit(&self, class: &Class) -> Fit {
        let is_whole = self.resources.is_empty();
        if !self.is_worker() || !self.suits(class) {
            Fit::Never
        } else if self.has_room()
            && (is_whole || self.used.leaves(&class.need, &self.resources))
            && !self.apart.iter().any(|other| class.stays_apart(&self.host, other))
        {
            Fit::Now
        } else {
            Fit::Later
        }
    }

    fn is_avoided(&self, class: &Class) -> bool {
        class.avoids(&self.host)
    }

    fn standing(&self) -> Standing {
        let taken = (self.running.len() - self.ending) as u64;
        let own = taken * 1_000 / u64::from(self.slots.max(1));
        let Rank { condition, load } = self.rank;
        Standing { condition, load: own + u64::from(load), turn: self.turn }
    }

    fn queues(&self) -> &[Arc<str>] {
        &self.queues
    }
}
