//! Rates: how fast something is counted, over the last seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Over which time.
const WINDOW: Duration = Duration::from_secs(10);

/// A count as it rises.
#[derive(Debug, Default)]
pub(super) struct Rate(VecDeque<(Instant, u64)>);

impl Rate {
    /// It is this much now. One that has fallen is counted by somebody else, and begins again.
    pub(super) fn note(&mut self, now: Instant, count: u64) {
        if self.0.back().is_some_and(|(_, last)| count < *last) {
            self.0.clear();
        }
        self.0.push_back((now, count));
        let is_old = |at: &(Instant, u64)| now.saturating_duration_since(at.0) > WINDOW;
        // The first that is old is where the window begins.
        while self.0.get(1).is_some_and(is_old) {
            self.0.pop_front();
        }
    }

    /// So much a second; `None` before it was noted twice.
    pub(super) fn per_second(&self) -> Option<f64> {
        let (&(begin, first), &(end, last)) = (self.0.front()?, self.0.back()?);
        let seconds = end.saturating_duration_since(begin).as_secs_f64();
        (seconds > 0.0).then(|| (last - first) as f64 / seconds)
    }

    /// The seconds until so much more is counted; `None` if nothing is.
    pub(super) fn seconds_for(&self, more: u64) -> Option<f64> {
        let rate = self.per_second().filter(|rate| *rate > 0.0)?;
        Some(more as f64 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_seconds() {
        let (mut rate, begin) = (Rate::default(), Instant::now());
        assert_eq!(rate.per_second(), None);
        for second in 0..100 {
            rate.note(begin + Duration::from_secs(second), 7 * second);
        }
        assert_eq!(rate.per_second(), Some(7.0));
        assert!(rate.0.len() <= 12);
        for second in 100..120 {
            rate.note(begin + Duration::from_secs(second), 700);
        }
        assert_eq!((rate.per_second(), rate.seconds_for(3)), (Some(0.0), None));
    }

    #[test]
    fn a_count_that_has_fallen_begins_again() {
        let (mut rate, begin) = (Rate::default(), Instant::now());
        for (second, count) in [(0, 500), (1, 600), (2, 10), (4, 30)] {
            rate.note(begin + Duration::from_secs(second), count);
        }
        assert_eq!((rate.per_second(), rate.seconds_for(5)), (Some(10.0), Some(0.5)));
    }
}
