//! The one place where the machine's clock becomes the core's time.
//!
//! The core counts microseconds from the moment the agent starts, on the monotonic clock, so that
//! neither a leap second nor a changed date moves an age. The core also gets the time of the wall
//! clock: strategies `grid` and `staggered` use common rounds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidings_gossip::Instant;
use tokio::time::Instant as Moment;

/// Turns the monotonic clock into the core's time and back. Copies agree with each other.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Moment,
    /// The epoch on the machine's clock.
    epoch_ns: i64,
}

impl Clock {
    /// A clock whose time 0 is now.
    pub fn start() -> Self {
        // Both read one clock of the machine, one after the other: of several tries, the one with
        // the least time between them counts.
        let read = || {
            let before_ns = tidings_board::now_ns();
            let epoch = Moment::now();
            let gap_ns = tidings_board::now_ns() - before_ns;
            (gap_ns, Self { epoch, epoch_ns: before_ns })
        };
        let shorter =
            |one: (i64, Self), other: (i64, Self)| if other.0 < one.0 { other } else { one };
        (0..8).fold(read(), |best, _| shorter(best, read())).1
    }

    /// The core's time now.
    pub fn now(self) -> Instant {
        Instant::from_micros(self.epoch.elapsed().as_micros() as i64)
    }

    /// `instant` on the machine's `CLOCK_MONOTONIC`, in nanoseconds: what all processes of the
    /// machine share.
    pub(crate) fn monotonic_ns(self, instant: Instant) -> i64 {
        self.epoch_ns.saturating_add(instant.as_micros().saturating_mul(1_000))
    }

    /// The wall clock: microseconds since 1970, negative before.
    pub(crate) fn wall_micros() -> i64 {
        let since = |past: Duration| i64::try_from(past.as_micros()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(past) => since(past),
            Err(ahead) => -since(ahead.duration()),
        }
    }

    /// How long the clock has run.
    pub(crate) fn uptime(self) -> Duration {
        self.epoch.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_clock_and_the_cores_agree() {
        let before_ns = tidings_board::now_ns();
        let clock = Clock::start();
        let epoch_ns = clock.monotonic_ns(Instant::EPOCH);
        assert!(before_ns <= epoch_ns && epoch_ns <= tidings_board::now_ns());
        assert_eq!(clock.monotonic_ns(Instant::from_micros(7)) - epoch_ns, 7_000);
    }
}
