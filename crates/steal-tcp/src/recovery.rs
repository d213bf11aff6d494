//! Recovery: the participant of phases that are recovered, as a process has it.
//!
//! Invariant: it hears what all others say from when they know that it is there.

use tidings_primitives::Instant as Time;
use tidings_recovery::{Ending, Message, Output, Participant};
use tidings_steal::view::View;

/// What a process has of phases that are recovered.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) participant: Option<Participant>,
    /// Whether what it wants to send waits until all have come.
    pub(crate) waits: bool,
    pub(crate) ending: Option<Ending>,
}

impl Recovery {
    /// A message has come.
    pub(crate) fn receive(&mut self, from: u32, message: Message, now: Time) {
        if let Some(participant) = &mut self.participant {
            participant.receive(from, message, now);
        }
    }

    /// A process is dead.
    pub(crate) fn died(&mut self, worker: u32, now: Time) {
        if let Some(participant) = &mut self.participant {
            participant.died(worker, now);
        }
    }

    /// Who is dead as it knows, if that is more than is known to who lives in this view.
    pub(crate) fn dead(&self, view: &View) -> Vec<u32> {
        let known = self.participant.as_ref().map(|participant| participant.worker().view());
        let known = known.filter(|known| known.live() != view.live());
        known.map_or_else(Vec::new, |known| known.dead().to_vec())
    }

    /// What is to be done next.
    pub(crate) fn output(&mut self) -> Option<Output> {
        self.participant.as_mut().filter(|_| !self.waits)?.poll_output()
    }
}
