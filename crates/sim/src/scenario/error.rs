//! Why a scenario cannot be run.

use core::fmt::Display;

/// Why a scenario cannot be run. Nothing was simulated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is no scenario: not TOML, an unknown key, a value of the wrong kind.
    #[error("the scenario cannot be read: {0}")]
    Text(String),
    /// A value lies outside its range.
    #[error("{parameter} is {given}: it must be {range}")]
    OutOfRange {
        /// Where it stands.
        parameter: String,
        /// What was given.
        given: String,
        /// What would do.
        range: String,
    },
    /// The core refuses the configuration.
    #[error("cluster: {0}")]
    Cluster(String),
    /// The run would need too much memory.
    #[error(
        "{nodes} nodes in {mode} mode need about {estimate_mib} MiB, and memory_limit_mib is \
         {limit_mib}: simulate fewer nodes{remedy}, or raise the limit"
    )]
    Memory {
        /// How many nodes.
        nodes: u32,
        /// In which mode.
        mode: &'static str,
        /// What they would need.
        estimate_mib: u64,
        /// What they may use.
        limit_mib: u64,
        /// Whether the other mode would help.
        remedy: &'static str,
    },
    /// The compact mode has no place for this.
    #[error("{parameter}: the compact mode does not know it; use the full mode, or leave it out")]
    NotCompact {
        /// What it does not know.
        parameter: &'static str,
    },
}

/// An [`ScenarioError::OutOfRange`], unless `ok`.
pub(crate) fn require(
    ok: bool,
    parameter: &str,
    given: impl Display,
    range: impl Into<String>,
) -> Result<(), ScenarioError> {
    if ok {
        return Ok(());
    }
    let (parameter, given) = (parameter.to_owned(), format!("{given}"));
    Err(ScenarioError::OutOfRange { parameter, given, range: range.into() })
}
