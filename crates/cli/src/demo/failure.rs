//! Why a demo is rejected or fails.

use std::io;
use std::path::PathBuf;

use tidings_gossip::ConfigError;

/// The most agents a demo starts.
pub(super) const NODES_MAX: usize = 512;

/// Why a demo is rejected or fails. After any of these no agent of the demo runs any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// Too few nodes to gossip, or too many for one machine.
    #[error(
        "--nodes {nodes}: a demo runs 2 to {NODES_MAX} agents. Each is a process; more of them would \
         measure this machine's scheduler, not the gossip"
    )]
    Nodes {
        /// What was asked for.
        nodes: usize,
    },
    /// Not enough memory.
    #[error(
        "--nodes {nodes}: the agents may need {needed_mib} MiB and {available_mib} MiB are \
         available: ask for fewer nodes"
    )]
    Memory {
        /// What was asked for.
        nodes: usize,
        /// What the agents may use.
        needed_mib: u64,
        /// What the machine has left.
        available_mib: u64,
    },
    /// Not enough file descriptors.
    #[error(
        "--nodes {nodes}: the observer needs {needed} file descriptors and may open {limit}: raise \
         the limit with `ulimit -n {needed}`, or ask for fewer nodes"
    )]
    Descriptors {
        /// What was asked for.
        nodes: usize,
        /// What the observer needs.
        needed: u64,
        /// The soft limit.
        limit: u64,
    },
    /// A parameter is outside its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The temporary directory cannot be made.
    #[error(
        "no temporary directory with a key can be made in {} ({source}): set TMPDIR to a directory \
         that you may write", parent.display()
    )]
    Home {
        /// Where it was to be.
        parent: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The temporary directory's path leaves no room for a socket's name.
    #[error(
        "the path {} is too long for a socket (at most {limit} bytes): set TMPDIR to a shorter one",
        path.display()
    )]
    LongPath {
        /// The longest socket path.
        path: PathBuf,
        /// The system's limit, in bytes.
        limit: usize,
    },
    /// Signals cannot be handled.
    #[error("no handler for signals can be set ({0}): is this process restricted?")]
    Signals(io::Error),
    /// An agent's process cannot be started.
    #[error("agent {name} cannot be started from {} ({source})", program.display())]
    Start {
        /// The agent's program.
        program: PathBuf,
        /// The node's name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// An agent has ended by itself.
    #[error("agent {name} has ended ({status}). The end of its log:\n{log}")]
    Ended {
        /// The node's name.
        name: String,
        /// How it ended.
        status: String,
        /// The last lines of its log.
        log: String,
    },
    /// An agent runs but never answered.
    #[error(
        "agent {name} has not answered for {waited_s:.0} s: is this machine overloaded? The end of \
         its log:\n{log}"
    )]
    Silent {
        /// The node's name.
        name: String,
        /// How long it was waited for.
        waited_s: f64,
        /// The last lines of its log.
        log: String,
    },
    /// The seed did not answer at the end, so the report would lack its parameters.
    #[error("the first agent did not answer at the end of the run: is this machine overloaded?")]
    NoStatus,
}

impl DemoError {
    /// The process's exit code: 2 for what can be known before the start, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Nodes { .. }
            | Self::Memory { .. }
            | Self::Descriptors { .. }
            | Self::Config(_)
            | Self::LongPath { .. } => 2,
            _ => 1,
        }
    }
}
