//! Outputs that stay on nodes, as far as tasks that have not ended read them: some 150 bytes each.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::TaskId;
use crate::output::{Depot, Kept};

/// An output.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) bytes: u64,
    /// Where it lies; nowhere: it is lost, and made again.
    pub(super) depots: Vec<Depot>,
}

/// Outputs, by the task that has made each.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    by_task: BTreeMap<TaskId, Output>,
    by_depot: BTreeSet<(u64, TaskId)>,
    /// Those whose records are being read, since they may have to be made again.
    asked: BTreeSet<TaskId>,
}

impl Outputs {
    pub(super) fn insert(&mut self, id: TaskId, kept: &Kept) {
        self.remove(id);
        self.by_depot.extend(kept.depots.iter().map(|depot| (depot.id, id)));
        let output = Output { bytes: kept.bytes, depots: kept.depots.clone() };
        self.by_task.insert(id, output);
    }

    /// No task that has not ended reads it.
    pub(super) fn remove(&mut self, id: TaskId) {
        self.lose(id);
        self.by_task.remove(&id);
    }

    /// It lies nowhere.
    pub(super) fn lose(&mut self, id: TaskId) {
        let Some(output) = self.by_task.get_mut(&id) else { return };
        for depot in output.depots.drain(..) {
            self.by_depot.remove(&(depot.id, id));
        }
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Output> {
        self.by_task.get(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }

    /// Those in a depot.
    pub(super) fn at(&self, depot: u64) -> Vec<TaskId> {
        let (first, last) = (TaskId::from_bytes([0; 16]), TaskId::from_bytes([u8::MAX; 16]));
        self.by_depot.range((depot, first)..=(depot, last)).map(|(_, id)| *id).collect()
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<TaskId> {
        self.by_task.keys().copied().collect()
    }

    /// The record is to be read. Returns whether it was not before.
    pub(super) fn ask(&mut self, id: TaskId) -> bool {
        self.asked.insert(id)
    }

    /// The record was read.
    pub(super) fn told(&mut self, id: TaskId) {
        self.asked.remove(&id);
    }
}
