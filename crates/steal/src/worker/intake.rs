//! What arrives at a worker.

use tidings_primitives::Instant;

use super::came::Came;
use super::{Search, Stage, Worker};
use crate::frame::{Frame, Scope};
use crate::message::{Body, Message};
use crate::output::Output;
use crate::trace::Event;

impl Worker {
    /// Takes a message in.
    pub fn receive(&mut self, from: u32, message: Message, now: Instant) {
        if !self.view.lives(from) || from == self.me || self.stage == Stage::Expelled {
            self.counters.ignored += 1;
        } else if message.phase == self.phase && self.stage != Stage::Outside {
            self.take(from, message.body, now);
        } else if message.phase == self.phase.wrapping_add(1) {
            self.keep(from, message);
        } else {
            self.answer_late(from, &message);
        }
    }

    /// Keeps what is of the next phase. A worker that is there sends a message of each kind at
    /// most, so more than some for each are not honest; but it may give unasked again and again,
    /// and what it gives would be lost.
    fn keep(&mut self, from: u32, message: Message) {
        let gives = matches!(message.body, Body::Given { .. });
        if gives || self.early.len() < 8 * self.view.workers() as usize {
            self.early.push_back((from, message));
        } else {
            self.counters.ignored += 1;
        }
    }

    /// Answers one who does not know yet that the phase has ended.
    fn answer_late(&mut self, from: u32, message: &Message) {
        let phase = message.phase;
        let Some(end) = self.ended.as_ref().filter(|(ended, _)| *ended == phase) else {
            self.counters.ignored += 1;
            return;
        };
        let waits = matches!(
            message.body,
            Body::Report(_) | Body::Confirm(_) | Body::Confirmed(_) | Body::Entered(_)
        );
        if waits {
            let message = Message { phase, body: Body::End(end.1.clone()) };
            self.outputs.push_back(Output::Send { to: from, message });
        }
        self.learn_from(&message.body);
    }

    fn take(&mut self, from: u32, body: Body, now: Instant) {
        match body {
            Body::Steal { want } => self.asked_by(from, want),
            Body::Lifeline => self.lifeline_of(from),
            Body::Given { lifeline, left_ns, number, again, frames } => {
                self.answered(from, lifeline, left_ns, now);
                self.take_gift(Came { from, number, again, frames }, now);
            }
            Body::Refused { left_ns } => {
                if self.search == Search::Asked(from) {
                    self.counters.refused += 1;
                    self.victims.refused(from, left_ns, now);
                    self.search = Search::Ready;
                }
            }
            Body::Joined { number } => self.take_joined(from, number, now),
            Body::Dead(dead) => self.learn(&dead),
            Body::Entered(_)
            | Body::Seed(_)
            | Body::Report(_)
            | Body::Confirm(_)
            | Body::Confirmed(_)
            | Body::End(_) => self.take_counted(from, body),
        }
    }

    /// A victim has answered, or a neighbour has sent something.
    fn answered(&mut self, from: u32, lifeline: bool, left_ns: u64, now: Instant) {
        self.victims.given(from, left_ns, now);
        if lifeline {
            self.counters.pushed += 1;
            self.lifelines.remove(&from);
        }
        match self.search {
            Search::Asked(victim) if victim == from && !lifeline => {
                self.counters.steals += 1;
                self.search = Search::Ready;
            }
            Search::Asked(_) => {}
            _ => self.search = Search::Ready,
        }
    }

    /// Tasks have come: they are of its queue now, or when its script has it so, or when it has
    /// ended what it had when they came last time.
    fn take_gift(&mut self, came: Came, now: Instant) {
        if let Some(script) = &mut self.script {
            script.came(came.from, came.number, came.frames);
            return self.follow();
        }
        if self.holds(&came) {
            return self.held.push_back(came);
        }
        self.take_now(came, now);
    }

    /// Whether what has come waits until the worker has nothing: where tasks spawn and the next
    /// phase is to go as this one, what it runs of one gift is apart from what it runs of another.
    fn holds(&self, came: &Came) -> bool {
        let spawned = came.frames.iter().any(|frame| frame.scope != Scope::LIST);
        self.config.retain && spawned && self.retention.may_guide() && !self.is_idle()
    }

    pub(super) fn take_now(&mut self, came: Came, now: Instant) {
        let again = came.gift();
        let Came { from, number, frames, .. } = came;
        self.note(now, Event::Got { from, number });
        self.guided_gift(again);
        self.add_gift(from, frames);
        self.follow();
        self.serve();
    }

    pub(super) fn add_gift(&mut self, from: u32, frames: Vec<Frame>) {
        self.census.received(from, frames.len() as u64);
        self.counters.tasks_in += frames.len() as u64;
        self.listed &= frames.iter().all(|frame| frame.scope == Scope::LIST);
        self.queue.extend(frames);
    }

    fn take_joined(&mut self, from: u32, number: u32, now: Instant) {
        if let Some(script) = &mut self.script {
            script.joined(from, number);
            return self.follow();
        }
        self.note(now, Event::Joined { number });
        self.join(from, number);
        self.serve();
    }

    pub(super) fn join(&mut self, from: u32, number: u32) {
        self.census.received(from, 1);
        self.leave(Scope { home: self.me, number });
        self.census.gone(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, lifelines};
    use crate::victims::NoBoard;
    use crate::worker::Done;

    /// A worker that had much gave some unasked to one that had not begun yet, each time it looked;
    /// that one kept the first sixteen gifts, and the phase never ended.
    #[test]
    fn what_is_given_before_it_begins_is_not_lost() {
        let mut worker = Worker::new(1, 2, &Config::new(lifelines(), 20), 1);
        for number in 0..100 {
            let frames = vec![Frame::new(0, 0, &[]).unwrap()];
            let body = Body::Given { lifeline: true, left_ns: 0, number, again: None, frames };
            worker.receive(0, Message { phase: 1, body }, Instant::EPOCH);
        }
        worker.begin("phase", Vec::new(), Instant::EPOCH).unwrap();
        for _ in 0..100 {
            assert!(worker.next_task(Instant::EPOCH, &NoBoard).is_some());
            worker.finished(Done::Nothing, 5).unwrap();
        }
        assert_eq!((worker.counters().executed, worker.counters().ignored), (100, 0));
    }
}
