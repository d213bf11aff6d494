//! What a worker without tasks does: asks, pauses, or sleeps with its lifelines out.

use tidings_primitives::Instant;

use super::{Search, Stage, Worker};
use crate::message::{Body, Seeding};
use crate::queue::Want;
use crate::victims::{Board, Choice, List, Selection, Situation};

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
        if self.script.is_some() {
            // What comes is known.
            self.search = Search::Asleep(None);
        }
        match self.search {
            Search::Asked(_) => return,
            // What has arrived may have changed what is counted, if it made no task.
            Search::Asleep(None) => return self.settle(),
            Search::Paused(then) | Search::Asleep(Some(then)) if then > now => {
                return self.settle();
            }
            Search::Ready | Search::Paused(_) | Search::Asleep(Some(_)) => {}
        }
        if let Some(then) = self.awaits_gift(now) {
            self.search = Search::Paused(then);
            return self.settle();
        }
        let list = self.list(now);
        let situation = Situation { view: &self.view, board, now, list };
        match self.victims.choose(&situation) {
            Choice::Ask { victim, want } => {
                self.counters.attempts += 1;
                self.search = Search::Asked(victim);
                let want = Want { most_ns: self.at_own_pace(want.most_ns), ..want };
                self.send(victim, Body::Steal { want });
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

    fn list(&self, now: Instant) -> Option<List> {
        let is_retained = self.seeding == Seeding::Retained;
        self.listed.then(|| List { elapsed: now.saturating_since(self.began), is_retained })
    }

    /// A worker that has much more to do than others, most of which have nothing, gives them some
    /// unasked: it knows what it has, they do not.
    pub fn shed(&mut self, now: Instant, board: &dyn Board) {
        let is_free = self.stage == Stage::Within && self.script.is_none();
        if !is_free || !self.listed || !self.can_give() {
            return;
        }
        let own_ns = self.remaining_ns();
        let list = self.list(now);
        let situation = Situation { view: &self.view, board, now, list };
        let Some((thieves, want)) = self.victims.shed(&situation, own_ns) else { return };
        for thief in thieves {
            self.give(thief, true, want);
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
    pub(super) fn asked_by(&mut self, thief: u32, want: Want) {
        if self.stage != Stage::Within || !self.give(thief, false, want) {
            let left_ns = self.remaining_ns();
            self.send(thief, Body::Refused { left_ns });
        }
    }

    /// A thief asks and sleeps.
    pub(super) fn lifeline_of(&mut self, thief: u32) {
        if self.stage == Stage::Within && self.give(thief, true, Want::HALF) {
            return;
        }
        if !self.sleepers.contains(&thief) {
            self.sleepers.push_back(thief);
        }
    }
}
