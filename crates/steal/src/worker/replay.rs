//! Traces and replay: a worker notes what does not follow from what it has, and can do it again.

use tidings_primitives::Instant;

use super::{Stage, Worker};
use crate::output::Output;
use crate::trace::{Cue, Diverged, Event, Script, Trace};

impl Worker {
    /// What it has done in the phase that it is in, or was in last.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// In the next phase it will do again what a trace says. All workers have to, with traces of
    /// one phase, and to begin with the same tasks.
    pub fn replay(&mut self, script: Script) {
        self.script = Some(script);
    }

    /// Whether the task that runs may neither spawn nor end before a message has come: only where
    /// the worker does again what it did.
    #[inline]
    pub fn waits(&self) -> bool {
        self.script.as_ref().is_some_and(|script| script.is_due(self.steps()))
    }

    pub(super) fn note(&mut self, now: Instant, event: Event) {
        let at_us = now.saturating_since(self.began).as_micros() as u64;
        self.trace.note(self.steps(), at_us, event);
    }

    /// Notes an event without a time of its own.
    pub(super) fn note_step(&mut self, event: Event) {
        self.trace.note(self.steps(), 0, event);
    }

    /// The phase begins: the tasks are as they were, and what was done at once is done.
    pub(super) fn start_script(&mut self) {
        let Some(script) = &self.script else { return };
        if script.tasks() != self.trace.tasks {
            return self.diverge(script.upcoming());
        }
        self.follow();
    }

    /// It has nothing to do. If it had something to do before, that is noted; if a script has more,
    /// it cannot be followed.
    pub(super) fn has_nothing(&mut self, now: Instant) {
        match self.script.as_ref().map(Script::upcoming) {
            None => {
                if !self.trace.is_idle() {
                    self.note(now, Event::Idle);
                    self.guided_idle();
                }
            }
            Some(None) => {}
            Some(event) => self.diverge(event),
        }
    }

    /// The steps of all phases: tasks taken from the queue, spawned and ended. They follow from
    /// what is counted anyway, so that a trace costs a task nothing.
    pub(super) fn steps_of_all(&self) -> u64 {
        let taken = self.counters.executed + u64::from(self.running.is_some());
        taken + self.counters.spawned + self.counters.executed
    }

    /// The steps of the phase.
    pub(super) fn steps(&self) -> u64 {
        self.steps_of_all().saturating_sub(self.steps_before)
    }

    /// Does what the script has at this step, as far as what it needs has come.
    #[inline]
    pub(super) fn follow(&mut self) {
        if self.script.is_some() {
            self.follow_script();
        } else if self.guide.is_some() {
            self.follow_guide();
        }
    }

    #[cold]
    fn follow_script(&mut self) {
        // What has come before it begins waits until then.
        while self.stage == Stage::Within {
            let step = self.steps();
            let Some(script) = &mut self.script else { return };
            let done = match script.cue(step) {
                Ok(Cue::Go | Cue::Wait) => return,
                Ok(cue) => self.perform_cue(cue),
                Err(event) => Err(event),
            };
            if let Err(event) = done {
                return self.diverge(Some(event));
            }
        }
    }

    fn perform_cue(&mut self, cue: Cue) -> Result<(), Event> {
        match cue {
            Cue::Go | Cue::Wait => {}
            Cue::Give(to, want) => {
                if !self.view.lives(to) || !self.give(to, true, want) {
                    return Err(Event::Gave { to, want });
                }
            }
            Cue::Take(from, number, frames) => {
                self.note_step(Event::Got { from, number });
                self.add_gift(from, frames);
            }
            Cue::Join(from, number) => {
                self.note_step(Event::Joined { number });
                self.join(from, number);
            }
            Cue::Order => {
                self.note_step(Event::Ordered);
                self.queue.order();
            }
            Cue::Idle => {
                if !self.is_idle() {
                    return Err(Event::Idle);
                }
                self.note_step(Event::Idle);
            }
        }
        Ok(())
    }

    fn diverge(&mut self, event: Option<Event>) {
        let diverged = Diverged { worker: self.me, step: self.steps(), event };
        self.script = None;
        self.stage = Stage::Expelled;
        self.running = None;
        self.queue.clear();
        self.outputs.push_back(Output::Diverged(diverged));
    }
}
