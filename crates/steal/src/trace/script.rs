//! Scripts: a trace that a worker follows, so that it does again what it did.
//!
//! The worker asks for no tasks. At each step it gives what it gave then, to whom it gave it, and
//! waits for what came then, until it comes. What comes too early is kept. So each worker runs the
//! same tasks in the same order, whatever the speeds of workers and messages are this time.
//!
//! A script ends with an error where it cannot be followed: the program, its input or what was
//! predicted is another.

use core::fmt;
use std::collections::{BTreeMap, VecDeque};

use super::{Event, Stamped};
use crate::frame::Frame;
use crate::queue::Want;

/// A worker cannot do what it did: from here on it does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diverged {
    /// Whose script it is.
    pub worker: u32,
    /// The steps that it has gone.
    pub step: u64,
    /// What it did then, or next; `None` if that was all.
    pub event: Option<Event>,
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, step, event } = self;
        write!(f, "worker {worker} cannot do again what it did at step {step}")?;
        if let Some(event) = event {
            write!(f, " ({event:?})")?;
        }
        f.write_str(": the trace is of another program, of another input or of other predictions")
    }
}

impl core::error::Error for Diverged {}

/// What a worker is to do, and what has come too early for it.
#[derive(Clone, Debug)]
pub struct Script {
    /// The hash of the tasks with which the worker began.
    tasks: u64,
    events: VecDeque<Stamped>,
    gifts: BTreeMap<(u32, u32), Vec<Frame>>,
    joined: BTreeMap<u32, Vec<u32>>,
}

/// What is to be done now.
#[derive(Debug)]
pub enum Cue {
    /// Give tasks to a thief that wants so much.
    Give(u32, Want),
    /// From this victim this gift has come.
    Take(u32, u32, Vec<Frame>),
    /// This worker has a task done that the finish of this number waits for.
    Join(u32, u32),
    /// Nothing is left: that has to be so.
    Idle,
    /// Order the queue.
    Order,
    /// Wait for a message.
    Wait,
    /// Go on with the next step.
    Go,
}

impl Script {
    /// One to be followed from the begin of a phase with tasks of this hash.
    pub fn new(tasks: u64, events: Vec<Stamped>) -> Self {
        Self { tasks, events: events.into(), gifts: BTreeMap::new(), joined: BTreeMap::new() }
    }

    /// The hash of the tasks with which the worker began.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Whether something has to be done after so many steps before the next.
    pub fn is_due(&self, step: u64) -> bool {
        self.events.front().is_some_and(|next| next.step <= step)
    }

    /// Tasks have come.
    pub fn came(&mut self, from: u32, number: u32, frames: Vec<Frame>) {
        self.gifts.insert((from, number), frames);
    }

    /// A worker has a task done that the finish of this number waits for.
    pub fn joined(&mut self, from: u32, number: u32) {
        self.joined.entry(number).or_default().push(from);
    }

    /// Who has a task done that the finish of this number waits for.
    fn heard_of(&mut self, number: u32) -> Option<u32> {
        self.joined.get_mut(&number)?.pop()
    }

    /// What is to be done after so many steps; the event is then over, if it can be.
    ///
    /// # Errors
    /// If it should have been done before.
    pub fn cue(&mut self, step: u64) -> Result<Cue, Event> {
        let Some(&Stamped { step: then, event, .. }) = self.events.front() else {
            return Ok(Cue::Go);
        };
        if then != step {
            return if then > step { Ok(Cue::Go) } else { Err(event) };
        }
        let cue = match event {
            Event::Gave { to, want } => Cue::Give(to, want),
            Event::Ordered => Cue::Order,
            Event::Idle => Cue::Idle,
            Event::Got { from, number } => match self.gifts.remove(&(from, number)) {
                Some(frames) => Cue::Take(from, number, frames),
                None => return Ok(Cue::Wait),
            },
            Event::Joined { number } => match self.heard_of(number) {
                Some(from) => Cue::Join(from, number),
                None => return Ok(Cue::Wait),
            },
        };
        self.events.pop_front();
        Ok(cue)
    }

    /// What comes next, if anything does.
    pub fn upcoming(&self) -> Option<Event> {
        self.events.front().map(|next| next.event)
    }
}
