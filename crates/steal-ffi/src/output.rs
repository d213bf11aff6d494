//! What a worker has its program do, how phases begin and end, and counters.

use core::ptr;

use tidings_steal::message::Body;
use tidings_steal::{Counters, Diverged, Ending, Output, Seeding};

/// What an output says.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsStealSays {
    /// There is nothing to do.
    Nothing = 0,
    /// Send `bytes` bytes of `message` to worker `to`.
    Send = 1,
    /// The phase has begun, with what `seeding` says.
    Seeded = 2,
    /// The phase has ended: each task ran once.
    Complete = 3,
    /// The phase has ended without what `lost_workers` workers had, of which `lost_sent` tasks came
    /// from others, and without what follows `lost_finishes` finishes.
    Lost = 4,
    /// The others consider this worker dead: it has to stop.
    Expelled = 5,
    /// After `step` steps the worker cannot do again what a trace says: the program, its input or
    /// its predictions are others. It has to stop, and others may wait for it.
    Diverged = 6,
}

/// What a phase begins with, and why.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsStealSeeding {
    /// What each worker ran in the phase of this name before.
    Retained = 0,
    /// What each was given: retention was not asked for.
    Given = 1,
    /// What each was given: there was no phase of this name before.
    First = 2,
    /// What each was given: other workers took part then.
    OtherWorkers = 3,
    /// What each was given: there were more tasks then, or fewer.
    OtherNumber = 4,
    /// What each was given: there were as many tasks then, but others.
    OtherTasks = 5,
}

impl From<Seeding> for TidingsStealSeeding {
    fn from(seeding: Seeding) -> Self {
        match seeding {
            Seeding::Retained => Self::Retained,
            Seeding::Given => Self::Given,
            Seeding::First => Self::First,
            Seeding::OtherWorkers => Self::OtherWorkers,
            Seeding::OtherNumber => Self::OtherNumber,
            Seeding::OtherTasks => Self::OtherTasks,
        }
    }
}

/// What a worker has its program do. What does not belong to what it says is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsStealOutput {
    /// What it says.
    pub says: TidingsStealSays,
    /// With what the phase begins.
    pub seeding: TidingsStealSeeding,
    /// To whom the message goes.
    pub to: u32,
    /// Whether the message asks for tasks. Where the program has shelves, these may lie on that of
    /// worker `to`: then it does not send the message, and gives what lay there to
    /// `tidings_steal_worker_receive` as that worker's.
    pub asks: bool,
    /// The message, until the next call with this worker.
    pub message: *const u8,
    /// Its bytes.
    pub bytes: usize,
    /// Workers that have died since the program began.
    pub lost_workers: u32,
    /// Tasks and ends of tasks that others sent to those; they may have run.
    pub lost_sent: u64,
    /// Finishes that waited for what is missing.
    pub lost_finishes: u64,
    /// Tasks that were taken, spawned and ended, counted together.
    pub step: u64,
}

impl TidingsStealOutput {
    pub(crate) const NOTHING: Self = Self {
        says: TidingsStealSays::Nothing,
        seeding: TidingsStealSeeding::Given,
        to: 0,
        asks: false,
        message: ptr::null(),
        bytes: 0,
        lost_workers: 0,
        lost_sent: 0,
        lost_finishes: 0,
        step: 0,
    };

    /// An output, whose message becomes bytes of `message`.
    pub(crate) fn of(output: &Output, message: &mut Vec<u8>) -> Self {
        match output {
            Output::Send { to, message: said } => {
                said.encode_to(message);
                let (start, bytes) = (message.as_ptr(), message.len());
                let (says, asks) =
                    (TidingsStealSays::Send, matches!(said.body, Body::Steal { .. }));
                Self { says, to: *to, asks, message: start, bytes, ..Self::NOTHING }
            }
            Output::Seeded(seeding) => {
                let (says, seeding) = (TidingsStealSays::Seeded, (*seeding).into());
                Self { says, seeding, ..Self::NOTHING }
            }
            Output::PhaseDone(ending) => Self::ending(ending),
            Output::Diverged(Diverged { step, .. }) => {
                Self { says: TidingsStealSays::Diverged, step: *step, ..Self::NOTHING }
            }
        }
    }

    fn ending(ending: &Ending) -> Self {
        match ending {
            Ending::Complete => Self { says: TidingsStealSays::Complete, ..Self::NOTHING },
            Ending::Expelled => Self { says: TidingsStealSays::Expelled, ..Self::NOTHING },
            Ending::Lost(lost) => Self {
                says: TidingsStealSays::Lost,
                lost_workers: u32::try_from(lost.workers.len()).unwrap_or(u32::MAX),
                lost_sent: lost.sent,
                lost_finishes: lost.finishes,
                ..Self::NOTHING
            },
        }
    }
}

/// What a worker has done since it was made.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TidingsStealCounters {
    /// Tasks that it ran, each continuation counted.
    pub executed: u64,
    /// Tasks that it spawned.
    pub spawned: u64,
    /// Requests that it made as a thief.
    pub attempts: u64,
    /// Those that brought tasks.
    pub steals: u64,
    /// Those that did not.
    pub refused: u64,
    /// Times that a neighbour sent it tasks.
    pub pushed: u64,
    /// Tasks that came, by request or not.
    pub tasks_in: u64,
    /// Times that it asked a neighbour to send tasks.
    pub lifelines: u64,
}

impl From<Counters> for TidingsStealCounters {
    fn from(counters: Counters) -> Self {
        Self {
            executed: counters.executed,
            spawned: counters.spawned,
            attempts: counters.attempts,
            steals: counters.steals,
            refused: counters.refused,
            pushed: counters.pushed,
            tasks_in: counters.tasks_in,
            lifelines: counters.lifelines,
        }
    }
}
