//! Why a file cannot be used as a store, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why a file was not opened. It is as it was before.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenError {
    /// A process holds it: this one, if the process id is its own.
    #[error("{path} is held by {}; ask that process, or stop it first", holder_of(*pid))]
    Held {
        /// The file.
        path: PathBuf,
        /// Who, if that is known.
        pid: Option<u32>,
    },
    /// Another version of the program wrote it.
    #[error(
        "{path} has the format {found}, this program knows {known}: use the program that wrote it, \
         or export with that one and import here"
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        found: u64,
        /// The version that this program reads and writes.
        known: u64,
    },
    /// It is the store of another cluster.
    #[error(
        "{path} is the store of cluster `{found}`, not `{wanted}`: name another file or cluster"
    )]
    Cluster {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Whose it was to be.
        wanted: String,
    },
    /// It is something else.
    #[error("{path} is not a store of Tidings: name another file, or move this one away")]
    NoStore {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read as a whole.
    #[error("{path} is damaged ({why}): restore a copy, or move it away and begin with none")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system refused it.
    #[error("{path} cannot be used: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// In the words of the system, and what helps.
        why: String,
    },
}

impl OpenError {
    pub(super) fn file(path: &Path, error: &io::Error) -> Self {
        Self::File { path: path.into(), why: format!("{error}{}", remedy(error.kind())) }
    }
}

/// What helps where the system refuses a file.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "; make its folder first, or name another file",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; name a file in a folder where you may make some"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; make space there, or name another file"
        }
        ErrorKind::IsADirectory => "; name a file in it",
        _ => "",
    }
}

fn holder_of(pid: Option<u32>) -> String {
    match pid {
        Some(pid) if pid == std::process::id() => format!("this process ({pid})"),
        Some(pid) => format!("process {pid}"),
        None => "another process".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_named_with_a_remedy() {
        for (kind, remedy) in [
            (ErrorKind::NotFound, "make its folder first"),
            (ErrorKind::PermissionDenied, "in a folder where you may make some"),
            (ErrorKind::StorageFull, "make space there"),
            (ErrorKind::IsADirectory, "name a file in it"),
        ] {
            let text = OpenError::file(Path::new("/x/store"), &kind.into()).to_string();
            assert!(text.contains("/x/store") && text.contains(remedy), "{text}");
        }
    }
}
