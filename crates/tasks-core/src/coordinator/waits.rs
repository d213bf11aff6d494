//! Who waits for the outcome of which task.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::TaskId;
use crate::message::{Call, Peer};

/// Requests to be answered when a task has ended.
#[derive(Debug, Default)]
pub(super) struct Waits {
    by_task: BTreeMap<TaskId, BTreeSet<(Peer, Call)>>,
    by_peer: BTreeMap<Peer, BTreeSet<(TaskId, Call)>>,
}

impl Waits {
    pub(super) fn insert(&mut self, id: TaskId, peer: Peer, call: Call) {
        self.by_task.entry(id).or_default().insert((peer, call));
        self.by_peer.entry(peer).or_default().insert((id, call));
    }

    /// Takes out who waits for a task.
    pub(super) fn take(&mut self, id: TaskId) -> BTreeSet<(Peer, Call)> {
        let asked = self.by_task.remove(&id).unwrap_or_default();
        for &(peer, call) in &asked {
            let Some(of_peer) = self.by_peer.get_mut(&peer) else { continue };
            of_peer.remove(&(id, call));
            if of_peer.is_empty() {
                self.by_peer.remove(&peer);
            }
        }
        asked
    }

    /// Forgets a peer.
    pub(super) fn forget(&mut self, peer: Peer) {
        for (id, call) in self.by_peer.remove(&peer).unwrap_or_default() {
            let Some(asked) = self.by_task.get_mut(&id) else { continue };
            asked.remove(&(peer, call));
            if asked.is_empty() {
                self.by_task.remove(&id);
            }
        }
    }

    /// Takes out all.
    pub(super) fn take_all(&mut self) -> BTreeSet<(Peer, Call)> {
        self.by_peer.clear();
        core::mem::take(&mut self.by_task).into_values().flatten().collect()
    }

    /// The tasks that somebody waits for.
    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> {
        self.by_task.keys().copied()
    }
}
