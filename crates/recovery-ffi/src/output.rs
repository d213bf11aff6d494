//! What a participant has its program do, how phases end, and counters.

use core::ptr;

use tidings_recovery::{Counters, Ending, Output};

/// What is to be done.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsRecoverySays {
    /// Nothing.
    Nothing = 0,
    /// Send the message to the participant `to`.
    Send = 1,
    /// The phase is over: each block holds all that was declared, whoever died.
    Complete = 2,
    /// The phase is over: `lost` blocks are lost; `tidings_recovery_explain` names them.
    Refused = 3,
    /// The phase is over here: the others consider this participant dead.
    Expelled = 4,
}

/// What is to be done next.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsRecoveryOutput {
    /// What it says.
    pub says: TidingsRecoverySays,
    /// To whom the message goes.
    pub to: u32,
    /// The message, until the next call with this participant.
    pub message: *const u8,
    /// Its bytes.
    pub bytes: usize,
    /// Blocks that are lost.
    pub lost: u32,
}

impl TidingsRecoveryOutput {
    pub(crate) const NOTHING: Self =
        Self { says: TidingsRecoverySays::Nothing, to: 0, message: ptr::null(), bytes: 0, lost: 0 };

    /// An output, whose message becomes bytes of `message`, and whose refusals become `refusals`.
    pub(crate) fn of(output: Output, message: &mut Vec<u8>, refusals: &mut Vec<String>) -> Self {
        let says = match output {
            Output::Send { to, message: said } => {
                *message = said.encode();
                let (start, bytes) = (message.as_ptr(), message.len());
                let says = TidingsRecoverySays::Send;
                return Self { says, to, message: start, bytes, ..Self::NOTHING };
            }
            Output::Done(Ending::Complete) => TidingsRecoverySays::Complete,
            Output::Done(Ending::Expelled) => TidingsRecoverySays::Expelled,
            Output::Done(Ending::Refused(all)) => {
                *refusals = all.iter().map(ToString::to_string).collect();
                TidingsRecoverySays::Refused
            }
        };
        let lost = u32::try_from(refusals.len()).unwrap_or(u32::MAX);
        Self { says, lost, ..Self::NOTHING }
    }
}

/// What a participant has done since it was made.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TidingsRecoveryCounters {
    /// Tasks that it ran.
    pub executed: u64,
    /// Requests that brought tasks.
    pub steals: u64,
    /// Rounds that it entered.
    pub rounds: u64,
    /// Tasks that it started again.
    pub again: u64,
    /// Contributions to its blocks that it added.
    pub applied: u64,
    /// Those that were there already and were dropped.
    pub dropped: u64,
    /// Blocks that it began again.
    pub begun_again: u64,
    /// Blocks that it sent to a new copy.
    pub copied: u64,
}

impl TidingsRecoveryCounters {
    pub(crate) fn of(own: &Counters, worker: &tidings_steal::Counters) -> Self {
        Self {
            executed: worker.executed,
            steals: worker.steals,
            rounds: own.rounds,
            again: own.again,
            applied: own.applied,
            dropped: own.dropped,
            begun_again: own.begun_again,
            copied: own.copied,
        }
    }
}
