//! Traces: a schedule of stealing in some bytes a steal, and none a task.
//!
//! What a worker does between two messages follows from what it has: which task it runs next, and
//! which tasks a thief gets that wants so much. So it is enough to note what does not follow: when
//! it gave tasks to whom, when tasks came from whom, when a finish heard of a task elsewhere, and
//! when it ordered its queue. *When* is a count of steps: a task taken from the queue, one spawned,
//! one ended. A trace of all workers tells the whole schedule: it can be drawn ([`Tree`]), kept
//! ([`File`]) and run again ([`Script`]).
//!
//! Invariants: the events of a worker are in the order of their steps; for each gift there is one
//! arrival with its number, once the phase has ended and nobody has died. Times are of the worker's
//! own clock, for pictures alone.
//!
//! Source: Lifflander, Krishnamoorthy, Kalé, "Steal tree: low-overhead tracing of work stealing
//! schedulers", PLDI 2013. There a steal is noted by the level and step of a spawn, as one
//! continuation is stolen at a time; here it is a part of a queue, by predicted work, so the count
//! of all steps stands for both.

mod codec;
mod file;
mod script;
mod tree;

use crate::queue::Want;

pub use codec::{Torn, Trace};
pub use file::{File, FileError};
pub use script::{Cue, Diverged, Script};
pub use tree::{Inconsistent, Phase, Statistics, Tree};

/// What a worker did or met that does not follow from what it had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It gave tasks to a thief.
    Gave {
        /// The thief.
        to: u32,
        /// What the thief wanted.
        want: Want,
    },
    /// Tasks came.
    Got {
        /// The victim.
        from: u32,
        /// Which of the victim's gifts to this worker it was, from 0.
        number: u32,
    },
    /// A task elsewhere was done that a finish of this number waits for.
    Joined {
        /// The number.
        number: u32,
    },
    /// It had nothing left to do.
    Idle,
    /// It ordered its queue: the expensive tasks run first.
    Ordered,
}

/// An event, and when it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamped {
    /// The steps that the worker had gone in the phase.
    pub step: u64,
    /// Microseconds since the worker entered the phase. What has no time of its own has that
    /// of the event before.
    pub at_us: u64,
    /// What it was.
    pub event: Event,
}
