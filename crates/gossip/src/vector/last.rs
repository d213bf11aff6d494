//! The last news of those that are gone: what their entry was before a farewell or a tombstone.
//!
//! A node that died is asked after most: what did it say last, and when? The stamp of a tombstone
//! is made by others and its sequence is no round of the node, so the true one is kept beside it,
//! with how much older that news was. The payload stays where it lies.
//!
//! Invariants: only what was held here is kept, of the same life, and the first that ended it
//! keeps it: a farewell behind a tombstone changes nothing. What is not known is said to be so.

use core::time::Duration;

/// Microseconds in the unit of [`Last::behind_ms`].
const MILLISECOND_MICROS: u64 = 1_000;

/// What came before the last stamp of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Last {
    /// Its sequence and 1; 0 if nothing of that life was held.
    sequence_above: u32,
    /// How much earlier than the farewell or tombstone it was made, at most 49 days.
    behind_ms: u32,
}

impl Last {
    /// News that was made `behind` before what ended its life.
    pub(super) fn of(sequence: u32, behind: Duration) -> Self {
        let behind_ms = behind.as_micros() / u128::from(MILLISECOND_MICROS);
        Self { sequence_above: sequence + 1, behind_ms: behind_ms.try_into().unwrap_or(u32::MAX) }
    }

    /// The sequence of the last news; `None` if none was held.
    pub fn sequence(self) -> Option<u32> {
        self.sequence_above.checked_sub(1)
    }

    /// How much older than the entry the news is.
    pub fn behind(self) -> Option<Duration> {
        self.sequence().map(|_| Duration::from_millis(u64::from(self.behind_ms)))
    }
}
