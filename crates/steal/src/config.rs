//! What a worker is configured with: the same at all workers of a program.

use crate::frame::MAX_STATE_BYTES;
use crate::message::{MAX_FRAMES, MAX_MESSAGE_BYTES};
use crate::queue::{Half, Sharing};
use crate::victims::{BackOff, Knowledge, Selection};

/// A worker's configuration.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How victims are selected.
    pub selection: Selection,
    /// How queues are divided.
    pub sharing: Sharing,
    /// The most bytes of a task's state.
    pub slot_bytes: usize,
    /// Whether phases begin with what each worker ran in the phase of the same name before.
    pub retain: bool,
}

impl Config {
    /// The usual configuration for messages whose request and answer take this long.
    pub fn new(selection: Selection, round_trip_us: u64) -> Self {
        let sharing = Sharing {
            half: Half::Work,
            keep_ns: 1000 * round_trip_us,
            overhead_ns: 1000,
            most_tasks: 4096,
            most_bytes: 1 << 18,
        };
        Self { selection, sharing, slot_bytes: 256, retain: false }
    }

    /// The same within what messages can carry.
    #[must_use]
    pub(crate) fn bounded(self) -> Self {
        let slot_bytes = self.slot_bytes.min(MAX_STATE_BYTES);
        let most_tasks = self.sharing.most_tasks.clamp(1, MAX_FRAMES / 4);
        let most_bytes = self.sharing.most_bytes.min(MAX_MESSAGE_BYTES / 4);
        let sharing = Sharing { most_tasks, most_bytes, ..self.sharing };
        Self { sharing, slot_bytes, ..self }
    }
}

/// Random selection with pauses from one round trip to sixteen.
pub fn random(round_trip_us: u64) -> Selection {
    Selection::Random(BackOff { first_us: round_trip_us, most_us: 16 * round_trip_us })
}

/// The nearest of some at random, with the same pauses.
pub fn nearest(round_trip_us: u64) -> Selection {
    Selection::Nearest(BackOff { first_us: round_trip_us, most_us: 16 * round_trip_us })
}

/// Lifelines after two attempts.
pub fn lifelines() -> Selection {
    Selection::Lifelines { tries: 2 }
}

/// Selection by knowledge.
pub fn known(round_trip_us: u64) -> Selection {
    Selection::Known(Knowledge::new(round_trip_us))
}
