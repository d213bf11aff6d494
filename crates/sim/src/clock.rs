//! Clocks: what a node takes for the present, and when it will take it for a given instant.
//!
//! A node reads `offset + t + t · drift` at the true time `t`. Its timeouts are instants of that
//! clock, so the simulator also needs the inverse: the first true microsecond at which the clock
//! shows at least the instant. Integers only: both directions are exact, and monotone.

use tidings_gossip::Instant;

/// Parts per billion in one.
const BILLION: i128 = 1_000_000_000;

/// A node's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// What it shows at the true time 0, in microseconds.
    pub offset_micros: i64,
    /// How much faster than true time it runs, in parts per billion; above −10⁹.
    pub drift_ppb: i64,
}

impl Clock {
    /// What the clock shows at the true time `micros`.
    pub fn read(&self, micros: i64) -> Instant {
        let drifted = i128::from(micros) * i128::from(self.drift_ppb);
        let drifted = drifted.div_euclid(BILLION) as i64;
        Instant::from_micros(self.offset_micros + micros + drifted)
    }

    /// The first true microsecond at which the clock shows `instant` or later; far ahead for an
    /// instant that no run reaches.
    pub fn true_micros(&self, instant: Instant) -> i64 {
        let ahead = i128::from(instant.as_micros()) - i128::from(self.offset_micros);
        let estimate = (ahead * BILLION).div_euclid(BILLION + i128::from(self.drift_ppb));
        let Ok(estimate) = i64::try_from(estimate) else { return i64::MAX };
        if estimate > i64::MAX / 4 {
            return i64::MAX;
        }
        // The estimate is off by the rounding of one division and of one reading.
        let mut micros = estimate - 2;
        while self.read(micros) < instant {
            micros += 1;
        }
        micros
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_true_time_is_the_first_that_shows_the_instant() {
        for drift_ppb in [-500_000, -1, 0, 1, 77_777, 500_000] {
            for offset_micros in [-3_000_000, 0, 12_345] {
                let clock = Clock { offset_micros, drift_ppb };
                for micros in [0, 1, 999, 256_000, 7_777_777_777] {
                    let instant = Instant::from_micros(micros);
                    let at = clock.true_micros(instant);
                    assert!(clock.read(at) >= instant && clock.read(at - 1) < instant);
                }
            }
        }
    }

    #[test]
    fn a_timeout_that_never_comes_stays_far_ahead() {
        let clock = Clock { offset_micros: 5, drift_ppb: -1000 };
        assert_eq!(clock.true_micros(Instant::from_micros(i64::MAX)), i64::MAX);
    }
}
