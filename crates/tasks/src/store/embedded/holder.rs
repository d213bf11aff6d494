//! Who holds a store: one process at a time.
//!
//! Beside the file `PATH` lies `PATH.lock`, locked (`flock`) by the process that holds the store as
//! long as it lives, with its process id as text. The lock decides; the text is for people. The
//! lock file is never removed: a process that waits for it would wait for a file that nobody can
//! see. The file itself is locked too, for programs that know only redb.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::error::OpenError;

/// The right to use the file, until this is dropped.
#[derive(Debug)]
pub(super) struct Holder(#[expect(dead_code, reason = "it is held, not read")] File);

impl Holder {
    /// Becomes the holder of the store at this path.
    pub(super) fn of(path: &Path) -> Result<Self, OpenError> {
        let beside = beside(path, "lock");
        let failed = |error| OpenError::file(&beside, &error);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&beside)
            .map_err(failed)?;
        if !lock(&file).map_err(failed)? {
            let mut pid = String::new();
            // Without it the sentence is less helpful, and no less true.
            let _ = file.read_to_string(&mut pid);
            return Err(OpenError::Held { path: path.into(), pid: pid.trim().parse().ok() });
        }
        file.set_len(0).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self(file))
    }
}

/// Locks a file for this process alone; whether that was possible.
pub(super) fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The path with another ending.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
