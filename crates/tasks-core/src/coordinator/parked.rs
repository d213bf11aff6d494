//! Requests that cannot be served yet, by what they wait for.
//!
//! Each waits for one thing at a time, behind those that came before. When that thing has changed,
//! the first of them is served, and those behind it as long as nothing stands in their way again.
//! So a change costs what it sets free, however many requests wait for something else.

use std::collections::{BTreeMap, VecDeque};

use crate::id::TaskId;
use crate::message::{Call, Peer, Request};

use super::exchange::SlotKey;

/// What stands in the way of a request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Obstacle {
    /// A change of this task is being committed.
    Task(TaskId),
    /// A change of this semaphore is being committed.
    Semaphore(String),
    /// A statement of this slot of a session is being committed.
    Slot(SlotKey),
    /// This queue is full.
    Full(String),
    /// More inputs are waited for than may be.
    Inputs,
    /// It is not known yet which depots are there.
    Depots,
    /// Not all has been read from the store.
    Recovery,
}

/// A request, whose it is and its number.
pub(super) type Asked = (Peer, Call, Request);

/// Requests that cannot be served yet.
#[derive(Debug, Default)]
pub(super) struct Parked {
    by_obstacle: BTreeMap<Obstacle, VecDeque<Asked>>,
    /// What has changed since, and may no longer stand in the way.
    changed: VecDeque<Obstacle>,
}

impl Parked {
    /// Lets a request wait behind the others that wait for the same.
    pub(super) fn push(&mut self, obstacle: Obstacle, asked: Asked) {
        self.by_obstacle.entry(obstacle).or_default().push_back(asked);
    }

    /// Something has changed.
    pub(super) fn note(&mut self, obstacle: Obstacle) {
        if self.by_obstacle.contains_key(&obstacle) {
            self.changed.push_back(obstacle);
        }
    }

    /// Something of a queue has ended: there may be room.
    pub(super) fn note_room(&mut self, queue: &str) {
        if !self.by_obstacle.is_empty() {
            self.note(Obstacle::Full(queue.to_owned()));
        }
    }

    /// The next that has changed, and who waits for it.
    pub(super) fn next_changed(&mut self) -> Option<(Obstacle, VecDeque<Asked>)> {
        loop {
            let obstacle = self.changed.pop_front()?;
            if let Some(asked) = self.by_obstacle.remove(&obstacle) {
                return Some((obstacle, asked));
            }
        }
    }

    /// Lets those that are left wait on, before others.
    pub(super) fn put_back(&mut self, obstacle: Obstacle, mut asked: VecDeque<Asked>) {
        if let Some(mut later) = self.by_obstacle.remove(&obstacle) {
            asked.append(&mut later);
        }
        if !asked.is_empty() {
            self.by_obstacle.insert(obstacle, asked);
        }
    }

    /// Forgets the requests of a peer.
    pub(super) fn forget(&mut self, peer: Peer) {
        self.by_obstacle.retain(|_, asked| {
            asked.retain(|(of, _, _)| *of != peer);
            !asked.is_empty()
        });
    }

    /// Takes out all, those first that came before a recovery.
    pub(super) fn take(&mut self) -> VecDeque<Asked> {
        self.changed.clear();
        core::mem::take(&mut self.by_obstacle).into_values().flatten().collect()
    }

    /// Lets all wait until everything was read again.
    pub(super) fn wait_for_recovery(&mut self) {
        let all = self.take();
        if !all.is_empty() {
            self.by_obstacle.insert(Obstacle::Recovery, all);
        }
    }
}
