//! What a campaign may say of an arm. That takes three things, which `analysis` tests.

use serde::Serialize;

/// What may be said of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It takes longer than the baseline.
    Slower,
    /// It takes less time.
    Faster,
    /// No difference is distinguishable from noise.
    WithinNoise,
    /// There are too few pairs.
    TooFew,
}

impl Verdict {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::WithinNoise => "within noise",
            Self::TooFew => "too few pairs",
        }
    }
}
