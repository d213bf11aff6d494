//! What a participant has its world do, how a phase ends, and what is refused.

use core::fmt;

use crate::message::Message;
use crate::plan::Place;

/// What the world is to do, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a message.
    Send {
        /// To this participant.
        to: u32,
        /// This.
        message: Message,
    },
    /// Return from the phase.
    Done(Ending),
}

/// How a phase ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Each block holds all that was declared, whoever died.
    Complete,
    /// Blocks are lost.
    Refused(Vec<Refusal>),
    /// The others consider this participant dead: it has to stop.
    Expelled,
}

/// A block that is lost, so that a phase cannot be completed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Refusal {
    /// The number of its array.
    pub place: Place,
    /// The name of its array.
    pub array: String,
    /// Whether there was a copy, which died as well.
    pub copied: bool,
    /// How many contributions of the phase are missing with it.
    pub missing: u64,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, array, copied, missing } = self;
        let who = if *copied {
            "its owner and its copy died"
        } else {
            "its owner died, and it has no copy"
        };
        write!(
            f,
            "block {} of array `{array}` is lost: {who}; missing is what it held before the phase, \
             and {missing} contributions of it: set the array to zero and compute it again",
            place.block
        )
    }
}

impl core::error::Error for Refusal {}

/// Why a phase cannot begin. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BeginError {
    /// A phase is running.
    WithinPhase,
    /// The others consider this participant dead.
    Expelled,
    /// The plan has more tasks than can be numbered.
    TooMany(u64),
}

impl fmt::Display for BeginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WithinPhase => f.write_str("a phase is running: wait for its end"),
            Self::Expelled => f.write_str("the others consider this worker dead: restart it"),
            Self::TooMany(tasks) => {
                write!(f, "{tasks} tasks, and a plan has at most {}", crate::plan::MAX_TASKS)
            }
        }
    }
}

impl core::error::Error for BeginError {}

/// Why a task cannot end so. Nothing has changed: the task runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FinishError {
    /// No task runs here, or its round has ended while it ran, as may happen where it was started
    /// again and not missed. What it adds is dropped; the world goes on with the next task.
    OutsideTask,
    /// The task has not declared that it adds to this block, or not so often.
    Undeclared {
        /// The task.
        task: u64,
        /// The block.
        place: Place,
    },
    /// What it adds is not as long as the block.
    Length {
        /// The block.
        place: Place,
        /// How many words were given.
        given: usize,
        /// How many the block has.
        words: usize,
    },
    /// The task declares more than a task may, or a block that no array has.
    Plan {
        /// The task.
        task: u64,
    },
}

impl fmt::Display for FinishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideTask => f.write_str("no task runs here, or its round has ended"),
            Self::Undeclared { task, place: Place { array, block } } => {
                write!(
                    f,
                    "task {task} adds to block {block} of array {array} and has not declared "
                )?;
                f.write_str("that: name the block in the outputs of the task")
            }
            Self::Length { place: Place { array, block }, given, words } => {
                write!(
                    f,
                    "block {block} of array {array} has {words} words, and {given} were given"
                )
            }
            Self::Plan { task } => {
                write!(
                    f,
                    "task {task} declares more than 255 outputs, or a block that no array has"
                )
            }
        }
    }
}

impl core::error::Error for FinishError {}

/// What one participant has done since it began; they only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Rounds that it entered.
    pub rounds: u64,
    /// Tasks that it started again.
    pub again: u64,
    /// Contributions that it was sent, or made to its own blocks, and added.
    pub applied: u64,
    /// Those that were there already and were dropped.
    pub dropped: u64,
    /// Blocks that it began again.
    pub begun_again: u64,
    /// Blocks that it sent to a new copy.
    pub copied: u64,
    /// Notices of tasks that moved.
    pub moved: u64,
    /// Messages that made no sense here, or came from the dead.
    pub ignored: u64,
}
