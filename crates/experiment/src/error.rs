//! What can go wrong with a campaign. Each message names the place and the remedy.

use std::io;
use std::path::PathBuf;

use crate::manifest::TableError;

/// Why a campaign cannot be read, run, kept or evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A campaign file is not one. Nothing was run.
    #[error("{}:{line}: {reason}", path.display())]
    Campaign {
        /// The campaign file.
        path: PathBuf,
        /// Where in it.
        line: usize,
        /// What is wrong and what would do.
        reason: String,
    },
    /// A program that a campaign needs is not here, or is of no use to it. Nothing was run.
    #[error("{0}")]
    Program(String),
    /// The machine lacks what a backend needs. Nothing was run.
    #[error("{0}")]
    Machine(String),
    /// A journal is of another campaign, or damaged. It is left as it was.
    #[error("{}: {reason}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong and what would do.
        reason: String,
    },
    /// A file cannot be written. What was measured before is kept.
    #[error("{}: {source}; what was measured is kept: make room, then give the command again", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A run failed in a campaign that stops then. It and those before it are in the journal.
    #[error("run {index} ({what}) {reason}; what was measured is kept in {}", journal.display())]
    Run {
        /// The run's place in the plan.
        index: u32,
        /// What it was to measure.
        what: String,
        /// How it ended, with the last words of the program.
        reason: String,
        /// The journal.
        journal: PathBuf,
    },
    /// A signal came. What was measured is kept.
    #[error("stopped after {done} of {all} runs; give the command again to go on")]
    Stopped {
        /// Runs in the journal.
        done: usize,
        /// Runs of the plan.
        all: usize,
        /// The signal's number.
        signal: i32,
    },
    /// Two campaigns have nothing to compare.
    #[error("{0}")]
    NothingToCompare(String),
}

impl ExperimentError {
    /// The process's exit code (docs/reference/lab.md).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unreadable { .. }
            | Self::Campaign { .. }
            | Self::Program(_)
            | Self::Machine(_)
            | Self::Journal { .. }
            | Self::NothingToCompare(_) => 2,
            Self::Stopped { signal, .. } => 128 + u8::try_from(*signal).unwrap_or(0),
            Self::Unwritable { .. } | Self::Table(_) | Self::Run { .. } => 1,
        }
    }
}
