//! φ: how long a session may be silent, from the times between its heartbeats.
//!
//! φ of a silence is −log₁₀ of the probability that a gap is as long by chance, if gaps are
//! distributed normally with the mean and deviation of the last ones. It is never computed of a
//! silence that grows, which would be polling. The formula is solved for the silence at which φ
//! reaches the threshold: that is when the session ends, unless something is heard before.
//!
//! Invariants:
//! * The deviation is never taken as less than a floor: regular heartbeats would have none, and the
//!   first late one would be a death.
//! * A session never lasts longer by φ than by its term alone.
//!
//! Source: Hayashibara, Défago, Yared, Katayama, "The φ accrual failure detector" (SRDS 2004); the
//! normal distribution as in Karagiannidis, Lioumpas, "An improved approximation for the Gaussian
//! Q-function" (2007).

use core::time::Duration;

use tidings_primitives::Instant;

use crate::detector::Detector;

/// The gaps that are remembered.
const GAPS: usize = 64;

/// Gaps without which nothing is known.
const LEAST: usize = 8;

/// The last gaps of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// In microseconds; once there are so many, the oldest is replaced.
    last: Vec<u32>,
    next: usize,
    heard: Option<Instant>,
}

/// How long sessions may be silent: as the detector says, and never longer than their term.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) detector: Detector,
    pub(super) term: Duration,
}

impl Patience {
    /// How long a session may be silent after a heartbeat.
    pub(super) fn after(&self, gaps: &mut Gaps, now: Instant) -> Duration {
        let Detector::Phi { threshold, floor } = self.detector else { return self.term };
        // Heartbeats come three times in the term that is told.
        gaps.hear(now, self.detector.told_term(self.term) / 6);
        gaps.silence(threshold, floor).map_or(self.term, |silence| silence.min(self.term))
    }
}

impl Gaps {
    /// A heartbeat has come. One that comes within `least` of another does not count: both were
    /// held up together, which says nothing of their times.
    pub(super) fn hear(&mut self, now: Instant, least: Duration) {
        let gap = self.heard.map(|before| now.saturating_since(before));
        if gap.is_some_and(|gap| gap < least) {
            return;
        }
        self.heard = Some(now);
        let Some(gap) = gap else { return };
        let micros = u32::try_from(gap.as_micros()).unwrap_or(u32::MAX);
        if self.last.len() < GAPS {
            self.last.push(micros);
        } else {
            self.last[self.next] = micros;
        }
        self.next = (self.next + 1) % GAPS;
    }

    /// The driver was stopped: the gap that ends next is not the session's.
    pub(super) fn break_off(&mut self) {
        self.heard = None;
    }

    /// The silence at which φ reaches a threshold; none as long as too few gaps are known.
    pub(super) fn silence(&self, threshold: f64, floor: Duration) -> Option<Duration> {
        if self.last.len() < LEAST {
            return None;
        }
        let count = self.last.len() as f64;
        let mean = self.last.iter().map(|&gap| f64::from(gap)).sum::<f64>() / count;
        let square = |gap: &u32| (f64::from(*gap) - mean) * (f64::from(*gap) - mean);
        let deviation = (self.last.iter().map(square).sum::<f64>() / count).sqrt();
        let deviation = deviation.max(floor.as_micros() as f64);
        let micros = mean + deviation * deviations(threshold);
        // A float becomes the nearest integer that there is.
        Some(Duration::from_micros(micros as u64))
    }
}

/// How many deviations over the mean φ reaches a threshold.
fn deviations(threshold: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if phi(middle) < threshold {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// −log₁₀ of the normal distribution's tail beyond z: of Q(z) = (1 − e^(−1.4 z)) e^(−z²/2) /
/// (1.135 √(2π) z), after Karagiannidis and Lioumpas (2007), and 1 − Q(−z) below the mean.
fn phi(z: f64) -> f64 {
    if z <= 0.0 {
        let above = if z == 0.0 { 0.5 } else { 10_f64.powf(-phi(-z)) };
        return -(1.0 - above).log10();
    }
    let scale = 1.135 * core::f64::consts::TAU.sqrt() * z;
    z * z / 2.0 * core::f64::consts::LOG10_E + scale.log10() - (-(-1.4 * z).exp_m1()).log10()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FLOOR: Duration = Duration::from_millis(50);

    fn after(gaps_ms: impl IntoIterator<Item = u64>) -> Gaps {
        let mut gaps = Gaps::default();
        let mut now = Instant::EPOCH;
        gaps.hear(now, Duration::ZERO);
        for gap_ms in gaps_ms {
            now = now + Duration::from_millis(gap_ms);
            gaps.hear(now, Duration::ZERO);
        }
        gaps
    }

    /// From tables of the normal distribution: the tail beyond z is 10^−φ.
    #[test]
    fn the_tail_is_that_of_the_normal_distribution() {
        for (phi, z) in [(1.0, 1.2816), (2.0, 2.3263), (4.0, 3.7190), (8.0, 5.6120)] {
            let found = deviations(phi);
            assert!((found - z).abs() < 0.04 * z, "{phi}: {found}, not {z}");
        }
    }

    /// Trap 27 of peers: at a constant period the deviation is 0, and the first late heartbeat a
    /// death.
    #[test]
    fn regular_heartbeats_leave_room_for_a_late_one() {
        let silence = after([250; 64]).silence(8.0, FLOOR).unwrap();
        assert!(silence > Duration::from_millis(250 + 5 * 50), "{silence:?}");
        assert!(silence < Duration::from_millis(250 + 6 * 50), "{silence:?}");
    }

    #[test]
    fn irregular_ones_are_waited_for_longer_and_what_was_long_ago_is_forgotten() {
        let regular = after([250; 64]).silence(8.0, FLOOR);
        let irregular: Vec<u64> = (0..64).map(|one| if one % 2 == 0 { 50 } else { 450 }).collect();
        let gaps = after(irregular.iter().copied());
        assert!(gaps.silence(8.0, FLOOR) > regular);
        let calm = after(irregular.into_iter().chain([250; 64]));
        assert_eq!(calm.silence(8.0, FLOOR), regular);
    }

    #[test]
    fn little_is_known_of_a_few_and_of_those_held_up_together() {
        assert_eq!(after([250; 7]).silence(8.0, FLOOR), None);
        let mut gaps = after([250; 20]);
        let before = gaps.silence(8.0, FLOOR);
        let now = Instant::EPOCH + Duration::from_secs(5);
        for burst in 1..10 {
            gaps.hear(now + Duration::from_millis(burst), Duration::from_millis(125));
        }
        assert_eq!(gaps.silence(8.0, FLOOR), before);
        gaps.break_off();
        gaps.hear(now + Duration::from_secs(60), Duration::ZERO);
        assert_eq!(gaps.silence(8.0, FLOOR), before);
    }

    proptest! {
        #[test]
        fn a_higher_threshold_and_floor_wait_longer(
            gaps_ms in proptest::collection::vec(1_u64..5_000, 8..200),
            threshold in 1.0_f64..15.0, floor_ms in 1_u64..1_000,
        ) {
            let gaps = after(gaps_ms);
            let of = |threshold, floor_ms| {
                gaps.silence(threshold, Duration::from_millis(floor_ms)).unwrap()
            };
            prop_assert!(of(threshold, floor_ms) <= of(threshold + 1.0, floor_ms));
            prop_assert!(of(threshold, floor_ms) <= of(threshold, floor_ms + 1));
        }
    }
}
