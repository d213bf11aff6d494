//! The tasks of a worker: what runs next, what it spawns, and what follows it.

use tidings_primitives::Instant;

use super::{Running, Search, Stage, Worker};
use crate::finish::Then;
use crate::frame::{Frame, Scope};
use crate::message::Body;
use crate::output::SpawnError;
use crate::queue::Want;
use crate::trace::Event;
use crate::victims::Board;

/// The last such part of a list runs in the order of [`crate::queue::Queue::order`].
const LAST_PART: u64 = 16;

/// Above this sum of predictions the pace forgets half.
const PACE_NS: u64 = 1 << 36;

/// How a task ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// It is done.
    Nothing,
    /// Work first: its child runs at once, and the rest of it can be stolen.
    ChildFirst {
        /// The child.
        child: Frame,
        /// The rest.
        then: Frame,
    },
    /// It waits for a task and all that this spawns, however deep and wherever they run.
    Finish {
        /// The task.
        body: Frame,
        /// What follows.
        then: Frame,
    },
}

impl Worker {
    /// The task to be run; without one, the worker does what an idle worker has to.
    pub fn next_task(&mut self, now: Instant, board: &dyn Board) -> Option<Frame> {
        if self.stage != Stage::Within || self.running.is_some() {
            return None;
        }
        if self.script.is_none() && self.is_near_end(now) && self.queue.order() {
            self.note(now, Event::Ordered);
        }
        if self.waits() {
            return None;
        }
        let Some(frame) = self.queue.pop() else {
            self.has_nothing(now);
            if self.take_held(now) {
                return self.next_task(now, board);
            }
            self.search(now, board);
            return None;
        };
        self.search = Search::Ready;
        self.victims.busy();
        let listed = self.config.retain && frame.scope == Scope::LIST;
        self.running = Some(Running {
            scope: frame.scope,
            listed: listed.then(|| frame.clone()),
            predicted_ns: frame.work_ns,
        });
        self.follow();
        self.shed(now, board);
        Some(frame)
    }

    /// Whether what it has of a list takes a small part of the time until now.
    fn is_near_end(&self, now: Instant) -> bool {
        let elapsed_ns = now.saturating_since(self.began).as_nanos();
        self.listed && u128::from(LAST_PART.saturating_mul(self.queue.work_ns())) < elapsed_ns
    }

    /// Help first: the task that runs spawns another and goes on.
    ///
    /// # Errors
    /// If no task runs, the other exceeds a slot, or the worker [waits](Self::waits).
    pub fn spawn(&mut self, frame: Frame) -> Result<(), SpawnError> {
        self.fits(&frame).map_err(SpawnError::TooLarge)?;
        if self.waits() {
            return Err(SpawnError::Waits);
        }
        let Some(running) = &mut self.running else { return Err(SpawnError::OutsideTask) };
        let scope = self.finishes.scope_of_child(&mut running.scope);
        self.add(Frame { scope, ..frame });
        self.counters.spawned += 1;
        self.follow();
        self.serve();
        Ok(())
    }

    /// The task that ran took this long and ends so.
    ///
    /// # Errors
    /// If no task runs, what follows exceeds a slot, or the worker [waits](Self::waits).
    pub fn finished(&mut self, done: Done, took_ns: u64) -> Result<(), SpawnError> {
        if let Done::ChildFirst { child: first, then } | Done::Finish { body: first, then } = &done
        {
            self.fits(first).and_then(|()| self.fits(then)).map_err(SpawnError::TooLarge)?;
        }
        if self.waits() {
            return Err(SpawnError::Waits);
        }
        let Some(mut running) = self.running.take() else { return Err(SpawnError::OutsideTask) };
        if let Some(frame) = running.listed.take() {
            self.retention.ran(frame, took_ns);
        }
        self.measure(running.predicted_ns, took_ns);
        match done {
            Done::Nothing => self.leave(running.scope),
            Done::ChildFirst { child, then } => {
                let scope = self.finishes.scope_of_child(&mut running.scope);
                self.add(Frame { scope: rest(running.scope), ..then });
                self.add(Frame { scope, ..child });
                self.counters.spawned += 1;
            }
            Done::Finish { body, then } => {
                let then = Frame { scope: rest(running.scope), ..then };
                let scope = self.finishes.open(Then::Run(Box::new(then)));
                self.add(Frame { scope, ..body });
                self.counters.spawned += 1;
            }
        }
        self.census.gone(1);
        self.counters.executed += 1;
        self.follow();
        self.serve();
        Ok(())
    }

    pub(super) fn add(&mut self, frame: Frame) {
        self.census.made(1);
        self.listed = false;
        self.queue.push(frame);
    }

    fn measure(&mut self, predicted_ns: u64, took_ns: u64) {
        if predicted_ns == 0 {
            return;
        }
        self.predicted_ns = self.predicted_ns.saturating_add(predicted_ns);
        self.measured_ns = self.measured_ns.saturating_add(took_ns);
        if self.predicted_ns > PACE_NS {
            (self.predicted_ns, self.measured_ns) = (self.predicted_ns / 2, self.measured_ns / 2);
        }
    }

    /// A task with this scope is done.
    pub(super) fn leave(&mut self, scope: Scope) {
        let mut scope = scope;
        while scope.is_finish() && scope.home == self.me {
            match self.finishes.leave(scope.number) {
                None => return,
                Some(Then::Run(frame)) => return self.add(*frame),
                Some(Then::Leave(outer)) => scope = outer,
            }
        }
        if scope.is_finish() && self.view.lives(scope.home) {
            self.census.made(1);
            self.census.sent(scope.home, 1);
            self.send(scope.home, Body::Joined { number: scope.number });
        }
    }

    /// Sends tasks to thieves that sleep, as long as there is anything to give that is not to go
    /// where it went last time.
    pub(super) fn serve(&mut self) {
        while !self.sleepers.is_empty() && self.can_give() && !self.has_gifts_to_make() {
            let Some(thief) = self.sleepers.pop_front() else { return };
            self.give(thief, true, Want::HALF);
        }
    }

    pub(super) fn can_give(&self) -> bool {
        self.queue.can_give(&self.config.sharing, self.running.is_some())
    }

    /// Sends a thief its half, or what it wants at most; whether there was one.
    pub(super) fn give(&mut self, thief: u32, lifeline: bool, want: Want) -> bool {
        self.give_again(thief, lifeline, want, None)
    }

    /// The same, where it is a gift of the last phase of the name.
    pub(super) fn give_again(
        &mut self,
        thief: u32,
        lifeline: bool,
        want: Want,
        again: Option<u32>,
    ) -> bool {
        let (busy, want) = (self.running.is_some(), want.rounded());
        let frames = self.queue.give(&self.config.sharing, busy, want);
        if frames.is_empty() {
            return false;
        }
        self.note_step(Event::Gave { to: thief, want });
        let next = self.gifts.entry(thief).or_default();
        let number = core::mem::replace(next, next.wrapping_add(1));
        self.census.sent(thief, frames.len() as u64);
        let left_ns = self.remaining_ns();
        self.send(thief, Body::Given { lifeline, left_ns, number, again, frames });
        true
    }
}

/// The scope of what is left of a task: it is not one of the list a second time.
fn rest(scope: Scope) -> Scope {
    if scope == Scope::LIST { Scope::PHASE } else { scope }
}
