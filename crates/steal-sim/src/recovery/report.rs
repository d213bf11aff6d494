//! What a run with recovery reports.

use tidings_recovery::{Counters, Ending};

/// A run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// How the last phase ended at each participant that lived to its end.
    pub endings: Vec<Ending>,
    /// From the first begin to the last end.
    pub makespan_ns: i64,
    /// What all tasks take at full speed, each once.
    pub work_ns: i64,
    /// Tasks that ran to their end, each time counted.
    pub executed: u64,
    /// Those that had done so before, in the same phase.
    pub again: u64,
    /// Tasks that had ended and of which something was nowhere when a worker had died.
    pub lost: u64,
    /// Tasks of the largest gift.
    pub largest_gift: u64,
    /// From the first death to the begin of the first task that had ended before, or was with the
    /// dead.
    pub recovered_ns: Option<i64>,
    /// When the last one died.
    pub died_ns: Option<i64>,
    /// Blocks that are not what they are to be.
    pub wrong: Vec<u32>,
    /// Blocks that are lost, and say so.
    pub refused: Vec<u32>,
    /// Messages, and their bytes.
    pub messages: u64,
    /// Bytes of all messages.
    pub bytes: u64,
    /// What participants that lived did, all together.
    pub counters: Counters,
    /// When each task first ended, in nanoseconds after the begin.
    pub ended_ns: Vec<Option<i64>>,
}

impl Report {
    /// Whether all that live say that all is there.
    pub fn is_complete(&self) -> bool {
        !self.endings.is_empty() && self.endings.iter().all(|ending| *ending == Ending::Complete)
    }

    /// Adds what another participant did.
    pub(super) fn count(&mut self, other: Counters) {
        let sum = &mut self.counters;
        for (to, from) in [
            (&mut sum.rounds, other.rounds),
            (&mut sum.again, other.again),
            (&mut sum.applied, other.applied),
            (&mut sum.dropped, other.dropped),
            (&mut sum.begun_again, other.begun_again),
            (&mut sum.copied, other.copied),
            (&mut sum.moved, other.moved),
            (&mut sum.ignored, other.ignored),
        ] {
            *to += from;
        }
    }
}
