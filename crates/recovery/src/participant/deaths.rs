//! Deaths: who is declared dead is dead for good, and what it had goes to others.
//!
//! Owners and copies follow from who lives. A participant does all that follows from a death when
//! it learns of it: it owns what it had the copy of, sends new copies what they are to have, and
//! sends contributions that were on their way to the dead to whose block it is now. A block whose
//! owner never had it begins again, or is lost.

use tidings_primitives::Instant;
use tidings_steal::view::View;

use super::{Due, Participant};
use crate::array::Loss;
use crate::message::Body;
use crate::placement::holders;
use crate::plan::Place;
use crate::scheme::Scheme;

impl Participant {
    /// A participant was declared dead: what it says from now on does not count.
    pub fn died(&mut self, worker: u32, now: Instant) {
        self.now = now;
        self.learn(&[worker]);
        self.pump();
    }

    pub(super) fn learn(&mut self, dead: &[u32]) {
        for worker in dead {
            self.worker.died(*worker);
        }
        self.catch_up();
    }

    /// Does what follows from the deaths that the worker has learnt of.
    pub(super) fn catch_up(&mut self) {
        if self.worker.view().dead().len() == self.view.dead().len() {
            return;
        }
        let before = core::mem::replace(&mut self.view, self.worker.view().clone());
        let view = &self.view;
        self.early.retain(|(from, _)| view.lives(*from));
        let is_of_dead = |due: &&Due| due.by().is_some_and(|worker| !view.lives(worker));
        let vain: Vec<Due> = self.due.iter().filter(is_of_dead).copied().collect();
        for due in vain {
            self.settle(due);
        }
        for index in 0..self.arrays.blocks() {
            self.house(index, &before);
        }
        self.deliver_again();
        if !self.is_within {
            return;
        }
        match self.scheme {
            Scheme::Lazy => {}
            Scheme::Collective => self.stop(),
            Scheme::NonCollective => self.seek(&before),
        }
    }

    /// The round ends as soon as what runs has ended: what waits is missing in the next one.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
        self.worker.withdraw();
    }

    /// Gives a block to those who are to have it now.
    pub(super) fn house(&mut self, index: u32, before: &View) {
        let owner = self.owner(index);
        let (copy, copy_before) = (self.copy_at(index), self.copy_in(index, before));
        if owner == self.me {
            let is_new = holders(index, before).0 != self.me;
            if !is_new && copy == copy_before {
                return;
            }
            if !self.blocks.is_here(index) && !self.blocks.is_lost(index) {
                self.replace(index);
            }
            self.send_block(index);
        } else if copy == Some(self.me) && copy_before != copy {
            self.blocks.await_from_owner(index);
        }
    }

    /// The owner of a block does not have it: it begins again, or is lost.
    ///
    /// What waited for it came from an owner that is dead; who made it sends it again.
    fn replace(&mut self, index: u32) {
        let Some(place) = self.arrays.place(index) else { return };
        let Some(array) = self.arrays.get(place.array) else { return };
        if array.loss == Loss::Recompute && self.arrays.is_known(place.array) {
            let words = array.words;
            self.counters.begun_again += 1;
            let ledger = self.declared(place);
            self.blocks.begin(index, words, ledger);
        } else {
            self.lose(index);
        }
    }

    /// A block is lost: all have to know, and the round need not go on.
    pub(super) fn lose(&mut self, index: u32) {
        self.blocks.lose(index);
        if self.is_within {
            self.refuse(index);
        }
    }

    /// Tells all that a block of this owner is lost.
    pub(super) fn refuse(&mut self, index: u32) {
        let Some(place) = self.arrays.place(index) else { return };
        let missing = self.declared(place).lacks();
        self.refusals.insert(self.refusal(place, missing));
        let all: Vec<u32> = (0..self.view.live()).map(|at| self.view.at(at)).collect();
        for to in all {
            if to == self.me {
                continue;
            }
            self.expect(Due::Refusal { index, to });
            self.send(to, Body::Refusal { place, missing });
        }
        self.stop();
    }

    pub(super) fn take_refusal(&mut self, from: u32, place: Place, missing: u64) {
        self.send(from, Body::Refused { place });
        if self.arrays.index(place).is_some() {
            self.refusals.insert(self.refusal(place, missing));
            self.stop();
        }
    }
}
