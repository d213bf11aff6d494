//! Tasks that wait for room on a node that has what they read: each for a bounded time.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::Instant;

use crate::id::TaskId;

#[derive(Clone, Copy, Debug)]
struct Held {
    depot: u64,
    order: u64,
    until: Instant,
}

/// Ready tasks that are in no queue, since they wait for room at a depot.
#[derive(Debug, Default)]
pub(super) struct Near {
    by_task: BTreeMap<TaskId, Held>,
    by_depot: BTreeMap<u64, BTreeSet<(u64, TaskId)>>,
    by_end: BTreeSet<(Instant, TaskId)>,
    /// Those that have waited for as long as they may.
    spent: BTreeSet<TaskId>,
    last: u64,
}

impl Near {
    pub(super) fn insert(&mut self, id: TaskId, depot: u64, until: Instant) {
        self.remove(id);
        self.last += 1;
        let order = self.last;
        self.by_task.insert(id, Held { depot, order, until });
        self.by_depot.entry(depot).or_default().insert((order, id));
        self.by_end.insert((until, id));
    }

    /// It waits no more: it is given to somebody, or is no longer what it was.
    pub(super) fn remove(&mut self, id: TaskId) {
        self.spent.remove(&id);
        let Some(Held { depot, order, until }) = self.by_task.remove(&id) else { return };
        self.by_end.remove(&(until, id));
        let Some(of_depot) = self.by_depot.get_mut(&depot) else { return };
        of_depot.remove(&(order, id));
        if of_depot.is_empty() {
            self.by_depot.remove(&depot);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }

    /// The first that waits for room at a depot.
    pub(super) fn first(&self, depot: u64) -> Option<TaskId> {
        self.by_depot.get(&depot)?.first().map(|(_, id)| *id)
    }

    /// Those that wait for room at a depot, at most 64.
    pub(super) fn at(&self, depot: u64) -> Vec<TaskId> {
        self.by_depot.get(&depot).into_iter().flatten().map(|(_, id)| *id).collect()
    }

    /// Whether it has waited for as long as it may.
    pub(super) fn is_spent(&self, id: TaskId) -> bool {
        self.spent.contains(&id)
    }

    /// Takes out those that have waited for as long as they may.
    pub(super) fn take_ended(&mut self, now: Instant) -> Vec<TaskId> {
        let ended = self.by_end.iter().take_while(|(until, _)| *until <= now);
        let ended: Vec<TaskId> = ended.map(|(_, id)| *id).collect();
        for id in &ended {
            self.remove(*id);
            self.spent.insert(*id);
        }
        ended
    }

    /// When the next one has waited for as long as it may.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.by_end.first().map(|(until, _)| *until)
    }
}
