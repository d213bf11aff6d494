//! Scratch: the folder of a worker for files of its tries, and what killed workers have left.
//!
//! A folder is locked as long as a worker uses it, and marked as one that may go with it. So one
//! that is marked and that nobody has locked was left by a worker that was killed. The next worker
//! whose folder lies beside it removes it.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

/// How the names of folders begin that are looked at.
const NAME: &str = "tidings-";

/// The file that marks a folder.
const MARK: &str = ".of-a-worker";

/// The folder of a worker. Dropped, it is removed if nothing is in it.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    lock: OwnedFd,
}

impl Scratch {
    /// Makes a folder, and removes what others have left beside it. None if it cannot be made or
    /// locked: then it stays as it is.
    pub(super) fn make(folder: &Path) -> Option<Self> {
        if let Some(parent) = folder.parent() {
            remove_left(parent);
        }
        // One that is removed just now is made again.
        (0..3).find_map(|_| Self::locked(folder))
    }

    fn locked(folder: &Path) -> Option<Self> {
        fs::create_dir_all(folder).ok()?;
        let lock = locked(folder, FlockOperation::NonBlockingLockShared)?;
        fs::write(folder.join(MARK), "").ok()?;
        Some(Self { folder: folder.to_owned(), lock })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Another worker may use it too.
        if flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(self.folder.join(MARK));
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// A folder with a lock that goes when this process ends.
fn locked(folder: &Path, how: FlockOperation) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::empty()).ok()?;
    flock(&file, how).ok()?;
    Some(file)
}

/// Removes the folders of this user's workers that were killed.
fn remove_left(parent: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let folder = entry.path();
        let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(NAME));
        let is_marked = || folder.join(MARK).is_file();
        if !is_named || !entry.metadata().is_ok_and(|found| found.uid() == user) || !is_marked() {
            continue;
        }
        let lock = locked(&folder, FlockOperation::NonBlockingLockExclusive);
        // A worker that has ended meanwhile has left what is not its own.
        if lock.is_some() && is_marked() {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_worker_has_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        let living = Scratch::make(&path("tidings-living")).unwrap();
        for name in ["tidings-killed", "tidings-another", "other"] {
            fs::create_dir_all(path(name).join("inputs")).unwrap();
        }
        fs::write(path("tidings-killed").join(MARK), "").unwrap();
        fs::write(path("other").join(MARK), "").unwrap();
        let own = Scratch::make(&path("tidings-own")).unwrap();
        assert!(!path("tidings-killed").exists());
        for name in ["tidings-living", "tidings-own", "tidings-another", "other"] {
            assert!(path(name).exists(), "{name}");
        }
        drop((living, own));
        assert!(!path("tidings-living").exists() && !path("tidings-own").exists());
    }

    #[test]
    fn a_folder_of_two_workers_goes_with_the_last_and_only_if_it_is_empty() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("tidings-both");
        let (one, other) = (Scratch::make(&folder).unwrap(), Scratch::make(&folder).unwrap());
        drop(one);
        assert!(folder.join(MARK).exists());
        fs::write(folder.join("file"), "").unwrap();
        drop(other);
        assert!(folder.join("file").exists() && !folder.join(MARK).exists());
    }
}
