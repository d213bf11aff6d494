//! Silence: how old the entries about one origin grow, and how unlikely an age is.
//!
//! Each time that news of an origin arrives, the age that the held entry had reached is noted: time
//! from the birth of one to the arrival of the next. A mean and a mean deviation of these *peak
//! ages* are kept, as TCP keeps those of round trips. Peaks never lie much below their mean (no
//! news arrives before it is made) and far above it at random: they are taken as an exponential
//! distribution, moved so that mean and deviation are those seen. So
//!
//! > φ(age) = −log₁₀ P(peak ≥ age) = max(0, age − (m − d)) / (d · ln 10)
//!
//! with mean m and standard deviation d. Where news arrives at random moments, d = m, and φ = 1
//! at 2.3 times the mean; where it arrives regularly, d is small and φ rises steeply once it is
//! overdue. The deviation never counts as less than a quarter of a unit, by which clocks and
//! processors may be late at any time.
//!
//! Source of φ: Hayashibara et al., "The φ accrual failure detector", SRDS 2004; of the estimates:
//! Jacobson, "Congestion avoidance and control", SIGCOMM 1988.

/// Steps in a unit of time.
pub const STEPS_PER_UNIT: u64 = 64;
/// What is taken as mean and deviation of an origin that was heard once: 5 units.
const FIRST: u16 = 5 * STEPS_PER_UNIT as u16;
/// A peak counts for an eighth of the estimates.
const GAIN: i32 = 8;
/// Mean deviation over standard deviation of an exponential distribution: 2/e.
const MEAN_DEVIATION: f64 = 0.735_759;
/// The least standard deviation, in steps.
const LEAST_DEVIATION: f64 = 16.0;

/// Mean and mean deviation of the peak ages of one origin, in 64ths of a unit: 4 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence {
    mean: u16,
    deviation: u16,
}

impl Default for Silence {
    fn default() -> Self {
        Self { mean: FIRST, deviation: FIRST }
    }
}

impl Silence {
    /// Notes a peak age, in steps.
    #[inline]
    pub fn note(&mut self, peak: u64) {
        let off = peak.min(u64::from(u16::MAX)) as i32 - i32::from(self.mean);
        self.mean = (i32::from(self.mean) + rounded(off)) as u16;
        self.deviation =
            (i32::from(self.deviation) + rounded(off.abs() - i32::from(self.deviation))) as u16;
    }

    /// φ of an age, in steps.
    pub fn phi(self, age: u64) -> f64 {
        let deviation = (f64::from(self.deviation) / MEAN_DEVIATION).max(LEAST_DEVIATION);
        let overdue = age as f64 - (f64::from(self.mean) - deviation);
        overdue.max(0.0) / deviation * core::f64::consts::LOG10_E
    }
}

/// An eighth, rounded away from zero: estimates reach what they follow.
#[inline]
fn rounded(off: i32) -> i32 {
    (off + off.signum() * (GAIN - 1)) / GAIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_primitives::Chance;

    fn after(peaks: impl Iterator<Item = f64>) -> Silence {
        let mut silence = Silence::default();
        peaks.for_each(|units| silence.note((units * 64.0) as u64));
        silence
    }

    #[test]
    fn regular_news_makes_lateness_unlikely_at_once() {
        let silence = after((0..100).map(|_| 2.0));
        assert!(silence.phi(2 * 64 - 32) < 1e-9);
        assert!(silence.phi(2 * 64) < 0.6);
        assert!(silence.phi(3 * 64) > 2.0);
    }

    /// Exponential peaks with a mean of 5 units: P(peak ≥ 5 ln 10 · φ) = 10^−φ. The estimates
    /// follow the last ones, so their mean over many moments is looked at.
    #[test]
    fn random_news_follows_the_exponential_distribution() {
        let (mut chance, mut silence) = (Chance::new(5), Silence::default());
        let (mut sum, rounds) = (0.0, 20_000);
        for _ in 0..rounds {
            let part = (chance.bits() >> 11) as f64 / (1u64 << 53) as f64;
            silence.note((-5.0 * (1.0 - part).ln() * 64.0) as u64);
            sum += silence.phi((5.0 * core::f64::consts::LN_10 * 2.0 * 64.0) as u64);
        }
        let mean = sum / f64::from(rounds);
        assert!((1.7..2.6).contains(&mean), "{mean}");
    }

    #[test]
    fn no_peak_overflows_and_the_estimates_come_down_again() {
        let mut silence = after((0..100).map(|_| 1e12));
        assert!(silence.phi(u64::MAX) > 0.0);
        (0..400).for_each(|_| silence.note(64));
        assert!(silence.phi(3 * 64) > 2.0, "{silence:?}");
    }
}
