//! What is said of one mechanism: whether it works, what was seen, and what would help.

use serde::{Deserialize, Serialize};

/// Whether a mechanism works here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it is meant.
    Works,
    /// Something in its place works.
    Degraded,
    /// Nothing of it.
    Not,
}

impl Verdict {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Degraded => "degraded",
            Self::Not => "not",
        }
    }
}

/// What an attempt came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether it works.
    pub verdict: Verdict,
    /// What was tried and seen; of a degraded one also what takes its place.
    pub found: String,
    /// What would make it work; nothing where it does.
    pub remedy: Option<String>,
}

impl Outcome {
    pub(crate) fn works(found: impl Into<String>) -> Self {
        Self { verdict: Verdict::Works, found: found.into(), remedy: None }
    }

    pub(crate) fn degraded(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (found, remedy) = (found.into(), Some(remedy.into()));
        Self { verdict: Verdict::Degraded, found, remedy }
    }

    pub(crate) fn not(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { verdict: Verdict::Not, found: found.into(), remedy: Some(remedy.into()) }
    }
}

/// A mechanism and what its attempt came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name.
    pub mechanism: String,
    /// What Tidings uses it for.
    pub purpose: String,
    /// What the attempt came to.
    #[serde(flatten)]
    pub outcome: Outcome,
}
