//! What a selection of victims says: ask, pause, or sleep.

use tidings_primitives::Instant;

/// What a thief does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Ask this worker.
    Ask(u32),
    /// Choose again then.
    Pause(Instant),
    /// Have the neighbours send tasks, and choose again then, if ever.
    Sleep(Option<Instant>),
}
