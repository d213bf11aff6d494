//! What a worker has its world do, and what can go wrong when the world asks it for something.

use core::fmt;

use crate::frame::TooLarge;
use crate::message::{Message, Seeding};
use crate::trace::Diverged;

/// What the world is to do, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a message.
    Send {
        /// To this worker.
        to: u32,
        /// This.
        message: Message,
    },
    /// Nothing: this is what the phase begins with.
    Seeded(Seeding),
    /// Return from the phase.
    PhaseDone(Ending),
    /// Stop: the worker cannot do again what it did. The phase does not end.
    Diverged(Diverged),
}

/// How a phase ended, the same at all workers that live.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All tasks ran, each once.
    Complete,
    /// Workers died: what they had is missing. The rest ran.
    Lost(Lost),
    /// The others consider this worker dead: it has to stop.
    Expelled,
}

/// What is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Who has died since the program began. What they had been given by the program is missing
    /// as far as others have not run it.
    pub workers: Vec<u32>,
    /// Tasks and ends of tasks that others sent them; they may have run.
    pub sent: u64,
    /// Finishes that waited for what is missing: what follows them did not run.
    pub finishes: u64,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, sent, finishes } = self;
        write!(
            f,
            "workers {workers:?} died: missing is what they were given, up to {sent} tasks "
        )?;
        write!(f, "that they were sent, and what follows {finishes} finishes")
    }
}

/// Why a phase cannot begin. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeginError {
    /// A task exceeds a slot.
    TooLarge(TooLarge),
    /// A phase is running.
    WithinPhase,
    /// The others consider this worker dead.
    Expelled,
}

/// Why a task cannot be spawned, or end so. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpawnError {
    /// It exceeds a slot.
    TooLarge(TooLarge),
    /// No task runs here that could spawn it.
    OutsideTask,
    /// The worker does again what it did, and something has to come first: take in what arrives,
    /// and try again.
    Waits,
}

impl fmt::Display for BeginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(error) => error.fmt(f),
            Self::WithinPhase => f.write_str("a phase is running: wait for its end"),
            Self::Expelled => f.write_str("the others consider this worker dead: restart it"),
        }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(error) => error.fmt(f),
            Self::OutsideTask => f.write_str("no task runs here: spawn within one of a phase"),
            Self::Waits => f.write_str("a message has to come first: receive, and try again"),
        }
    }
}

impl core::error::Error for BeginError {}
impl core::error::Error for SpawnError {}
