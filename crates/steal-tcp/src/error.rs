//! What can go wrong, with what to do.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;
use tidings_recovery::{BeginError, FinishError, Refusal as LostBlock};
use tidings_steal::{Lost, frame::TooLarge};

use crate::rules::SHOWN_WORDS;

/// Why a process was not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// It has not shown the key.
    #[error("another key; give all workers of a job the same")]
    Key,
    /// It is of another job.
    #[error("it is of another job; give all workers one name, and each job an address of its own")]
    Job,
    /// It has other rules.
    #[error("it has other rules; give all workers the same")]
    Rules,
    /// It counts other workers.
    #[error("it counts another number of workers; give all the same")]
    Workers,
    /// There is one of its number.
    #[error("a worker of this number is there; give each its own")]
    Taken,
    /// The workers have met.
    #[error("the workers have met without it; end this process")]
    Late,
}

impl Refusal {
    /// All, by their codes from 1 on.
    const ALL: [Self; 6] =
        [Self::Key, Self::Job, Self::Rules, Self::Workers, Self::Taken, Self::Late];

    /// As a byte, never 0.
    pub(crate) fn code(self) -> u8 {
        self as u8 + 1
    }

    /// That of a byte; `None` if there is none.
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).wrapping_sub(1)).copied()
    }
}

/// Why a connection was not made.
#[derive(Debug, Error)]
pub enum CallError {
    /// Nobody answers, or the connection ends.
    #[error("{at}: {source}; does worker {number} run, and may its port be reached?")]
    Io {
        /// Whom it called.
        number: u32,
        /// Where.
        at: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// What answers is no worker of this version.
    #[error("{at}: what answers is no worker, or one of another release")]
    Foreign {
        /// Where.
        at: SocketAddr,
    },
    /// It does not let this process in.
    #[error("{at}: refused: {refusal}")]
    Refused {
        /// Where.
        at: SocketAddr,
        /// Why.
        refusal: Refusal,
    },
}

/// Why a process has not joined. It is no worker.
#[derive(Debug, Error)]
pub enum JoinError {
    /// There is no such job.
    #[error(
        "worker {number} of {workers} with these rules: 1 to 256 workers, numbers below that, \
         tasks of at most 4,096 bytes, a silence of three beats or more"
    )]
    Rules {
        /// Which it was to be.
        number: u32,
        /// Of how many.
        workers: u32,
    },
    /// The system refuses.
    #[error("listening for workers: {0}")]
    Io(#[from] io::Error),
    /// Another worker cannot be reached, or does not let this one in.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Others have not joined.
    #[error("workers {missing:?} have not joined after {patience:?}")]
    Alone {
        /// Who.
        missing: Vec<u32>,
        /// How long this one waited.
        patience: Duration,
    },
    /// Others have ended while all joined.
    #[error("worker {number} has ended before all had joined")]
    Ended {
        /// One of them.
        number: u32,
    },
    /// They have not met.
    #[error(transparent)]
    Phase(#[from] PhaseError),
}

/// Why a task was not added. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SpawnError {
    /// The phase has no such function.
    #[error("a task of function {function}, and the phase has {functions}")]
    Function {
        /// That of the task.
        function: u16,
        /// How many the phase has.
        functions: usize,
    },
    /// Its bytes exceed a slot.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Why a phase, or another meeting of all workers, has not come to its end.
#[derive(Debug, Error)]
pub enum PhaseError {
    /// A task could not end as it wanted to, as what follows it cannot run. All others ran.
    #[error("a task of function {function} ended with one that cannot run: {source}")]
    Rest {
        /// The function of the task.
        function: u16,
        /// What is wrong with what follows.
        source: SpawnError,
    },
    /// A task of the list cannot run. The phase was not entered, and can be.
    #[error("task {at} of the list: {source}")]
    List {
        /// Its place.
        at: usize,
        /// What is wrong with it.
        source: SpawnError,
    },
    /// Workers have died: what they had, or had not shown yet, is missing. All that was left ran,
    /// and the others can go on.
    #[error("{0}")]
    Lost(Lost),
    /// Blocks of arrays are lost with those who had them, and their phase cannot be completed. All
    /// who live say so.
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Refused(Vec<LostBlock>),
    /// Phases are not recovered: nobody has said how.
    #[error("phases are not recovered: call `recover_by` at all workers first")]
    NoRecovery,
    /// A phase that is recovered cannot begin.
    #[error("{0}")]
    Begin(BeginError),
    /// A task has added what it had not declared. This process takes part no more: others run the
    /// task again.
    #[error("{0}")]
    Finish(FinishError),
    /// An array cannot be made: blocks of at most 2^17 words, 2^24 blocks of all together.
    #[error("array `{name}`: blocks have at most 2^17 words, and all arrays together 2^24 blocks")]
    Array {
        /// Its name.
        name: String,
    },
    /// A block that was to be read is lost with those who had it.
    #[error("block {block} of the array of number {array} is lost: compute it again")]
    LostBlock {
        /// The number of the array.
        array: u16,
        /// That of the block.
        block: u32,
    },
    /// There is no such block.
    #[error("there is no block {block} of an array of number {array}")]
    Block {
        /// The number of the array.
        array: u16,
        /// That of the block.
        block: u32,
    },
    /// Some workers have not come. This one takes part no more.
    #[error("workers {missing:?} have not come within {patience:?}; all have to enter a phase")]
    Alone {
        /// Who, as far as is known here.
        missing: Vec<u32>,
        /// How long this one waited.
        patience: Duration,
    },
    /// Workers have come for different things. None takes part any more.
    #[error(
        "worker {other} has come for another phase, or with other functions: all have to \
         enter the same ones, in the same order"
    )]
    Different {
        /// One of them.
        other: u32,
    },
    /// The others consider this process dead, since they could not reach it: what it does counts no
    /// more.
    #[error(
        "the others consider this worker dead, as it was stopped or cut off: end the process; \
         what it has found does not count"
    )]
    Expelled,
    /// This process hears nothing of half of the others or more: it is cut off itself, or they are.
    /// It takes part no more, as they may go on without it.
    #[error(
        "nothing was heard of workers {silent:?} for {silence:?}, so this worker may be cut off \
         itself: end the process, and look after the network"
    )]
    CutOff {
        /// Who was not heard.
        silent: Vec<u32>,
        /// For how long.
        silence: Duration,
    },
    /// The system refuses.
    #[error("waiting for messages: {0}")]
    Io(#[from] io::Error),
    /// An error before this one has ended it.
    #[error("this worker takes part no more since an earlier error: end the process")]
    Ended,
    /// More was to be shown than others take.
    #[error("{words} words to show, and others take {SHOWN_WORDS}")]
    TooManyWords {
        /// How many.
        words: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_come_back_from_their_codes() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::of_code(refusal.code()), Some(refusal));
        }
        assert_eq!((Refusal::of_code(0), Refusal::of_code(7)), (None, None));
    }
}
