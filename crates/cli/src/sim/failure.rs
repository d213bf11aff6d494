//! Why a simulation gives no figures, or not all.

use std::io;
use std::path::PathBuf;

use tidings_experiment::manifest::TableError;
use tidings_sim::ScenarioError;

/// Why a simulation gives no figures, or not all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The scenario is impossible. Nothing was simulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The scenario file has a mistake. Nothing was simulated.
    #[error("{}: {source}", file.display())]
    InFile {
        /// The file.
        file: PathBuf,
        /// The mistake.
        source: ScenarioError,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It was stopped before its end.
    #[error("stopped; {measured} of {units} units were measured")]
    Stopped {
        /// Units measured.
        measured: u32,
        /// Units asked for.
        units: u32,
    },
    /// It was stopped before its end.
    #[error("stopped; {measured} of {colonies} colonies were simulated")]
    StoppedColonies {
        /// Colonies simulated.
        measured: u32,
        /// Colonies there are.
        colonies: u32,
    },
    /// It was stopped before all of its runs were done.
    #[error("stopped; {done} of {all} runs were done")]
    Unfinished {
        /// Runs done.
        done: u32,
        /// Runs asked for.
        all: u32,
    },
    /// Signals cannot be caught.
    #[error("no handler for signals can be set ({0}): is this process restricted?")]
    Signals(io::Error),
}

impl SimulationError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Scenario(_) | Self::InFile { .. } => 2,
            Self::File { .. }
            | Self::Table(_)
            | Self::Stopped { .. }
            | Self::StoppedColonies { .. }
            | Self::Unfinished { .. }
            | Self::Signals(_) => 1,
        }
    }
}
