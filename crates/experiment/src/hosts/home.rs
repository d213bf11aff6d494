//! The folder of a lab that has hosts, below /run: their script, and a lock that says it lives.
//!
//! Namespaces remain after a lab is killed. Their names begin with the lab's tag, which stands in
//! the file that it keeps locked: who can lock it knows that nobody uses them any more, and removes
//! them with the folder.
//!
//! Invariant: a folder whose lock is held, or that does not say whose it is, is left alone.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

/// Not where temporary files may lie, in /dev/shm: that is another one on each host.
const ABOVE: &str = "/run";
/// What the names of these folders and all tags begin with.
pub(super) const PREFIX: &str = "tidings-lab-";
/// The file that is locked as long as the lab lives.
const LOCK: &str = "tag";

/// The folder of this lab.
#[derive(Debug)]
pub struct Home {
    place: TempDir,
    _lock: File,
}

impl Home {
    /// Makes it, for hosts with this tag.
    ///
    /// # Errors
    /// What the system says, if this is not root.
    pub fn make(tag: &str) -> io::Result<Self> {
        let place = TempDir::with_prefix_in(PREFIX, ABOVE)?;
        let mut lock = File::create_new(place.path().join(LOCK))?;
        // Another lab that looks at it just now lets go of it at once.
        flock(&lock, FlockOperation::LockExclusive)?;
        lock.write_all(tag.as_bytes())?;
        Ok(Self { place, _lock: lock })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

/// Hands the tags of labs that were killed to `remove`, then removes their folders.
pub fn clear(remove: impl Fn(&str)) {
    for entry in fs::read_dir(ABOVE).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_named && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Who cannot be cleared away is in nobody's way: the next lab tries again.
            let _ = clear_one(&entry.path(), &remove);
        }
    }
}

fn clear_one(home: &Path, remove: impl Fn(&str)) -> io::Result<()> {
    let mut lock = File::open(home.join(LOCK))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    let mut tag = String::new();
    lock.read_to_string(&mut tag)?;
    if !tag.starts_with(PREFIX) {
        return Ok(()); // its lab is about to lock it
    }
    remove(&tag);
    fs::remove_dir_all(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_a_lab_that_lives_is_left_alone() {
        let tag = format!("{PREFIX}{}-home", std::process::id());
        // Like the rest of this backend it wants root; elsewhere there is nothing to show.
        let Ok(home) = Home::make(&tag) else { return };
        clear(|other| assert_ne!(other, tag, "it is held"));
        assert!(home.path().is_dir());
    }
}
