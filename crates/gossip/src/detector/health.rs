//! Health: how much a node trusts itself before it accuses others.
//!
//! A node that is run too late sees everybody fall silent. So each sign that it is itself slow
//! makes it wait longer for the proof that others live, and each sign that it is well shortens the
//! wait again; after it stood still it accuses nobody for a while.
//!
//! How late its last rounds were is remembered beside that: an answer that lies in the socket of a
//! node that is not run comes later by as much, and where one node of a machine or of a cluster is
//! not run in time, others are not either. So it waits for answers longer by twice that, and begins
//! few doubts at a time: each of them makes work for five nodes.
//!
//! Source: Dadgar, Phillips, Currey, "Lifeguard: local health awareness for more accurate failure
//! detection", 2018 (its local health multiplier).

use core::time::Duration;

use tidings_primitives::time::Instant;

/// The worst.
const WORST: u32 = 8;
/// Timely rounds that make up for one late one.
const ROUNDS_TO_RECOVER: u32 = 4;
/// Units of time without accusations after standing still for a unit.
const QUIET_UNITS: u32 = 2;
/// Parts of a unit: a round that is late by one of them at most is in time.
const LATE_PARTS: u32 = 64;

/// A node's opinion of itself.
#[derive(Clone, Copy, Debug)]
pub struct Health {
    ailing: u32,
    timely: u32,
    quiet_until: Instant,
    /// How late rounds were lately: the latest counts for three quarters as much a round later.
    lateness: Duration,
}

impl Health {
    /// A node in good health, which has just started and knows nobody's habits.
    pub fn at(now: Instant, unit: Duration) -> Self {
        let quiet_until = now + unit * QUIET_UNITS;
        Self { ailing: 0, timely: 0, quiet_until, lateness: Duration::ZERO }
    }

    /// A round was made `late` after it was due; `true` if the node had stood still.
    pub fn round(&mut self, now: Instant, late: Duration, unit: Duration) -> bool {
        // Every timer is a little late; and a node that was paused waits again for everything.
        let counts = late > unit / LATE_PARTS && late <= unit;
        self.lateness = if counts { late } else { Duration::ZERO }.max(self.lateness / 4 * 3);
        if late <= unit / 2 {
            self.timely += 1;
            if self.timely >= ROUNDS_TO_RECOVER {
                self.ailing = self.ailing.saturating_sub(1);
                self.timely = 0;
            }
            return false;
        }
        self.fails();
        let stood_still = late > unit;
        if stood_still {
            self.quiet_until = now + unit * QUIET_UNITS;
        }
        stood_still
    }

    /// The node accused somebody who lives, or was taken for dead itself.
    pub fn fails(&mut self) {
        self.ailing = (self.ailing + 1).min(WORST);
        self.timely = 0;
    }

    /// Whether others may be accused.
    pub fn may_accuse(&self, now: Instant) -> bool {
        now >= self.quiet_until
    }

    /// How late the node was lately.
    pub fn lateness(&self) -> Duration {
        self.lateness
    }

    /// By how much to wait longer: 1 to 9.
    pub fn patience(&self) -> u32 {
        1 + self.ailing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_millis(256);

    #[test]
    fn lateness_makes_patient_and_wears_off() {
        let mut health = Health::at(Instant::EPOCH, UNIT);
        let now = Instant::EPOCH + UNIT * 10;
        for _ in 0..20 {
            assert!(!health.round(now, UNIT, UNIT), "a unit late is slow, not still");
        }
        assert_eq!(health.patience(), 9);
        for _ in 0..ROUNDS_TO_RECOVER * 8 {
            health.round(now, UNIT / 4, UNIT);
        }
        assert_eq!(health.patience(), 1);
    }

    #[test]
    fn lateness_is_remembered_for_some_rounds() {
        let mut health = Health::at(Instant::EPOCH, UNIT);
        let now = Instant::EPOCH + UNIT * 10;
        health.round(now, UNIT / 4, UNIT);
        health.round(now, Duration::ZERO, UNIT);
        assert_eq!(health.lateness(), UNIT / 16 * 3);
        for _ in 0..60 {
            health.round(now, Duration::ZERO, UNIT);
        }
        assert!(health.lateness() < Duration::from_micros(1));
        health.round(now, UNIT * 8, UNIT);
        assert!(health.lateness() < Duration::from_micros(1), "it stood still");
    }

    #[test]
    fn who_stood_still_accuses_nobody_for_a_while() {
        let mut health = Health::at(Instant::EPOCH, UNIT);
        let now = Instant::EPOCH + UNIT * 10;
        assert!(health.may_accuse(now));
        assert!(health.round(now, UNIT * 8, UNIT));
        assert!(!health.may_accuse(now + UNIT) && health.may_accuse(now + UNIT * QUIET_UNITS));
    }
}
