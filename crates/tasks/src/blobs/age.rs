//! Ages of files, by clocks that are set.
//!
//! A file carries the wall clock's time. Set forward, that clock makes a file look older than it
//! is; set back, a file that is written then looks older later. A process also knows what the wall
//! clock would say had nobody set it since it began. The age is the smaller of both: so a clock
//! that is set while this process runs makes nothing old early.

use std::time::{Duration, Instant, SystemTime};

/// When this process began to look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    wall: SystemTime,
    steady: Instant,
}

impl Began {
    pub(super) fn now() -> Self {
        Self { wall: SystemTime::now(), steady: Instant::now() }
    }

    /// How long ago a file was renewed, at least.
    pub(super) fn age(&self, renewed: SystemTime) -> Duration {
        smaller(renewed, SystemTime::now(), self.wall + self.steady.elapsed())
    }
}

fn smaller(renewed: SystemTime, wall: SystemTime, steady: SystemTime) -> Duration {
    wall.min(steady).duration_since(renewed).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_makes_nothing_older() {
        let hour = Duration::from_secs(3_600);
        let minute = Duration::from_secs(60);
        let start = SystemTime::UNIX_EPOCH + 100 * hour;
        let after = start + minute;
        assert_eq!(smaller(start, after, after), minute);
        // Set forward by an hour after the file was written, and before.
        assert_eq!(smaller(start, after + hour, after), minute);
        assert_eq!(smaller(start + hour, after + hour, after), Duration::ZERO);
        // Set back by an hour after the file was written, and before.
        assert_eq!(smaller(start, after - hour, after), Duration::ZERO);
        assert_eq!(smaller(start - hour, after - hour, after), minute);
    }
}
