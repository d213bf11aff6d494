//! Recovery: the participant of phases that are recovered, as a process has it.
//!
//! Invariant: it hears what all others say from when they know that it is there.

use tidings_primitives::Instant as Time;
use tidings_recovery::{Contribution, Ending, Message, Output, Participant, Place};
use tidings_steal::view::View;

use crate::error::PhaseError;
use crate::letter::Held;

/// What a process has of phases that are recovered.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) participant: Option<Participant>,
    /// Whether what it wants to send waits until all have come.
    pub(crate) waits: bool,
    pub(crate) ending: Option<Ending>,
    /// How many blocks this process has asked for.
    pub(crate) asked: u32,
    /// A block that a task could not read.
    pub(crate) trouble: Option<PhaseError>,
    /// The answer to the last question, if it has come.
    pub(crate) answer: Option<Held>,
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

    /// What this process knows of a block.
    pub(crate) fn held(&self, place: Place) -> Held {
        match self.participant.as_ref().map(|participant| participant.block(place)) {
            Some(Ok(Some(words))) => Held::Words(words.to_vec()),
            Some(Err(_)) => Held::Lost,
            Some(Ok(None)) | None => Held::Elsewhere,
        }
    }

    /// Another one has answered.
    pub(crate) fn answered(&mut self, number: u32, held: Held) {
        if number == self.asked {
            self.answer = Some(held);
        }
    }

    /// What a task adds that could not read a block that is lost: nothing, as the phase is refused
    /// by who has lost it. Any other error is one of this process.
    pub(crate) fn lost_to(&mut self, error: PhaseError) -> Result<Vec<Contribution>, PhaseError> {
        if matches!(error, PhaseError::LostBlock { .. }) {
            self.trouble = Some(error);
            return Ok(Vec::new());
        }
        Err(error)
    }

    /// What is to be done next.
    pub(crate) fn output(&mut self) -> Option<Output> {
        self.participant.as_mut().filter(|_| !self.waits)?.poll_output()
    }
}
