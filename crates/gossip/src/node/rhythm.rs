//! The rhythm: when a node's rounds begin, and when its strategy looks in between.

use core::time::Duration;

use tidings_primitives::time::{Instant, micros};

use crate::dissemination::layout::next_look_micros;

/// An instant that no clock reaches.
pub(super) const NEVER: Instant = Instant::from_micros(i64::MAX);

/// When what is due.
pub(super) struct Rhythm {
    unit: Duration,
    next_round: Instant,
    /// When the present round was due.
    round_start: Instant,
    /// When the strategy looks again before the next round; far ahead if it does not.
    next_look: Instant,
    /// What the wall clock shows beyond the driver's, in microseconds, if it is known.
    wall_offset: Option<i64>,
}

impl Rhythm {
    /// The first round comes `phase_micros` from `now`.
    pub(super) fn new(unit: Duration, now: Instant, phase_micros: i64) -> Self {
        Self {
            unit,
            next_round: Instant::from_micros(now.as_micros() + phase_micros),
            round_start: now,
            next_look: NEVER,
            wall_offset: None,
        }
    }

    pub(super) fn set_clock(&mut self, now: Instant, wall_micros: i64) {
        self.wall_offset = Some(wall_micros.saturating_sub(now.as_micros()));
    }

    pub(super) fn wall_offset(&self) -> Option<i64> {
        self.wall_offset
    }

    /// When something is due; `looks`: whether there is anything to look for.
    pub(super) fn due(&self, looks: bool) -> Instant {
        if looks { self.next_round.min(self.next_look) } else { self.next_round }
    }

    pub(super) fn round_is_due(&self, now: Instant) -> bool {
        now >= self.next_round
    }

    pub(super) fn look_is_due(&self, now: Instant) -> bool {
        now >= self.next_look
    }

    /// How long ago the round was due that begins now.
    pub(super) fn late(&self, now: Instant) -> Duration {
        now.saturating_since(self.next_round)
    }

    /// Begins the round of the unit that `now` lies in; returns how many units were passed over.
    pub(super) fn begin_round(&mut self, now: Instant) -> u64 {
        let unit = micros(self.unit);
        let behind = (now.as_micros() - self.next_round.as_micros()) / unit;
        self.round_start = Instant::from_micros(self.next_round.as_micros() + behind * unit);
        behind as u64
    }

    /// The next round comes then, or a unit after this one.
    pub(super) fn end_round(&mut self, next: Option<Instant>) {
        self.next_round = next.unwrap_or(self.round_start + self.unit);
    }

    /// Sets when the strategy looks next in this round, at one of the sixteenths in `looks`.
    pub(super) fn plan_look(&mut self, looks: &'static [u8], now: Instant) {
        let round = self.round_start.as_micros();
        let next = next_look_micros(looks, round, micros(self.unit), now.as_micros());
        let next = next.map(Instant::from_micros).filter(|&at| at < self.next_round);
        self.next_look = next.unwrap_or(NEVER);
    }
}
