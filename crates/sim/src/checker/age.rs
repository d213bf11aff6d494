//! Ages are never understated, but for the travel of datagrams and the drift of clocks.
//!
//! Each relay adds the time it held an entry and rounds up, so what is missing is the travel of
//! each hop. A node takes a stamp once, so no path is longer than the nodes less one, and no hop
//! took longer than the slowest datagram so far. Reading a clock in whole microseconds loses up to
//! two of them a hop, drift a share of the time. Offsets must not show at all: that is the point.

use super::{Claim, Findings};

/// Bounds how much an age may be understated.
#[derive(Clone, Copy, Debug)]
pub struct AgeChecker {
    hops_max: i64,
    drift_ppb: i64,
    /// The longest time between sending and handling a datagram so far, in microseconds.
    travel_max_micros: i64,
}

impl AgeChecker {
    /// For `nodes` nodes whose clocks run apart by at most `drift_ppm` from the truth.
    pub fn of(nodes: u32, drift_ppm: f64) -> Self {
        Self {
            hops_max: i64::from(nodes) - 1,
            drift_ppb: (drift_ppm * 1_000.0).ceil() as i64,
            travel_max_micros: 0,
        }
    }

    /// A datagram was handled this long after it was sent.
    pub fn travelled(&mut self, micros: i64) {
        self.travel_max_micros = self.travel_max_micros.max(micros);
    }

    /// Looks at one claim.
    pub fn check(&self, claim: &Claim, findings: &mut Findings) {
        let Some(true_age) = claim.true_age_micros else { return };
        let understated = true_age - claim.age_micros;
        findings.pairs_checked += 1;
        findings.understated_max_us = findings.understated_max_us.max(understated.max(0) as u64);
        let travel = self.hops_max.saturating_mul(self.travel_max_micros + 2);
        if understated <= travel {
            return; // without the division that drift needs, which is a tenth of a sample's time
        }
        let drift = i128::from(true_age) * i128::from(self.drift_ppb) / 1_000_000_000;
        let most = travel + drift as i64;
        if understated > most {
            findings.understated_ages += 1;
            findings.note(|| {
                format!(
                    "{claim:?}: the age is understated by {understated} us, at most {most} can be"
                )
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(age_micros: i64, travel: i64, drift_ppm: f64) -> Findings {
        let mut checker = AgeChecker::of(11, drift_ppm);
        checker.travelled(travel);
        let claim =
            Claim { pair: (1, 2), stamp: (1, 9), age_micros, true_age_micros: Some(1_000_000) };
        let mut findings = Findings::default();
        checker.check(&claim, &mut findings);
        findings
    }

    #[test]
    fn an_age_below_the_truth_is_found() {
        let found = findings(999_000, 0, 0.0);
        assert!(!found.is_clean() && found.understated_max_us == 1000, "{found:?}");
        assert!(findings(999_990, 0, 0.0).is_clean());
        assert!(findings(1_500_000, 0, 0.0).is_clean());
    }

    #[test]
    fn travel_and_drift_are_allowed_for() {
        assert!(findings(999_000, 100, 0.0).is_clean());
        assert!(findings(999_900, 0, 100.0).is_clean());
    }
}
