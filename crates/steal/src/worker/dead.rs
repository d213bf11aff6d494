//! Deaths: who is declared dead is dead for good, whoever declares it.
//!
//! A world tells each worker of each death, when it learns of it; messages carry what their senders
//! know, so workers agree on the dead as soon as they speak with each other. A worker that learns
//! that it is dead itself, since others could not reach it, stops.

use super::{Search, Stage, Worker};
use crate::message::{Body, Message};
use crate::output::{Ending, Output};

impl Worker {
    /// A worker was declared dead: what it says from now on does not count.
    pub fn died(&mut self, worker: u32) {
        self.learn(&[worker]);
    }

    pub(super) fn learn_from(&mut self, body: &Body) {
        if let Some(dead) = dead_of(body) {
            self.learn(dead);
        }
    }

    /// Some workers are dead, as far as that was not known.
    pub(super) fn learn(&mut self, dead: &[u32]) {
        if self.stage == Stage::Expelled {
            return;
        }
        if dead.contains(&self.me) {
            self.stage = Stage::Expelled;
            self.running = None;
            self.queue.clear();
            self.outputs.push_back(Output::PhaseDone(Ending::Expelled));
            return;
        }
        let mut any = false;
        for worker in dead {
            if self.view.remove(*worker) {
                any = true;
                self.forget(*worker);
            }
        }
        if any {
            self.guide = None;
            self.go_on();
        }
    }

    fn forget(&mut self, worker: u32) {
        self.census.died(worker, &self.view);
        self.sleepers.retain(|thief| *thief != worker);
        self.lifelines.remove(&worker);
        self.early.retain(|(from, _)| *from != worker);
        self.held.retain(|came| came.from != worker);
        if self.search == Search::Asked(worker) {
            self.search = Search::Ready;
        }
    }

    /// Goes on among those who live: with other neighbours, another parent, other children.
    fn go_on(&mut self) {
        match self.stage {
            Stage::Entering => {
                self.agreement =
                    self.agreement.as_ref().map(|agreed| agreed.died(self.me, &self.view));
                self.agree();
                self.say_the_end();
            }
            Stage::Within => {
                self.say_the_end();
                if matches!(self.search, Search::Asleep(_) | Search::Paused(_)) {
                    self.search = Search::Ready;
                }
            }
            Stage::Outside => self.say_the_end(),
            Stage::Expelled => {}
        }
    }

    /// The phase has ended, or the one before this one, and who is above or below now may not know
    /// it.
    fn say_the_end(&mut self) {
        let Some((phase, end)) = self.ended.clone() else { return };
        let near: Vec<u32> =
            self.view.parent(self.me).into_iter().chain(self.view.children(self.me)).collect();
        for to in near {
            let message = Message { phase, body: Body::End(end.clone()) };
            self.outputs.push_back(Output::Send { to, message });
        }
    }

    /// Whether the sender of what is counted knows the same dead. If it knows more, this worker
    /// does now; if it knows fewer, it is told.
    pub(super) fn same_view(&mut self, from: u32, body: &Body) -> bool {
        let Some(dead) = dead_of(body) else { return true };
        self.learn(dead);
        if self.stage == Stage::Expelled {
            return false;
        }
        let same = dead == self.view.dead();
        if !same {
            let known = self.view.dead().to_vec();
            self.send(from, Body::Dead(known));
        }
        same
    }
}

fn dead_of(body: &Body) -> Option<&[u32]> {
    match body {
        Body::Entered(said) => Some(&said.dead),
        Body::Seed(said) => Some(&said.dead),
        Body::Report(said) | Body::End(said) => Some(&said.dead),
        Body::Confirm(said) => Some(&said.dead),
        Body::Confirmed(said) => Some(&said.dead),
        Body::Dead(dead) => Some(dead),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tidings_primitives::Instant;

    use super::*;
    use crate::config::{Config, lifelines};
    use crate::message::{Counted, Sums};

    const NOW: Instant = Instant::EPOCH;

    fn within(me: u32, workers: u32) -> Worker {
        let mut worker = Worker::new(me, workers, &Config::new(lifelines(), 20), 1);
        worker.begin("phase", Vec::new(), NOW).unwrap();
        worker
    }

    fn end(dead: &[u32]) -> Message {
        let what = Sums { deaths: dead.len() as u64, ..Sums::default() };
        Message { phase: 1, body: Body::End(Counted { dead: dead.to_vec(), what }) }
    }

    /// To whom the worker sends the end of the first phase.
    fn told(worker: &mut Worker) -> Vec<u32> {
        let outputs = core::iter::from_fn(|| worker.poll_output());
        let is_end = |message: &Message| matches!(message.body, Body::End(_)) && message.phase == 1;
        let to = outputs.filter_map(|output| match output {
            Output::Send { to, message } if is_end(&message) => Some(to),
            _ => None,
        });
        to.collect()
    }

    /// The root died when some of its children had heard of the end. They had begun the next phase
    /// when they learnt of that, and told nobody; the new root waited for their reports.
    #[test]
    fn who_is_in_the_next_phase_tells_the_end_of_the_last() {
        let mut worker = within(2, 3);
        worker.receive(0, end(&[]), NOW);
        assert_eq!(told(&mut worker), []);
        worker.begin("phase", Vec::new(), NOW).unwrap();
        worker.died(0);
        assert_eq!(told(&mut worker), [1]);
    }

    /// News of the end that came from below stopped at the first who had not heard of it.
    #[test]
    fn where_a_worker_died_the_end_goes_up_as_well() {
        let mut worker = within(1, 12);
        worker.died(11);
        told(&mut worker);
        worker.receive(9, end(&[11]), NOW);
        assert_eq!(told(&mut worker), [9, 10, 0]);
        let mut worker = within(1, 12);
        worker.receive(0, end(&[]), NOW);
        assert_eq!(told(&mut worker), [9, 10, 11]);
    }
}
