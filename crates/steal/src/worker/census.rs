//! How a worker takes part in what all agree on: what to begin with, and that nothing is left.

use super::{Search, Stage, Worker};
use crate::census::Step;
use crate::message::{Body, Counted, Seeding, Sums};
use crate::output::{Ending, Lost, Output};
use crate::retention::{Agreed, Agreement, hash_of};
use crate::trace::Trace;

impl Worker {
    /// A message that is counted among those who live: it counts if both sides know the same dead.
    pub(super) fn take_counted(&mut self, from: u32, body: Body) {
        if let Body::End(end) = body {
            self.learn(&end.dead);
            return self.end(&end);
        }
        if !self.same_view(from, &body) {
            return;
        }
        match body {
            Body::Entered(said) => {
                if self.stage == Stage::Within {
                    let said = self.counted(self.seeding);
                    return self.send(from, Body::Seed(said));
                }
                if let Some(agreement) = &mut self.agreement {
                    agreement.entered(from, said.what);
                }
                self.agree();
            }
            Body::Seed(said) if self.stage == Stage::Entering => self.seed(said.what),
            Body::Report(said) => self.census.report(from, said.what),
            Body::Confirm(said) => self.census.confirm(said.what, self.finishes.waiting()),
            Body::Confirmed(said) => {
                let (round, sums) = said.what;
                self.census.confirmed(from, round, sums, self.finishes.waiting());
            }
            _ => {}
        }
        self.perform();
        self.settle_again();
    }

    /// Tells the parent, or all, if all below have entered.
    pub(super) fn agree(&mut self) {
        match self.agreement.as_ref().and_then(Agreement::conclude) {
            Some(Agreed::Tell(parent, lists)) => {
                let said = self.counted(lists);
                self.send(parent, Body::Entered(said));
            }
            Some(Agreed::Decide(seeding)) => self.seed(seeding),
            None => {}
        }
    }

    /// Begins with what was decided, and passes it on.
    pub(super) fn seed(&mut self, seeding: Seeding) {
        if self.agreement.take().is_some() {
            let children: Vec<u32> = self.view.children(self.me).collect();
            for child in children {
                let said = self.counted(seeding);
                self.send(child, Body::Seed(said));
            }
        }
        let given = core::mem::take(&mut self.given);
        let guide = self.retention.guide();
        let kept = if seeding == Seeding::Retained { self.retention.kept() } else { given };
        self.begin_guided(guide, &kept);
        self.seeding = seeding;
        self.stage = Stage::Within;
        self.trace = Trace::new(hash_of(&kept));
        self.census.made(kept.len() as u64);
        for task in kept {
            self.queue.push(task);
        }
        self.outputs.push_back(Output::Seeded(seeding));
        self.start_script();
        self.follow();
        self.serve();
    }

    /// The worker has nothing to do: the census may have something to say.
    pub(super) fn settle(&mut self) {
        if self.is_idle() {
            self.census.idle(self.finishes.waiting());
            self.perform();
        }
    }

    /// The same, where a reply is still expected only if that was so before.
    pub(super) fn settle_again(&mut self) {
        if matches!(self.search, Search::Paused(_) | Search::Asleep(_)) {
            self.settle();
        }
    }

    fn perform(&mut self) {
        for step in self.census.steps() {
            match step {
                Step::Report(parent, sums) => {
                    let said = self.counted(sums);
                    self.send(parent, Body::Report(said));
                }
                Step::Confirm(child, round) => {
                    self.counters.rounds += 1;
                    let said = self.counted(round);
                    self.send(child, Body::Confirm(said));
                }
                Step::Confirmed(parent, round, sums) => {
                    let said = self.counted((round, sums));
                    self.send(parent, Body::Confirmed(said));
                }
                Step::End(sums) => {
                    let end = self.counted(sums);
                    return self.end(&end);
                }
            }
        }
    }

    /// The phase has ended.
    fn end(&mut self, end: &Counted<Sums>) {
        if self.stage != Stage::Within {
            return;
        }
        self.stage = Stage::Outside;
        // Where a worker has died, the news may have come from below, and not yet to who is above.
        let parent = self.view.parent(self.me).filter(|_| !self.view.dead().is_empty());
        let near: Vec<u32> = self.view.children(self.me).chain(parent).collect();
        for to in near {
            self.send(to, Body::End(end.clone()));
        }
        self.ended = Some((self.phase, end.clone()));
        let sums = end.what;
        let ending = if sums.deaths == 0 {
            let guide = self.next_guide();
            self.retention.complete(self.view.live(), guide);
            Ending::Complete
        } else {
            self.retention.abandon();
            let (sent, finishes) = (sums.lost, sums.waiting);
            Ending::Lost(Lost { workers: end.dead.clone(), sent, finishes })
        };
        (self.script, self.guide) = (None, None);
        self.running = None;
        self.held.clear();
        self.queue.clear();
        self.finishes.clear();
        self.sleepers.clear();
        self.lifelines.clear();
        self.outputs.push_back(Output::PhaseDone(ending));
    }
}
