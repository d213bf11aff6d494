//! Sharing: which slot gets what is in hand, and what comes back to be done elsewhere.
//!
//! Slots that are free come first, then lanes that have least ahead. A slot that has nothing to do
//! gets what another has ahead.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::super::ending::Order;
use super::super::given::{Ear, Given, Say, Slot, Todo, Told};
use super::super::kept::Runtimes;
use super::super::lane;
use super::{Busy, Driver, ENDING, Ended, Running, SAID, UNWANTED};

impl Driver {
    /// Gives what waits to slots that are free, then to lanes that take more.
    pub(super) fn fill(&mut self) {
        while let Some(todo) = self.waiting.pop_front() {
            if self.pause.is_on() {
                return self.waiting.push_front(todo);
            }
            if let Some(todo) = self.place(todo) {
                return self.waiting.push_front(todo);
            }
            let waits = !self.waiting.is_empty();
            self.patient_until = waits.then(|| Instant::now() + self.pace.patience());
        }
    }

    /// Gives a task to a slot; returns it if none takes it.
    pub(super) fn place(&mut self, todo: Todo) -> Option<Todo> {
        let slot = self.free.pop().or_else(|| {
            let slot = Slot { number: self.used, runtimes: Runtimes::new() };
            (self.used < self.shared.settings.slots).then_some(slot)
        });
        if let Some(slot) = slot {
            self.used = self.used.max(slot.number + 1);
            let given = self.given(todo, slot.number);
            self.begin(slot, given);
            return None;
        }
        let most = self.pace.ahead() as usize;
        let takes =
            |busy: &Busy| busy.takes > 0 && !busy.is_late && busy.count <= most.min(busy.takes);
        let taking = self.busy.iter().filter(|(_, busy)| takes(busy));
        let Some(slot) = taking.min_by_key(|(_, busy)| busy.count).map(|(slot, _)| *slot) else {
            return Some(todo);
        };
        let given = self.given(todo, slot);
        let Some(busy) = self.busy.get_mut(&slot) else { return Some(given.todo) };
        match busy.says.try_send(Say::Next(Box::new(given))) {
            Ok(()) => busy.count += 1,
            // It comes back with what the lane does not hear any more.
            Err(error) => {
                if let Say::Next(given) = error.into_inner() {
                    return Some(given.todo);
                }
            }
        }
        None
    }

    /// A task for a slot, with what will be told of it.
    pub(super) fn given(&mut self, todo: Todo, slot: u32) -> Given {
        let (sender, orders) = watch::channel(None);
        let grace_ms = Arc::new(AtomicU64::new(0));
        let copies = todo.copies;
        let running = Running { orders: sender, grace_ms: grace_ms.clone(), slot, copies };
        self.running.insert(todo.key(), running);
        Given { todo, orders, grace_ms, patience: self.pace.patience() }
    }

    pub(super) fn begin(&mut self, slot: Slot, given: Given) {
        let (says, heard) = mpsc::channel(SAID);
        let busy = Busy { says, count: 1, takes: 0, is_late: false, is_asked: false };
        self.busy.insert(slot.number, busy);
        let ear = Ear { slot: slot.number, says: heard, told: self.telling.clone() };
        let shared = self.shared.clone();
        self.tries.spawn(crate::spawn::boxed(async move {
            lane::run(shared, slot, given, ear).await;
            Ended::Lane
        }));
    }

    /// A lane tells something.
    pub(super) fn hear(&mut self, told: Told) {
        match told {
            Told::Takes(slot, ahead) => {
                if let Some(busy) = self.busy.get_mut(&slot) {
                    busy.takes = ahead;
                }
                self.fill();
            }
            Told::Ended { slot, key, verdict, took } => {
                if let Some(busy) = self.busy.get_mut(&slot) {
                    busy.count = busy.count.saturating_sub(1);
                    busy.is_late = false;
                }
                self.tell(key, verdict);
                if self.pace.took(took) && self.word.is_none() {
                    self.offer();
                }
                self.fill();
                self.share();
            }
            Told::Back { slot, all, is_late } => self.back(slot, all, is_late),
            Told::Free(slot, mut says) => {
                self.busy.remove(&slot.number);
                let mut all = Vec::new();
                while let Ok(say) = says.try_recv() {
                    if let Say::Next(given) = say {
                        all.push(given.todo);
                    }
                }
                self.free.push(slot);
                // The lowest is used first.
                self.free.sort_unstable_by_key(|slot| core::cmp::Reverse(slot.number));
                self.take_back(all);
                self.share();
            }
        }
    }

    /// A lane gives back what it has not begun.
    pub(super) fn back(&mut self, slot: u32, all: Vec<Todo>, is_late: bool) {
        if let Some(busy) = self.busy.get_mut(&slot) {
            busy.count = busy.count.saturating_sub(all.len());
            busy.is_asked = false;
            busy.is_late |= is_late;
        }
        self.take_back(all);
        if is_late && !self.waiting.is_empty() {
            self.return_ahead();
        }
    }

    /// Takes what has not begun to its place before what waits.
    pub(super) fn take_back(&mut self, all: Vec<Todo>) {
        for todo in all.into_iter().rev() {
            let running = self.running.remove(&todo.key());
            match running.and_then(|running| *running.orders.borrow()) {
                Some(Order::Stop) => self.give_back(&todo, UNWANTED),
                Some(_) => self.give_back(&todo, ENDING),
                None if self.word.is_some() => self.give_back(&todo, ENDING),
                None => self.waiting.push_front(todo),
            }
        }
        self.fill();
    }

    /// A slot is free, and nothing waits: what others have ahead may begin there.
    pub(super) fn share(&mut self) {
        if self.free.is_empty() || !self.waiting.is_empty() {
            return;
        }
        let most = self.busy.values_mut().filter(|busy| busy.count > 1).max_by_key(|b| b.count);
        if let Some(busy) = most.filter(|busy| !busy.is_asked) {
            busy.is_asked = busy.says.try_send(Say::Back).is_ok();
        }
    }

    /// Asks all for what they have not begun.
    pub(super) fn ask_back(&mut self) {
        for busy in self.busy.values_mut().filter(|busy| busy.count > 1) {
            // One that hears nothing any more gives all back.
            busy.is_asked = busy.says.try_send(Say::Back).is_ok();
        }
    }
}
