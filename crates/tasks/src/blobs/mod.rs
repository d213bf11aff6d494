//! Blobs: what is too large for a record, known by the hash of its bytes.
//!
//! A record of the store is small, since each commit carries it. What is larger lies in a folder
//! beside the store as a file that never changes, and the record has its [`Handle`]. Content that
//! is put twice lies there once.
//!
//! **Who pins and who collects.** A blob stays as long as a *holder* pins it. Holders are names. A
//! blob that belongs to a task is pinned under [`holder_of`] that task by whoever puts it, before
//! the record that names it is written. Nobody unpins it when the task is forgotten: from time to
//! time the process that holds the store asks for each holder whether the store has its record
//! still ([`holders`](Blobs::holders)), drops the pins of those that are gone
//! ([`drop_pins`](Blobs::drop_pins)), and collects what nobody pins ([`collect`](Blobs::collect)).
//! So the record decides, and a crash between any two steps leaves at most space to be freed later.
//! What is younger than a *grace* is left in peace, which gives its writer the time from putting to
//! pinning, and from pinning to the record. More: docs/decisions/0023-blobs.md.
//!
//! Invariants:
//! * A file below `data` is whole and never changes. It is put there by a rename, after a sync.
//! * What was put has been synced, and so has its name; so has a pin. An error leaves nothing.
//! * A pinned blob is not collected, nor one that was put, found again or pinned within the grace.
//! * Whoever reads a blob for the first time in a process checks its hash, unless it lies in
//!   memory.
//!
//! All calls block on the disk; from a task of tokio they belong into `spawn_blocking`.

mod age;
mod draft;
mod error;
mod folder;
mod handle;
mod incoming;
mod mapped;
mod pins;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tidings_tasks_core::id::TaskId;
use tokio::sync::Notify;

use age::Began;
pub use draft::Draft;
pub use error::BlobError;
pub(crate) use folder::make_folder;
use folder::{Folder, names};
pub use handle::{Handle, HandleError, MAX_BLOB_BYTES};
pub(crate) use handle::{hash_of, hex};
pub(crate) use incoming::{Incoming, Source};
pub use mapped::Mapped;

/// How long a blob that nobody pins, and a pin whose task has no record, are left in peace.
pub const GRACE: Duration = Duration::from_secs(3_600);

/// How the names of the holders of replicas begin.
const REPLICA: &str = "replica-";

/// How many blobs are remembered as checked.
const MAX_CHECKED: usize = 65_536;

/// Bytes that are read and hashed at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// A folder of blobs. Any number of processes of one host may use it at a time.
#[derive(Debug)]
pub struct Blobs {
    folder: Arc<Folder>,
    began: Began,
    /// Files whose content this process has checked: hash and inode.
    checked: Mutex<BTreeSet<([u8; 32], u64)>>,
    /// A replica was pinned.
    replica: Notify,
}

/// The folder of blobs of the store in this file.
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".blobs");
    name.into()
}

/// The holder that a task is.
pub fn holder_of(task: TaskId) -> String {
    format!("task-{task}")
}

/// The holder that a task is of a [replica](crate::replicas).
pub(crate) fn replica_holder_of(task: TaskId) -> String {
    format!("{REPLICA}{task}")
}

/// The holders that a task may be.
pub(crate) fn holders_of(task: TaskId) -> [String; 2] {
    [holder_of(task), replica_holder_of(task)]
}

/// The task that a holder is.
pub fn task_of(holder: &str) -> Option<TaskId> {
    holder.strip_prefix("task-").or_else(|| holder.strip_prefix(REPLICA))?.parse().ok()
}

impl Blobs {
    /// Opens a folder of blobs, or makes it, for this user alone. Its parent is there.
    ///
    /// # Errors
    /// It cannot be used, or is something else. What was there is as it was.
    pub fn open(folder: &Path) -> Result<Self, BlobError> {
        Self::open_as(folder, true)
    }

    /// The same, of blobs that need not survive the host: nothing is synced.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in_memory(folder: &Path) -> Result<Self, BlobError> {
        Self::open_as(folder, false)
    }

    /// A folder in memory that another process has made, to read what lies there: none is made.
    ///
    /// # Errors
    /// There is none that this process may use.
    pub(crate) fn open_others(folder: &Path) -> Result<Self, BlobError> {
        let folder = Arc::new(Folder::of_others(folder)?);
        Ok(Self::of(folder))
    }

    /// The number of the folder, if it was asked for before.
    pub(crate) fn known_depot_id(&self) -> Option<u64> {
        self.folder.known_number()
    }

    fn open_as(folder: &Path, is_durable: bool) -> Result<Self, BlobError> {
        let folder = Arc::new(Folder::open(folder, is_durable)?);
        Ok(Self::of(folder))
    }

    fn of(folder: Arc<Folder>) -> Self {
        Self { folder, began: Began::now(), checked: Mutex::default(), replica: Notify::new() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder.root
    }

    /// A number that no other folder has, also not one that is made here after this one was
    /// removed.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn depot_id(&self) -> Result<u64, BlobError> {
        self.folder.number()
    }

    /// Puts these bytes there, durably. Content that is there already is renewed instead.
    ///
    /// # Errors
    /// There is no space, or the folder cannot be used. Nothing was left behind.
    pub fn put(&self, content: &[u8]) -> Result<Handle, BlobError> {
        let handle = Handle::of(content);
        if !self.renew(&handle, content)? {
            let mut draft = self.draft()?;
            draft.write(content)?;
            draft.finish()?;
        }
        Ok(handle)
    }

    /// Puts a copy of a file there, durably. It must not change meanwhile.
    ///
    /// # Errors
    /// It cannot be read, there is no space, or the folder cannot be used. Nothing was left behind.
    pub fn put_file(&self, path: &Path) -> Result<Handle, BlobError> {
        let failed = |error| BlobError::file(path, &error);
        let mut file = File::open(path).map_err(failed)?;
        let mut draft = self.draft()?;
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return draft.finish(),
                Ok(read) => draft.write(&buffer[..read])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Begins a blob that comes piece by piece.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn draft(&self) -> Result<Draft, BlobError> {
        Draft::begin(&self.folder)
    }

    /// Begins a blob that comes from another folder.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub(crate) fn incoming(&self, handle: Handle, from: Source) -> Result<Incoming, BlobError> {
        Incoming::begin(&self.folder, handle, from)
    }

    /// Whether it lies in memory: nothing of it survives the host, and no disk can damage it.
    pub(crate) fn is_in_memory(&self) -> bool {
        !self.folder.is_durable
    }

    /// Whether a blob is there. It may be damaged.
    pub fn has(&self, handle: &Handle) -> bool {
        fs::metadata(self.path(handle)).is_ok_and(|found| found.len() == handle.bytes)
    }

    /// Maps a blob. The first time in this process its hash is checked, which reads all of it; if
    /// it has one.
    ///
    /// # Errors
    /// It is not there, or is damaged.
    pub fn get(&self, handle: &Handle) -> Result<Mapped, BlobError> {
        let (mapped, inode) = self.open_mapped(handle)?;
        if handle.is_drawn() {
            return Ok(mapped);
        }
        let name = (handle.hash, inode);
        if !self.checked().contains(&name) {
            if Handle::of(&mapped) != *handle {
                let why = "its bytes have another hash than its name".into();
                return Err(BlobError::Damaged { path: self.path(handle), why });
            }
            self.remember(name);
        }
        Ok(mapped)
    }

    /// Maps a blob of a folder in memory, whose hash was checked by whoever has put it there:
    /// nothing of it is read.
    ///
    /// # Errors
    /// It is not there.
    pub fn map(&self, handle: &Handle) -> Result<Mapped, BlobError> {
        self.open_mapped(handle).map(|(mapped, _)| mapped)
    }

    /// Maps a blob for another folder: its hash is checked here as those on this host check it.
    ///
    /// # Errors
    /// It is not there, or is damaged.
    pub(crate) fn lend(&self, handle: &Handle) -> Result<Mapped, BlobError> {
        if self.is_in_memory() { self.map(handle) } else { self.get(handle) }
    }

    /// A blob, mapped, and the number of its file.
    fn open_mapped(&self, handle: &Handle) -> Result<(Mapped, u64), BlobError> {
        let path = self.path(handle);
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => {
                BlobError::Missing { handle: *handle, folder: self.folder.root.clone() }
            }
            _ => BlobError::file(&path, &error),
        };
        let file = File::open(&path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        if found.len() != handle.bytes {
            let why = format!("it has {} bytes, not {}", found.len(), handle.bytes);
            return Err(BlobError::Damaged { path: path.clone(), why });
        }
        Ok((Mapped::of(&file).map_err(failed)?, found.ino()))
    }

    /// Pins a blob under the name of a holder, durably, or renews that pin.
    ///
    /// # Errors
    /// The blob is not there, or the name is no name of a holder.
    pub fn pin(&self, handle: &Handle, holder: &str) -> Result<(), BlobError> {
        pins::pin(&self.folder, handle, &[holder])
    }

    /// Pins a blob for some tasks at the cost of one: the disk is waited for once.
    ///
    /// # Errors
    /// As [`pin`](Self::pin). Some may have been pinned.
    pub fn pin_for(&self, handle: &Handle, tasks: &[TaskId]) -> Result<(), BlobError> {
        self.pin_as(handle, tasks, holder_of)
    }

    /// As [`pin_for`](Self::pin_for), of a [replica](crate::replicas).
    ///
    /// # Errors
    /// As [`pin_for`](Self::pin_for).
    pub(crate) fn pin_replica(&self, handle: &Handle, tasks: &[TaskId]) -> Result<(), BlobError> {
        self.pin_as(handle, tasks, replica_holder_of)?;
        self.replica.notify_one();
        Ok(())
    }

    /// Pins a blob for some tasks under these names of theirs.
    fn pin_as(
        &self,
        handle: &Handle,
        tasks: &[TaskId],
        name: fn(TaskId) -> String,
    ) -> Result<(), BlobError> {
        let holders: Vec<String> = tasks.iter().copied().map(name).collect();
        let holders: Vec<&str> = holders.iter().map(String::as_str).collect();
        pins::pin(&self.folder, handle, &holders)
    }

    /// Waits until a replica was pinned here by this process.
    pub(crate) async fn until_replica(&self) {
        self.replica.notified().await;
    }

    /// Replicas, and the tasks that pin them; the first one alone, if that is wanted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn replicas(&self, first: bool) -> Result<Vec<(Handle, Vec<TaskId>)>, BlobError> {
        let mut found = Vec::new();
        for hex in names(&self.folder.pins())? {
            let holders = names(&self.folder.pins().join(&hex))?;
            let holders = holders.iter().filter(|holder| holder.starts_with(REPLICA));
            let tasks: Vec<TaskId> = holders.filter_map(|holder| task_of(holder)).collect();
            let Some(hash) = hash_of(&hex).filter(|_| !tasks.is_empty()) else { continue };
            // One that is gone meanwhile is nobody's.
            let Ok(data) = fs::metadata(self.folder.data().join(&hex)) else { continue };
            found.push((Handle { hash, bytes: data.len() }, tasks));
            if first {
                break;
            }
        }
        Ok(found)
    }

    /// Takes a pin away, if it is there.
    ///
    /// # Errors
    /// The folder cannot be used. The pin may be there.
    pub fn unpin(&self, handle: &Handle, holder: &str) -> Result<(), BlobError> {
        pins::unpin(&self.folder, handle, holder)
    }

    /// The holders of pins that were last renewed at least `grace` ago.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn holders(&self, grace: Duration) -> Result<BTreeSet<String>, BlobError> {
        pins::holders(&self.folder, grace, &|renewed| self.began.age(renewed))
    }

    /// Drops the pins of holders that are gone, but for pins that were renewed within the `grace`.
    /// Returns how many.
    ///
    /// # Errors
    /// The folder cannot be changed. Some may be dropped.
    pub fn drop_pins(&self, of: &BTreeSet<String>, grace: Duration) -> Result<u64, BlobError> {
        pins::drop_pins(&self.folder, of, grace, &|renewed| self.began.age(renewed))
    }

    /// Removes the blobs that nobody pins and that were not renewed for at least `grace`, and what
    /// writers that have died left. Returns how many bytes that freed.
    ///
    /// # Errors
    /// The folder cannot be changed. Some may be removed.
    pub fn collect(&self, grace: Duration) -> Result<u64, BlobError> {
        self.sweep()?;
        self.free(&self.unpinned(grace)?, grace)
    }

    /// Removes what writers that have died left.
    ///
    /// # Errors
    /// The folder cannot be changed.
    pub(crate) fn sweep(&self) -> Result<(), BlobError> {
        draft::sweep(&self.folder)
    }

    /// The names of the blobs that nobody pins and that were not renewed for at least `grace`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn unpinned(&self, grace: Duration) -> Result<Vec<String>, BlobError> {
        let mut unpinned = names(&self.folder.data())?;
        unpinned.retain(|hex| self.is_garbage(hex, grace));
        Ok(unpinned)
    }

    /// Removes some of those, as far as they still are. Returns how many bytes that freed.
    ///
    /// # Errors
    /// The folder cannot be changed. Some may be removed.
    pub(crate) fn free(&self, unpinned: &[String], grace: Duration) -> Result<u64, BlobError> {
        let mut freed_bytes = 0;
        for hex in unpinned {
            let _alone = self.folder.alone()?;
            // Nobody renews or pins it from here on; before, somebody may have.
            if self.is_garbage(hex, grace) {
                let path = self.folder.data().join(hex);
                let failed = |error| BlobError::file(&path, &error);
                freed_bytes += fs::metadata(&path).map_err(failed)?.len();
                fs::remove_file(&path).map_err(failed)?;
                // An empty folder of pins is what a crash has left.
                let _ = fs::remove_dir(self.folder.pins().join(hex));
            }
        }
        Ok(freed_bytes)
    }

    fn is_garbage(&self, hex: &str, grace: Duration) -> bool {
        let age = |renewed| self.began.age(renewed);
        let path = self.folder.data().join(hex);
        pins::is_old(&path, grace, &age) && !pins::is_pinned(&self.folder, hex)
    }

    /// The bytes of all blobs. It looks at each of them.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn bytes(&self) -> Result<u64, BlobError> {
        let data = self.folder.data();
        // Some may go meanwhile.
        let sizes = names(&data)?.into_iter().filter_map(|name| fs::metadata(data.join(name)).ok());
        Ok(sizes.map(|found| found.len()).sum())
    }

    /// Makes a blob young that is there with this content; whether it is.
    fn renew(&self, handle: &Handle, content: &[u8]) -> Result<bool, BlobError> {
        let path = self.path(handle);
        let _shared = self.folder.share()?;
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            other => other.map_err(|error| BlobError::file(&path, &error))?,
        };
        let renew = || {
            if file.metadata()?.len() != handle.bytes || *Mapped::of(&file)? != *content {
                return Ok(false);
            }
            file.set_modified(SystemTime::now())?;
            // Whoever put it may not have come to this.
            self.folder.sync(&self.folder.data())?;
            Ok(true)
        };
        renew().map_err(|error: io::Error| BlobError::file(&path, &error))
    }

    /// The file of a blob.
    pub(crate) fn path(&self, handle: &Handle) -> PathBuf {
        self.folder.data().join(handle.hex())
    }

    fn remember(&self, name: ([u8; 32], u64)) {
        let mut checked = self.checked();
        if checked.len() == MAX_CHECKED {
            checked.clear();
        }
        checked.insert(name);
    }

    fn checked(&self) -> MutexGuard<'_, BTreeSet<([u8; 32], u64)>> {
        // Whoever panicked with it has left a set of names all the same.
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
