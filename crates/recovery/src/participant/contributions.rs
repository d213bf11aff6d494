//! Contributions on their way: from who made them to the owner, and from it to the copy.
//!
//! The owner alone decides whether a contribution counts, and passes on what it has added; so a
//! copy holds nothing that its owner does not, whoever dies on the way. It acknowledges when the
//! copy has. When a copy dies, what was on its way there is in the block that the next one gets.

use super::{Due, Forward, Participant, Pending};
use crate::blocks::{Received, Waiting};
use crate::message::Body;
use crate::plan::{Mark, Place};

impl Due {
    fn contribution(mark: Mark) -> Self {
        Self::Contribution { task: mark.task, output: mark.output }
    }

    pub(super) fn forward(mark: Mark) -> Self {
        Self::Forward { task: mark.task, output: mark.output }
    }
}

impl Participant {
    /// Whether a contribution of this participant is not acknowledged yet.
    pub fn is_pending(&self, mark: Mark) -> bool {
        self.pending.contains_key(&mark)
    }

    /// Whether a block holds a contribution of the phase; `None` if the block is not here.
    pub fn holds(&self, place: Place, mark: Mark) -> Option<bool> {
        let ledger = self.blocks.ledger(self.arrays.index(place)?)?;
        Some(ledger.holds(mark))
    }

    /// A task of this participant adds this.
    pub(super) fn contribute(&mut self, mark: Mark, index: u32, words: Vec<u64>) {
        // A task that was started again here while what it adds is on its way adds it once.
        if self.pending.contains_key(&mark) {
            return;
        }
        self.pending.insert(mark, Pending { index, words, sent_to: self.me });
        self.expect(Due::contribution(mark));
        self.deliver(mark);
    }

    /// Sends a contribution to the owner of its block.
    fn deliver(&mut self, mark: Mark) {
        let Some(pending) = self.pending.get(&mark) else { return };
        let (index, words) = (pending.index, pending.words.clone());
        let owner = self.owner(index);
        if let Some(pending) = self.pending.get_mut(&mark) {
            pending.sent_to = owner;
        }
        if owner == self.me {
            return self.add_as_owner(index, Waiting { from: self.me, mark, words });
        }
        if let Some(place) = self.arrays.place(index) {
            self.send(owner, Body::Add { place, mark, words });
        }
    }

    /// Others own blocks now: contributions go there.
    pub(super) fn deliver_again(&mut self) {
        let moved = |(mark, pending): (&Mark, &Pending)| {
            (pending.sent_to != self.owner(pending.index)).then_some(*mark)
        };
        let marks: Vec<Mark> = self.pending.iter().filter_map(moved).collect();
        for mark in marks {
            self.deliver(mark);
        }
    }

    /// A contribution comes to the owner.
    pub(super) fn add_as_owner(&mut self, index: u32, waiting: Waiting) {
        let (from, mark, words) = (waiting.from, waiting.mark, waiting.words.clone());
        match self.add(index, waiting) {
            Received::Applied => {
                self.counters.applied += 1;
                let Some(copy) = self.copy_at(index) else { return self.acknowledge(from, mark) };
                self.forwards.insert(mark, Forward { index, senders: vec![from] });
                self.expect(Due::forward(mark));
                if let Some(place) = self.arrays.place(index) {
                    self.send(copy, Body::Add { place, mark, words });
                }
            }
            Received::Dropped => {
                self.counters.dropped += 1;
                if let Some(forward) = self.forwards.get_mut(&mark) {
                    forward.senders.push(from);
                } else if let Some(waiting) = self.after_block.get_mut(&index) {
                    waiting.push((from, mark));
                } else {
                    self.acknowledge(from, mark);
                }
            }
            Received::Undeclared => {
                self.lose(index);
                self.acknowledge(from, mark);
            }
            Received::Kept | Received::Ignored => self.counters.ignored += 1,
        }
    }

    /// A contribution comes from the owner to the copy.
    pub(super) fn add_as_copy(&mut self, index: u32, waiting: Waiting) {
        let (owner, mark) = (waiting.from, waiting.mark);
        match self.add(index, waiting) {
            Received::Applied | Received::Dropped | Received::Undeclared => {
                self.acknowledge(owner, mark);
            }
            Received::Kept => {}
            Received::Ignored => self.counters.ignored += 1,
        }
    }

    fn add(&mut self, index: u32, waiting: Waiting) -> Received {
        let array = self.arrays.place(index).and_then(|place| self.arrays.get(place.array));
        array.map_or(Received::Ignored, |array| self.blocks.add(index, array, waiting))
    }

    fn acknowledge(&mut self, to: u32, mark: Mark) {
        if to == self.me {
            self.acknowledged(mark);
        } else if self.view.lives(to) {
            self.send(to, Body::Added { mark });
        }
    }

    /// A contribution of this participant is held by its owner and the copy.
    fn acknowledged(&mut self, mark: Mark) {
        self.pending.remove(&mark);
        self.settle(Due::contribution(mark));
    }

    /// Somebody holds a contribution: the copy of one of this owner's blocks, or an owner.
    pub(super) fn added(&mut self, from: u32, mark: Mark) {
        let is_copy = |forward: &Forward| self.copy_at(forward.index) == Some(from);
        if self.forwards.get(&mark).is_some_and(is_copy) {
            let senders = self.forwards.remove(&mark).map(|forward| forward.senders);
            self.settle(Due::forward(mark));
            for sender in senders.unwrap_or_default() {
                self.acknowledge(sender, mark);
            }
        } else if self.pending.get(&mark).is_some_and(|pending| pending.sent_to == from) {
            self.acknowledged(mark);
        }
    }

    /// Sends a block of this owner to its new copy; all that was on its way is in it.
    pub(super) fn send_block(&mut self, index: u32) {
        let is_its = |(mark, forward): (&Mark, &Forward)| (forward.index == index).then_some(*mark);
        let marks: Vec<Mark> = self.forwards.iter().filter_map(is_its).collect();
        for mark in marks {
            let senders = self.forwards.remove(&mark).map(|forward| forward.senders);
            self.settle(Due::forward(mark));
            let waiting = self.after_block.entry(index).or_default();
            waiting.extend(senders.unwrap_or_default().into_iter().map(|from| (from, mark)));
        }
        let Some(copy) = self.copy_at(index) else { return self.block_taken(index) };
        let Some(place) = self.arrays.place(index) else { return };
        self.after_block.entry(index).or_default();
        self.expect(Due::Block { index, to: copy });
        self.counters.copied += 1;
        let content = self.blocks.content(index);
        self.send(copy, Body::Block { place, content });
    }

    /// The copy has a block, or nobody else lives who could have one.
    pub(super) fn block_taken(&mut self, index: u32) {
        for (from, mark) in self.after_block.remove(&index).unwrap_or_default() {
            self.acknowledge(from, mark);
        }
    }
}
