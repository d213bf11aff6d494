//! Statements that wait, in the order in which they came.
//!
//! Each is known at one place (`tuple::index`) of each of its templates: so a tuple that comes
//! costs a look at those that it may be for, however many others wait.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::Instant;

use crate::id::TaskId;
use crate::message::{self, Call, Peer};
use crate::tuple::index::{self, Place};
use crate::tuple::{MAX_FIELDS, Statement, Tuple};

use super::exchange::SlotKey;

/// A statement that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) peer: Peer,
    pub(super) call: Call,
    pub(super) slot: SlotKey,
    pub(super) place: message::Place,
    pub(super) statement: Box<Statement>,
    /// Until when.
    pub(super) until: Option<Instant>,
}

/// All that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_order: BTreeMap<u64, Waiter>,
    by_slot: BTreeMap<SlotKey, u64>,
    by_place: BTreeSet<(Place, u64)>,
    by_peer: BTreeSet<(Peer, u64)>,
    by_end: BTreeSet<(Instant, u64)>,
    by_task: BTreeSet<(TaskId, u64)>,
    last: u64,
}

impl Waiting {
    /// Lets a statement wait behind the others; one of its slot that waits keeps its turn.
    pub(super) fn insert(&mut self, waiter: Waiter) {
        self.last += 1;
        let order = self.by_slot.get(&waiter.slot).copied().unwrap_or(self.last);
        self.remove(order);
        for place in places(&waiter.statement) {
            self.by_place.insert((place, order));
        }
        self.by_slot.insert(waiter.slot.clone(), order);
        self.by_peer.insert((waiter.peer, order));
        self.by_end.extend(waiter.until.map(|until| (until, order)));
        self.by_task.extend(waiter.statement.owner.map(|(task, _)| (task, order)));
        self.by_order.insert(order, waiter);
    }

    /// Takes one out.
    pub(super) fn remove(&mut self, order: u64) -> Option<Waiter> {
        let waiter = self.by_order.remove(&order)?;
        for place in places(&waiter.statement) {
            self.by_place.remove(&(place, order));
        }
        self.by_slot.remove(&waiter.slot);
        self.by_peer.remove(&(waiter.peer, order));
        if let Some(until) = waiter.until {
            self.by_end.remove(&(until, order));
        }
        if let Some((task, _)) = waiter.statement.owner {
            self.by_task.remove(&(task, order));
        }
        Some(waiter)
    }

    pub(super) fn get(&self, order: u64) -> Option<&Waiter> {
        self.by_order.get(&order)
    }

    /// The turn of the statement of a slot.
    pub(super) fn of_slot(&self, slot: &SlotKey) -> Option<u64> {
        self.by_slot.get(slot).copied()
    }

    /// Those that may want a tuple, the first one first.
    pub(super) fn that_may_want(&self, space: &str, tuple: &Tuple) -> BTreeSet<u64> {
        if self.by_order.is_empty() {
            return BTreeSet::new();
        }
        let places = index::places(space, tuple, MAX_FIELDS);
        let at = |place| self.by_place.range((place, 0)..=(place, u64::MAX));
        places.flat_map(at).map(|(_, order)| *order).collect()
    }

    /// The turns of a peer's.
    pub(super) fn of_peer(&self, peer: Peer) -> Vec<u64> {
        self.by_peer.range((peer, 0)..=(peer, u64::MAX)).map(|(_, order)| *order).collect()
    }

    /// Those whose time is over.
    pub(super) fn ended(&self, now: Instant) -> Vec<u64> {
        self.by_end.iter().take_while(|(until, _)| *until <= now).map(|(_, order)| *order).collect()
    }

    /// When the time of the next one is over.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.by_end.first().map(|(until, _)| *until)
    }

    /// The turns of those whose claims are to end with a try of a task.
    pub(super) fn of_task(&self, task: TaskId) -> Vec<u64> {
        self.by_task.range((task, 0)..=(task, u64::MAX)).map(|(_, order)| *order).collect()
    }

    /// Takes out all, in their order.
    pub(super) fn take(&mut self) -> Vec<Waiter> {
        core::mem::take(self).by_order.into_values().collect()
    }
}

/// Where a statement is known: at the first place of each of its templates.
fn places(statement: &Statement) -> impl Iterator<Item = Place> {
    let ins = statement.ins.iter();
    ins.filter_map(|one| index::wanted(&one.space, &one.template, MAX_FIELDS).first().copied())
}
