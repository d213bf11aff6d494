//! Room: who gives way where `max_nodes` members are known, and whether others have room for this
//! node.
//!
//! By seeds members are learnt, and the dead among them stay known until `forget_after`. So a
//! newcomer to a full membership gets the place of one that has left, or is dead; what was known
//! of that stays refused as of any that was forgotten. If all live, the newcomer is refused: it
//! gets answers to what it asks, but nobody sends it anything of his own, by which it knows.

use core::time::Duration;

use tidings_primitives::time::Instant;

/// Members that give way in a unit at most: for each of them all are looked through.
const MAX_GIVING_WAY: u32 = 16;
/// After how many units in which only answers came a node is not heeded, and how many answers.
const HEEDED_UNITS: u32 = 64;
const UNHEEDED_ANSWERS: u32 = 2;

/// What a node keeps about room, here and at others.
pub(super) struct Room {
    /// Members that gave way in this unit.
    given_way: u32,
    /// Whether it was reported in this unit that there is none.
    reported: bool,
    /// When a member last sent something that was no answer.
    heeded: Instant,
    /// Answers since.
    answers: u32,
}

impl Room {
    pub(super) fn new(now: Instant) -> Self {
        Self { given_way: 0, reported: false, heeded: now, answers: 0 }
    }

    /// A unit begins.
    pub(super) fn begin_round(&mut self) {
        (self.given_way, self.reported) = (0, false);
    }

    /// A member sent something; `answer`: as it does for everybody who asks.
    #[inline]
    pub(super) fn hear(&mut self, now: Instant, answer: bool) {
        if answer {
            self.answers = self.answers.saturating_add(1);
        } else {
            (self.heeded, self.answers) = (now, 0);
        }
    }

    /// Whether one more member may give way in this unit.
    pub(super) fn may_give_way(&self) -> bool {
        self.given_way < MAX_GIVING_WAY
    }

    /// A member gives way.
    pub(super) fn gives_way(&mut self) {
        self.given_way += 1;
    }

    /// Whether it is reported that there is none; once a unit it is.
    pub(super) fn reports(&mut self) -> bool {
        !core::mem::replace(&mut self.reported, true)
    }

    /// Whether members answered of late and sent nothing else.
    pub(super) fn is_unheeded(&self, now: Instant, unit: Duration) -> bool {
        let long = now.saturating_since(self.heeded) >= unit * HEEDED_UNITS;
        long && self.answers >= UNHEEDED_ANSWERS
    }
}
