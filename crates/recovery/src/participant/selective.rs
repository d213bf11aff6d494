//! The non-collective scheme: homes know who has stolen their tasks, and start the lost ones again.
//!
//! When workers die, the home of tasks, or its backup, looks up which of them were there as far as
//! it knows, and asks the owners of the blocks to which these add: some have ended before. Who was
//! neither home nor backup knows nothing; then, and where a question is lost with whom it was
//! asked, the next round finds what is missing.

use std::collections::BTreeMap;

use tidings_steal::view::View;

use super::{Due, Participant};
use crate::locations::Ticket;
use crate::message::{Body, MAX_LISTED};
use crate::placement::holders;
use crate::plan::{Mark, Place, given, home};
use crate::scheme::Scheme;

impl Participant {
    /// Tells homes and their backups that tasks have moved.
    pub(super) fn tell_homes(&mut self, to: u32, tickets: Vec<Ticket>) {
        if self.scheme != Scheme::NonCollective {
            return;
        }
        let (workers, tasks) = (self.view.workers(), self.tasks());
        let mut by_home: BTreeMap<u32, Vec<Ticket>> = BTreeMap::new();
        for ticket in tickets.into_iter().filter(|ticket| ticket.task < tasks) {
            by_home.entry(home(ticket.task, workers, tasks)).or_default().push(ticket);
        }
        let mut by_receiver: BTreeMap<u32, Vec<Ticket>> = BTreeMap::new();
        for (home, tickets) in by_home {
            let (first, second) = holders(home, &self.view);
            for receiver in [Some(first), second].into_iter().flatten() {
                by_receiver.entry(receiver).or_default().extend(&tickets);
            }
        }
        for (receiver, tickets) in by_receiver {
            self.tell(receiver, to, &tickets);
        }
    }

    fn tell(&mut self, receiver: u32, to: u32, tickets: &[Ticket]) {
        if receiver == self.me {
            return self.note_moved(to, tickets);
        }
        self.counters.moved += 1;
        for part in tickets.chunks(MAX_LISTED) {
            self.send(receiver, Body::Moved { to, tickets: part.to_vec() });
        }
    }

    pub(super) fn note_moved(&mut self, to: u32, tickets: &[Ticket]) {
        let tasks = self.tasks();
        for ticket in tickets.iter().filter(|ticket| ticket.task < tasks) {
            self.locations.note(*ticket, to);
        }
    }

    fn tasks(&self) -> u64 {
        self.plan.as_ref().map_or(0, |plan| plan.tasks())
    }

    /// Workers have died: looks for tasks that were with them.
    pub(super) fn seek(&mut self, before: &View) {
        let (workers, tasks) = (self.view.workers(), self.tasks());
        let mut lost = Vec::new();
        for home in 0..workers {
            let (first, second) = holders(home, &self.view);
            let (first_before, second_before) = holders(home, before);
            let knows = first_before == self.me || second_before == Some(self.me);
            if first != self.me || !knows {
                continue;
            }
            let own = given(home, workers, tasks);
            let is_lost = |worker: u32| before.lives(worker) && !self.view.lives(worker);
            if is_lost(holders(home, &self.began_with).0) {
                let at = |task: &u64| self.locations.get(*task).map(|known| known.worker);
                lost.extend(own.clone().filter(|task| at(task).is_none_or(is_lost)));
            } else {
                let moved = self.locations.of(own.clone());
                lost.extend(moved.filter(|(_, known)| is_lost(known.worker)).map(|(task, _)| task));
            }
            if let Some(backup) = second.filter(|backup| second_before != Some(*backup)) {
                self.instruct(backup, own);
            }
        }
        self.ask(&lost);
    }

    /// Tells a new backup where tasks of a home are.
    fn instruct(&mut self, backup: u32, own: core::ops::Range<u64>) {
        let mut by_place: BTreeMap<u32, Vec<Ticket>> = BTreeMap::new();
        for (task, known) in self.locations.of(own) {
            let ticket = Ticket { task, version: known.version };
            by_place.entry(known.worker).or_default().push(ticket);
        }
        for (worker, tickets) in by_place {
            self.tell(backup, worker, &tickets);
        }
    }

    /// Asks owners which of these tasks are missing.
    fn ask(&mut self, lost: &[u64]) {
        let Some(plan) = self.plan.clone() else { return };
        let mut wanted: BTreeMap<u32, Vec<(Place, Mark)>> = BTreeMap::new();
        for task in lost {
            self.asked.insert(*task);
            for (output, place) in (0..=u8::MAX).zip(plan.outputs(*task)) {
                let Some(index) = self.arrays.index(place) else { continue };
                let mark = Mark { task: *task, output };
                wanted.entry(self.owner(index)).or_default().push((place, mark));
            }
        }
        for (owner, wanted) in wanted {
            if owner == self.me {
                let missing = self.missing_of(&wanted);
                self.start_lost(&missing);
                continue;
            }
            for part in wanted.chunks(MAX_LISTED) {
                self.number = self.number.wrapping_add(1);
                let number = self.number;
                self.expect(Due::Asked { number, to: owner });
                self.send(owner, Body::Ask { number, wanted: part.to_vec() });
            }
        }
    }

    /// Tasks of these contributions that blocks of this owner do not hold.
    fn missing_of(&self, wanted: &[(Place, Mark)]) -> Vec<u64> {
        let is_missing = |(place, mark): &&(Place, Mark)| {
            let index = self.arrays.index(*place).filter(|index| self.owner(*index) == self.me);
            let ledger = index.and_then(|index| self.blocks.ledger(index));
            ledger.is_some_and(|ledger| !ledger.holds(*mark))
        };
        let mut missing: Vec<u64> =
            wanted.iter().filter(is_missing).map(|(_, mark)| mark.task).collect();
        missing.dedup();
        missing
    }

    pub(super) fn answer(&mut self, from: u32, number: u32, wanted: &[(Place, Mark)]) {
        let missing = self.missing_of(wanted);
        self.send(from, Body::Answer { number, missing });
    }

    pub(super) fn answered(&mut self, from: u32, number: u32, missing: &[u64]) {
        if self.due.contains(&Due::Asked { number, to: from }) {
            self.start_lost(missing);
            self.settle(Due::Asked { number, to: from });
        }
    }

    /// Starts tasks again of which owners miss something, each once.
    fn start_lost(&mut self, missing: &[u64]) {
        let tasks: Vec<u64> =
            missing.iter().copied().filter(|task| self.asked.remove(task)).collect();
        self.start(&tasks);
    }
}
