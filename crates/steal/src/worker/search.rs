//! What a worker without tasks does: asks, pauses, or sleeps with its lifelines out.

use tidings_primitives::Instant;

use super::{Search, Stage, Worker};
use crate::message::Body;
use crate::victims::{Board, Choice, Selection};

impl Worker {
    /// The board has changed: who sleeps may look at it again, and nothing is sent if it says
    /// nothing.
    pub fn news(&mut self) {
        let looks = matches!(self.config.selection, Selection::Known(_));
        if looks && self.search == Search::Asleep(None) {
            self.search = Search::Ready;
        }
    }

    /// An idle worker's step.
    pub(super) fn search(&mut self, now: Instant, board: &dyn Board) {
        match self.search {
            Search::Asked(_) => return,
            // What has arrived may have changed what is counted, if it made no task.
            Search::Asleep(None) => return self.settle(),
            Search::Paused(then) | Search::Asleep(Some(then)) if then > now => {
                return self.settle();
            }
            Search::Ready | Search::Paused(_) | Search::Asleep(Some(_)) => {}
        }
        match self.victims.choose(&self.view, board, now) {
            Choice::Ask(victim) => {
                self.counters.attempts += 1;
                self.search = Search::Asked(victim);
                self.send(victim, Body::Steal);
            }
            Choice::Pause(then) => {
                self.search = Search::Paused(then);
                self.settle();
            }
            Choice::Sleep(then) => {
                self.search = Search::Asleep(then);
                self.extend_lifelines();
                self.settle();
            }
        }
    }

    /// Lets each neighbour know that there is nothing here, once until it has sent something.
    fn extend_lifelines(&mut self) {
        let neighbours: Vec<u32> =
            self.view.neighbours(self.me).take(self.victims.lifelines()).collect();
        for neighbour in neighbours {
            if self.lifelines.insert(neighbour) {
                self.counters.lifelines += 1;
                self.send(neighbour, Body::Lifeline);
            }
        }
    }

    /// A thief asks and waits.
    pub(super) fn asked_by(&mut self, thief: u32) {
        if self.stage != Stage::Within || !self.give(thief, false) {
            let left_ns = self.remaining_ns();
            self.send(thief, Body::Refused { left_ns });
        }
    }

    /// A thief asks and sleeps.
    pub(super) fn lifeline_of(&mut self, thief: u32) {
        if self.stage == Stage::Within && self.give(thief, true) {
            return;
        }
        if !self.sleepers.contains(&thief) {
            self.sleepers.push_back(thief);
        }
    }
}
