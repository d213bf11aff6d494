//! Detectors: what decides that a silent session has ended.
//!
//! Whatever decides, it only says when a task is given to another worker. A decision that was wrong
//! costs a second run of what the session did, and never a result that counts twice.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// What decides that a silent session has ended.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Detector {
    /// Its term, which is the same for all.
    #[default]
    Session,
    /// φ: its own heartbeats, which come four times as often, within the term. It ends when the
    /// probability that it lives all the same is 10 to the power of −`threshold`.
    Phi {
        /// φ at which it ends.
        threshold: f64,
        /// The least deviation of the times between heartbeats that is believed.
        floor: Duration,
    },
}

/// The threshold and floor where none is named.
const USUAL_THRESHOLD: f64 = 8.0;
const USUAL_FLOOR: Duration = Duration::from_millis(100);

/// Thresholds that can be meant: at 1 every tenth late heartbeat is a death, beyond 16 there are no
/// more digits.
const THRESHOLDS: core::ops::RangeInclusive<f64> = 1.0..=16.0;

/// Floors that can be meant, in milliseconds.
const FLOORS_MS: core::ops::RangeInclusive<u64> = 1..=60_000;

/// How many times as often heartbeats come that φ is computed of.
const OFTEN: u32 = 4;

impl Detector {
    /// φ, with the usual threshold and floor.
    pub const PHI: Self = Self::Phi { threshold: USUAL_THRESHOLD, floor: USUAL_FLOOR };

    /// The term that sessions are told, by which they choose when they are heard of.
    pub fn told_term(&self, term: Duration) -> Duration {
        match self {
            Self::Session => term,
            Self::Phi { .. } => (term / OFTEN).max(Duration::from_millis(1)),
        }
    }
}

/// A text that names no detector.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is no detector: write session, phi, phi:THRESHOLD or phi:THRESHOLD:FLOOR_MS, with a \
     threshold from 1 to 16 and a floor from 1 to 60000 ms"
)]
pub struct DetectorError(String);

impl FromStr for Detector {
    type Err = DetectorError;

    fn from_str(text: &str) -> Result<Self, DetectorError> {
        let error = || DetectorError(text.chars().take(64).collect());
        let mut parts = text.split(':');
        let name = parts.next();
        let (threshold, floor, rest) = (parts.next(), parts.next(), parts.next());
        match (name, threshold, rest) {
            (Some("session"), None, None) => Ok(Self::Session),
            (Some("phi"), _, None) => {
                let threshold = threshold.map_or(Ok(USUAL_THRESHOLD), str::parse);
                let usual_ms = USUAL_FLOOR.as_millis() as u64;
                let floor_ms = floor.map_or(Ok(usual_ms), str::parse);
                let threshold = threshold.ok().filter(|one| THRESHOLDS.contains(one));
                let floor_ms = floor_ms.ok().filter(|one| FLOORS_MS.contains(one));
                let (threshold, floor_ms) = threshold.zip(floor_ms).ok_or_else(error)?;
                Ok(Self::Phi { threshold, floor: Duration::from_millis(floor_ms) })
            }
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => f.write_str("session"),
            Self::Phi { threshold, floor } => write!(f, "phi:{threshold}:{}", floor.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["session", "phi:8:100", "phi:3.5:1"] {
            assert_eq!(text.parse::<Detector>().unwrap().to_string(), text);
        }
        assert_eq!("phi".parse(), Ok(Detector::PHI));
        let five = Detector::Phi { threshold: 5.0, floor: USUAL_FLOOR };
        assert_eq!("phi:5".parse(), Ok(five));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        for text in [
            "",
            "Phi",
            "phi:",
            "phi:0",
            "phi:17",
            "phi:nan",
            "phi:-8",
            "phi:8:0",
            "phi:8:70000",
            "phi:8:100:1",
            "session:8",
            "phi:8:x",
        ] {
            let error = text.parse::<Detector>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is no detector")), "{error}");
        }
    }
}
