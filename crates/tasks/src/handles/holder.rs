//! Who holds what: the pins of a process, which end with it, however it ends.
//!
//! A process has a file in the folder, locked as long as it lives. Its pins have the name of that
//! file. So what a killed process has held is known by a lock that nobody has: no process numbers,
//! and no times.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use crate::blobs::{BlobError, Blobs, Handle};

/// What the names of processes begin with, as holders of pins.
const PROCESS: &str = "process-";

/// The folder of the locked files, below that of the blobs.
const ALIVE: &str = "alive";

/// This process, as one that holds blobs of a folder.
#[derive(Debug)]
pub(super) struct Holder {
    blobs: Arc<Blobs>,
    name: String,
    path: PathBuf,
    /// How often it holds each blob.
    counts: Mutex<BTreeMap<Handle, u64>>,
    #[expect(dead_code, reason = "it is held, not read")]
    lock: File,
}

/// A blob that is held, until this is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    holder: Arc<Holder>,
    handle: Handle,
}

impl Holder {
    /// Begins to hold blobs of a folder.
    pub(super) fn begin(blobs: Arc<Blobs>) -> Result<Self, BlobError> {
        let alive = blobs.folder().join(ALIVE);
        let failed = |error: io::Error| BlobError::file(&alive, &error);
        crate::blobs::make_folder(&alive).map_err(failed)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| failed(io::Error::other(error.to_string())))?;
        let name = format!("{PROCESS}{:016x}", u64::from_be_bytes(random));
        let path = alive.join(&name);
        // It gets its name once it is locked: nobody sees it free.
        let before = alive.join(format!(".{name}"));
        let begin = || {
            let file = OpenOptions::new().write(true).create_new(true).open(&before)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            fs::rename(&before, &path)?;
            Ok(file)
        };
        let lock = begin().map_err(failed)?;
        Ok(Self { blobs, name, path, counts: Mutex::default(), lock })
    }

    /// Holds a blob that is there.
    pub(super) fn hold(self: &Arc<Self>, handle: Handle) -> Result<Hold, BlobError> {
        // While the count is locked, so that pin and count agree.
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(handle).or_default();
        if *count == 0 {
            self.blobs.pin(&handle, &self.name)?;
        }
        *count += 1;
        Ok(Hold { holder: self.clone(), handle })
    }

    /// Whether no other process uses the folder, and this one uses it once.
    pub(super) fn is_alone(&self) -> bool {
        !is_used_beside(self.blobs.folder(), Some(&self.name))
    }

    fn release(&self, handle: &Handle) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(handle) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(handle);
            // What stays pinned goes with this process.
            let _ = self.blobs.unpin(handle, &self.name);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holder.release(&self.handle);
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // What is left of it is not locked.
        let _ = fs::remove_file(&self.path);
    }
}

/// Those of some holders that are processes which do not live any more.
pub(super) fn dead(folder: &Path, holders: BTreeSet<String>) -> BTreeSet<String> {
    let is_dead = |name: &String| name.starts_with(PROCESS) && !lives(&folder.join(ALIVE), name);
    holders.into_iter().filter(is_dead).collect()
}

/// Whether a process holds blobs of a folder, or could.
pub(super) fn is_used(folder: &Path) -> bool {
    is_used_beside(folder, None)
}

fn is_used_beside(folder: &Path, own: Option<&str>) -> bool {
    let alive = folder.join(ALIVE);
    let names = fs::read_dir(&alive).into_iter().flatten().flatten();
    let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| own != Some(&*name) && lives(&alive, &name))
}

fn lives(alive: &Path, name: &str) -> bool {
    match File::open(alive.join(name)) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_err(),
        // A folder that cannot be read shows nobody dead.
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}
