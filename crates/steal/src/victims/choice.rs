//! What a selection of victims says: ask, pause, or sleep.

use tidings_primitives::Instant;

use crate::queue::Want;

/// What a thief does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Ask this worker.
    Ask {
        /// Whom.
        victim: u32,
        /// For how much.
        want: Want,
    },
    /// Choose again then.
    Pause(Instant),
    /// Have the neighbours send tasks, and choose again then, if ever.
    Sleep(Option<Instant>),
}

impl Choice {
    /// Ask for as much as the victim gives.
    pub(super) fn ask(victim: u32) -> Self {
        Self::Ask { victim, want: Want::HALF }
    }
}
