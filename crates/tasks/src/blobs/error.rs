//! Why a blob was not put, read or pinned, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::handle::{Handle, MAX_BLOB_BYTES};

/// Why something was not done with a blob. Nothing was left behind unless the error says so.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BlobError {
    /// It is not there.
    #[error(
        "{handle} is not in {folder}: nobody put it there, or it was collected since no task names \
         it; submit what needs it again"
    )]
    Missing {
        /// Which.
        handle: Handle,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// The file is not what it was when it was written. It is left as it is.
    #[error("{path} is damaged ({why}): remove it, check the disk, and submit what needs it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is no space.
    #[error("no space for a blob in {folder} ({why}): nothing was left behind; make space there")]
    Full {
        /// The folder.
        folder: PathBuf,
        /// In the words of the system.
        why: String,
    },
    /// Nothing tells whether bytes are those of a blob without a hash.
    #[error(
        "{handle} was put without a hash, and comes over a connection that is not sealed with a \
         secret key: give the cluster a key (`tidings keys`), or let its owner put it with its hash"
    )]
    Unproven {
        /// Which.
        handle: Handle,
    },
    /// More than a blob may have.
    #[error("a blob of more than {MAX_BLOB_BYTES} bytes: divide it")]
    TooLarge,
    /// What is no name of a holder of pins.
    #[error(
        "`{0}` is no name of a holder: 1 to 128 letters, digits, `.`, `_` or `-`, no `.` in front"
    )]
    Holder(String),
    /// Another version of the program made the folder, or something else did.
    #[error("{path} is `{found}`, not `{wanted}`: use the program that made it, or another folder")]
    Format {
        /// The file that says what the folder is.
        path: PathBuf,
        /// What it says.
        found: String,
        /// What this program knows.
        wanted: String,
    },
    /// The system refused it.
    #[error("{path} cannot be used: {why}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// In the words of the system.
        why: String,
    },
}

impl BlobError {
    /// What an error of the system at this path means.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        let why = error.to_string();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                let folder = path.parent().unwrap_or(path).into();
                Self::Full { folder, why }
            }
            _ => Self::File { path: path.into(), why },
        }
    }
}
