//! What can go wrong with a measurement of noise. Each message names the place and the remedy.

use std::io;
use std::path::PathBuf;

use tidings_experiment::manifest::TableError;

/// Why noise cannot be measured, kept or compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoiseError {
    /// An option is out of its bounds. Nothing was run.
    #[error("{option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong and what would do.
        reason: String,
    },
    /// The machine lacks what was asked for. Nothing was run.
    #[error("{0}")]
    Machine(String),
    /// The tracepoints that were asked for cannot be had. Nothing was run.
    #[error("--attribution {asked}: {reason}; without the option the best there is names gaps")]
    Trace {
        /// What was asked for.
        asked: &'static str,
        /// Why not.
        reason: String,
    },
    /// A file cannot be written.
    #[error(
        "{}: {source}; what was measured before is kept: make room, then give the command again",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A result cannot be read.
    #[error("{}: {reason}", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// What is wrong and what would do.
        reason: String,
    },
    /// The table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A signal came. What was measured is kept.
    #[error("stopped after {done_s:.1} of {all_s:.1} s; what was measured is kept")]
    Stopped {
        /// How long it was measured.
        done_s: f64,
        /// How long it was to be.
        all_s: f64,
        /// The signal's number.
        signal: i32,
    },
    /// Two results have nothing to compare.
    #[error("{0}")]
    NothingToCompare(String),
}

impl NoiseError {
    /// The process's exit code (docs/reference/noise.md).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Option { .. }
            | Self::Machine(_)
            | Self::Trace { .. }
            | Self::Result { .. }
            | Self::NothingToCompare(_) => 2,
            Self::Stopped { signal, .. } => 128 + u8::try_from(*signal).unwrap_or(0),
            Self::Unwritable { .. } | Self::Table(_) => 1,
        }
    }
}
