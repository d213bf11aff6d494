//! What arrives at a participant.

use tidings_primitives::Instant;

use super::{Due, Participant};
use crate::blocks::Waiting;
use crate::ledger::Ledger;
use crate::message::{Body, Content, Message};
use crate::plan::Place;

impl Participant {
    /// Takes a message in.
    pub fn receive(&mut self, from: u32, message: Message, now: Instant) {
        self.now = now;
        if from == self.me || !self.view.lives(from) || self.is_expelled {
            self.counters.ignored += 1;
            return;
        }
        self.learn(&message.dead);
        match message.body {
            Body::Steal(said) => self.worker.receive(from, said, now),
            body => self.take(from, message.round, body),
        }
        self.catch_up();
        if self.is_stopping {
            self.worker.withdraw();
        }
        self.pump();
    }

    pub(super) fn take(&mut self, from: u32, round: u32, body: Body) {
        let is_of_later_array = match &body {
            Body::Block { place, .. } => self.arrays.get(place.array).is_none(),
            _ => false,
        };
        if round == self.round.wrapping_add(1) || is_of_later_array {
            return self.keep(from, round, body);
        }
        // A block may be sent between phases, when others have begun the next already.
        let is_due = match body {
            Body::Block { place, content } => return self.take_block(from, round, place, content),
            Body::Taken { place } => return self.taken(from, place),
            _ if round != self.round => false,
            Body::Steal(_) => true,
            Body::Add { place, mark, words } => {
                return self.take_contribution(place, Waiting { from, mark, words });
            }
            Body::Added { mark } => return self.added(from, mark),
            Body::Missing { number, tasks } => {
                self.send(from, Body::Noted { number });
                return self.start_missing(&tasks);
            }
            Body::Noted { number } => self.settle(Due::Listed { number, to: from }),
            Body::Moved { to, tickets } => return self.note_moved(to, &tickets),
            Body::Ask { number, wanted } => return self.answer(from, number, &wanted),
            Body::Answer { number, missing } => return self.answered(from, number, &missing),
            Body::Refusal { place, missing } => return self.take_refusal(from, place, missing),
            Body::Refused { place } => self
                .arrays
                .index(place)
                .is_some_and(|index| self.settle(Due::Refusal { index, to: from })),
        };
        self.counters.ignored += u64::from(!is_due);
    }

    /// Keeps what is of the next round. Each sender has some contributions and questions on their
    /// way at most, so more than these are not honest.
    fn keep(&mut self, from: u32, round: u32, body: Body) {
        let most = self.view.workers() as usize * (2 * self.most_pending + 64);
        if self.early.len() < most {
            let dead = self.view.dead().to_vec();
            self.early.push_back((from, Message { round, dead, body }));
        } else {
            self.counters.ignored += 1;
        }
    }

    fn take_contribution(&mut self, place: Place, waiting: Waiting) {
        let Some(index) = self.arrays.index(place) else {
            self.counters.ignored += 1;
            return;
        };
        let owner = self.owner(index);
        if owner == self.me {
            self.add_as_owner(index, waiting);
        } else if owner == waiting.from {
            self.add_as_copy(index, waiting);
        } else {
            self.counters.ignored += 1;
        }
    }

    /// The owner sends a block of which this is the new copy.
    fn take_block(&mut self, from: u32, round: u32, place: Place, content: Option<Content>) {
        let index = self.arrays.index(place).filter(|index| self.owner(*index) == from);
        let array = self.arrays.get(place.array);
        let Some((index, array)) = index.zip(array) else {
            self.counters.ignored += 1;
            return;
        };
        let content = if self.arrays.is_before_zero(place.array, round) {
            Some(Content { words: vec![0; array.words as usize], bits: Vec::new() })
        } else {
            // What was noted in an earlier phase means nothing in this one.
            let is_of_phase = round >= self.first_round;
            let bits = |bits| if is_of_phase { bits } else { Vec::new() };
            content.map(|content| Content { bits: bits(content.bits), ..content })
        };
        let kept = self.blocks.take(index, array, content, self.declared(place));
        if kept.is_none() {
            self.counters.ignored += 1;
        }
        let lacks = self.blocks.ledger(index).map_or(0, Ledger::lacks);
        if !self.is_within && round >= self.first_round && lacks > 0 {
            self.blocks.lose(index);
        }
        self.send(from, Body::Taken { place });
        for waiting in kept.unwrap_or_default() {
            self.add_as_copy(index, waiting);
        }
    }

    fn taken(&mut self, from: u32, place: Place) {
        let Some(index) = self.arrays.index(place) else { return };
        if self.settle(Due::Block { index, to: from }) {
            self.block_taken(index);
        }
    }

    /// The ledger of a block in this phase, in which nothing is held.
    pub(super) fn declared(&self, place: Place) -> Ledger {
        self.plan
            .as_ref()
            .map_or_else(Ledger::default, |plan| Ledger::new(plan.contributors(place)))
    }
}
