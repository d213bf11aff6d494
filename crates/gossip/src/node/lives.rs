//! Lives: which incarnations are believed, and which of its own the node cannot exceed.
//!
//! Whoever has a higher incarnation is right, and there are 2²⁴ of them. So one that is far too
//! high, from a clock that was wrong once or from a holder of the key, would lock its node out: no
//! later one is left. A driver with a calendar names the highest that can be true
//! (`believe_up_to`); what exceeds it is refused, and what is held already is let go by
//! the passes that also forget the silent.
//!
//! Invariant: the bound only refuses. It makes no entry newer, and no two clocks are compared.

use core::time::Duration;

use tidings_primitives::time::Instant;

use crate::entry::Incarnation;

/// For how many units an incarnation of the node that it cannot exceed is shown after it was met.
const SHOWN_UNITS: u32 = 64;

/// What a node believes of incarnations.
pub(super) struct Lives {
    highest: Incarnation,
    /// The last news of this node that it could not exceed, and when it came.
    outranked: Option<(Incarnation, Instant)>,
    /// When an implausible incarnation was last reported.
    reported: Option<Instant>,
}

impl Lives {
    /// Every incarnation is believed.
    pub(super) fn new() -> Self {
        Self { highest: Incarnation::MAX, outranked: None, reported: None }
    }

    /// Whether an incarnation can be true.
    #[inline]
    pub(super) fn believes(&self, incarnation: Incarnation) -> bool {
        incarnation <= self.highest
    }

    /// The highest that can be.
    pub(super) fn highest(&self) -> Incarnation {
        self.highest
    }

    /// Says what can be.
    pub(super) fn believe_up_to(&mut self, highest: Incarnation) {
        self.highest = highest;
    }

    /// Notes news of this node that it cannot exceed.
    pub(super) fn outranked_by(&mut self, incarnation: Incarnation, now: Instant) {
        self.outranked = Some((incarnation, now));
    }

    /// The same, if it was met of late.
    pub(super) fn outranked(&self, now: Instant, unit: Duration) -> Option<Incarnation> {
        let recent =
            |&(_, at): &(Incarnation, Instant)| now.saturating_since(at) < unit * SHOWN_UNITS;
        self.outranked.filter(recent).map(|(incarnation, _)| incarnation)
    }

    /// Whether one more implausible incarnation is reported; at most one a unit is.
    pub(super) fn reports(&mut self, now: Instant, unit: Duration) -> bool {
        let due = self.reported.is_none_or(|at| now.saturating_since(at) >= unit);
        if due {
            self.reported = Some(now);
        }
        due
    }
}
