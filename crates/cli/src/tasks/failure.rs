//! Why a command on tasks fails, and its exit code.

use std::io;
use std::path::PathBuf;

use tidings_tasks::blobs::BlobError;
use tidings_tasks::inspect::archive::ArchiveError;
use tidings_tasks::parts::PartsError;
use tidings_tasks::payloads::PayloadError;
use tidings_tasks::session::SessionEnded;
use tidings_tasks::store::Lost;
use tidings_tasks::store::address::OpenError;
use tidings_tasks::usual::UsualError;
use tidings_tasks_core::message::{Answer, Refusal};

use super::run::{GraphError, SourceError, TemplateError};

/// Why a command on tasks fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TasksError {
    /// There is no store where none is named.
    #[error(transparent)]
    Usual(#[from] UsualError),
    /// The store cannot be had.
    #[error(transparent)]
    Session(#[from] SessionEnded),
    /// The store cannot be opened: it is in use, or none.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store cannot be read any more.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A store has other parts than were stated, or that is not known.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// A store was not exported or imported.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A file cannot be read or written.
    #[error("{} cannot be used ({source}): name another place", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Records of a store do not fit together.
    #[error("{0} records are not as they should be: they are named above; the others can be used")]
    Unsound(u64),
    /// The servers of a store are not as they should be.
    #[error("what is wrong with the etcd is named above: {0} in all")]
    Unfit(usize),
    /// The outputs of tasks cannot be had.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A payload or result that is too long for a record cannot be had.
    #[error(transparent)]
    Payloads(#[from] PayloadError),
    /// The coordinator has refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The coordinator is of another version.
    #[error(
        "the process that holds the store answered what this program does not know ({0:?}): use \
         programs of one version"
    )]
    Answer(Box<Answer>),
    /// The arguments of a run cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A run's command names an argument that there is not.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A file is no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A folder for the output of tasks, or the runtime, cannot be had.
    #[error("{what}: {source}")]
    System {
        /// What it was for.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output cannot be written.
    #[error("writing the output failed: {0}")]
    Output(io::Error),
    /// The directory of a run is not text.
    #[error("the directory {} is not text in UTF-8: change to another one", .0.display())]
    Directory(PathBuf),
    /// Tasks of a run have failed.
    #[error("{failed} of {all} tasks failed{remedy}")]
    Failed {
        /// How many.
        failed: usize,
        /// Of how many.
        all: usize,
        /// What can be done about it.
        remedy: String,
    },
    /// A signal has ended the command in good order.
    #[error("stopped{after}")]
    Stopped {
        /// The signal.
        signal: i32,
        /// What it left behind, and how to go on.
        after: String,
    },
    /// Something is left in a store that cannot be reached.
    #[error("{0}")]
    Left(String),
    /// A store is to be looked into that others use.
    #[error(
        "the store is in use, `{coordinator}` coordinates it: end its workers and commands first"
    )]
    InUse {
        /// Its coordinator.
        coordinator: String,
    },
    /// A key was changed by another.
    #[error("{key} is at revision {found}, not {expected} (0: no value): read it again")]
    Changed {
        /// The key.
        key: String,
        /// The revision at which it is.
        found: u64,
        /// The revision that was expected.
        expected: u64,
    },
    /// Nothing has this name.
    #[error("{0}")]
    NotFound(String),
    /// The arguments do not go together.
    #[error("{0}")]
    Usage(String),
    /// The worker cannot go on. What was running was given back, or runs elsewhere.
    #[error("the worker has ended: {0}")]
    Worker(String),
    /// The command that a task was claimed for, or permits were acquired for, has failed.
    #[error("{command} ended with exit status {status}")]
    Command {
        /// The program.
        command: String,
        /// Its exit status.
        status: u8,
    },
    /// That command was not started.
    #[error("{program} does not start ({source}): give the path of a program")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

impl TasksError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usual(_)
            | Self::Source(_)
            | Self::Template(_)
            | Self::Graph(_)
            | Self::Usage(_)
            | Self::Directory(_)
            | Self::Refused(Refusal::Invalid(_)) => 2,
            Self::Session(_)
            | Self::Worker(_)
            | Self::Left(_)
            | Self::Open(_)
            | Self::Lost(_)
            | Self::Parts(PartsError::Lost(_))
            | Self::InUse { .. } => 3,
            Self::Refused(Refusal::NoTask | Refusal::NoSemaphore) | Self::NotFound(_) => 4,
            Self::Failed { .. } | Self::Changed { .. } => 5,
            Self::Stopped { signal, .. } => 128 + u8::try_from(*signal).unwrap_or(127),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Command { status, .. } => *status,
            // As in a shell.
            Self::NotStarted { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::NotStarted { .. } => 126,
            Self::Refused(_)
            | Self::Answer(_)
            | Self::Blobs(_)
            | Self::Payloads(_)
            | Self::Output(_)
            | Self::Archive(_)
            | Self::Parts(_)
            | Self::File { .. }
            | Self::Unsound(_)
            | Self::Unfit(_)
            | Self::System { .. } => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_as_documented() {
        let failed = TasksError::Failed { failed: 1, all: 2, remedy: String::new() };
        let stopped = TasksError::Stopped { signal: 2, after: String::new() };
        for (error, code) in [
            (failed, 5),
            (stopped, 130),
            (TasksError::Refused(Refusal::NoTask), 4),
            (TasksError::Refused(Refusal::Full(String::new())), 1),
            (TasksError::Refused(Refusal::Invalid(String::new())), 2),
            (TasksError::Source(SourceError::NoCommand), 2),
        ] {
            assert_eq!(error.exit_code(), code, "{error}");
        }
    }
}
