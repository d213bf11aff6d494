//! How long the runs of one start may take, all of them together.
//!
//! What would not be done in time is not begun, as far as earlier runs can say; what is not done in
//! time is ended and not kept. What is left is missing in the journal, as after an interruption:
//! the next start goes on with it.

use std::time::{Duration, Instant};

/// A time for all runs of one start.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    begun: Instant,
    time: Duration,
}

impl Allowance {
    /// So long from a moment on.
    pub fn since(begun: Instant, time: Duration) -> Self {
        Self { begun, time }
    }

    /// What is left of it now.
    pub fn left(&self) -> Duration {
        self.left_at(Instant::now())
    }

    fn left_at(&self, now: Instant) -> Duration {
        self.time.saturating_sub(now.saturating_duration_since(self.begun))
    }
}

/// Whether a run may begin, with so much left, after runs that took so long: such as it is, and
/// all. Of its own kind the mean is what it should take; before the first of its kind, that of all.
pub fn suffices(left: Duration, alike_s: &[f64], all_s: &[f64]) -> bool {
    let known = if alike_s.is_empty() { all_s } else { alike_s };
    let expected_s = known.iter().sum::<f64>() / known.len().max(1) as f64;
    left.as_secs_f64() > expected_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_never_less_than_nothing() {
        let begun = Instant::now();
        let allowance = Allowance::since(begun, Duration::from_secs(120));
        let left_s = |passed| allowance.left_at(begun + Duration::from_secs(passed)).as_secs();
        assert_eq!([0, 50, 120, 500].map(left_s), [120, 70, 0, 0]);
    }

    #[test]
    fn a_run_begins_only_if_runs_like_it_were_done_in_what_is_left() {
        let fits = |left_s, alike_s: &[f64], all_s: &[f64]| {
            suffices(Duration::from_secs(left_s), alike_s, all_s)
        };
        assert!(fits(5, &[3.0, 5.0], &[3.0, 5.0, 90.0]) && !fits(4, &[3.0, 5.0], &[3.0, 5.0]));
        assert!(!fits(9, &[], &[10.0]), "the first of its kind is judged by the others");
        assert!(fits(1, &[], &[]), "the first of all is begun");
        assert!(!fits(0, &[], &[]), "but not without time");
    }
}
