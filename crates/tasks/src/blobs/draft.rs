//! Drafts: blobs that are being written.
//!
//! A draft lies under a name of its own, is written and synced, and then gets the name of its hash
//! by one rename: a reader sees all of a blob or none of it. Its writer holds a lock on it as long
//! as it lives. So what a crash leaves is known by its lock being free, whatever the clock says,
//! and is swept with the next [`collect`](super::Blobs::collect).

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};

use super::error::BlobError;
use super::folder::{Folder, names};
use super::handle::{Handle, MAX_BLOB_BYTES};
use super::mapped::Mapped;

/// Drafts that this process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A file of a blob that has no name yet. Dropped, it leaves nothing.
#[derive(Debug)]
pub(super) struct Unnamed {
    folder: Arc<Folder>,
    file: File,
    path: PathBuf,
    is_named: bool,
}

impl Unnamed {
    pub(super) fn begin(folder: &Arc<Folder>) -> Result<Self, BlobError> {
        // Nobody sweeps between its name and its lock.
        let _shared = folder.share()?;
        loop {
            let number = BEGUN.fetch_add(1, Ordering::Relaxed);
            let path = folder.new_ones().join(format!("{}-{number}", std::process::id()));
            let failed = |error| BlobError::file(&path, &error);
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                // Of another namespace of processes, or of an earlier process with this number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other.map_err(failed)?,
            };
            flock(&file, FlockOperation::NonBlockingLockExclusive)
                .map_err(|error| failed(error.into()))?;
            return Ok(Self { folder: folder.clone(), file, path, is_named: false });
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.file.write_all(bytes).map_err(|error| BlobError::file(&self.path, &error))
    }

    /// What is wrong with a content that has come in place of another one.
    pub(super) fn other(&self, came: u64, wanted: &Handle) -> BlobError {
        let why = format!("{came} bytes came that are not {wanted}");
        BlobError::Damaged { path: self.path.clone(), why }
    }

    /// Makes it the blob with this handle, durable.
    pub(super) fn name(mut self, handle: &Handle) -> Result<(), BlobError> {
        let path = self.path.clone();
        let failed = |error| BlobError::file(&path, &error);
        self.file.set_permissions(Permissions::from_mode(0o444)).map_err(failed)?;
        let _shared = self.folder.share()?;
        // From now on it is young, however long the writing took.
        self.file.set_modified(SystemTime::now()).map_err(failed)?;
        self.folder.sync_file(&self.file).map_err(failed)?;
        let data = self.folder.data();
        fs::rename(&path, data.join(handle.hex())).map_err(failed)?;
        self.is_named = true;
        self.folder.sync(&data).map_err(failed)
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if !self.is_named {
            // What stays all the same is swept.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A blob that is being written. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct Draft {
    unnamed: Unnamed,
    hasher: Sha256,
    bytes: u64,
}

impl Draft {
    pub(super) fn begin(folder: &Arc<Folder>) -> Result<Self, BlobError> {
        Ok(Self { unnamed: Unnamed::begin(folder)?, hasher: Sha256::new(), bytes: 0 })
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// No space, or too many bytes. The draft is of no use any more.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_BLOB_BYTES {
            return Err(BlobError::TooLarge);
        }
        self.hasher.update(bytes);
        self.unnamed.write(bytes)
    }

    /// The file, for a program that writes it itself instead.
    pub(crate) fn path(&self) -> &Path {
        &self.unnamed.path
    }

    /// Takes what another has written into its file, which must not change any more.
    ///
    /// # Errors
    /// It cannot be read, or has too many bytes.
    pub(crate) fn take_written(&mut self) -> Result<(), BlobError> {
        let failed = |error| BlobError::file(&self.unnamed.path, &error);
        let file = File::open(&self.unnamed.path).map_err(failed)?;
        let mapped = Mapped::of(&file).map_err(failed)?;
        self.bytes = mapped.len() as u64;
        if self.bytes > MAX_BLOB_BYTES {
            return Err(BlobError::TooLarge);
        }
        self.hasher = Sha256::new_with_prefix(&*mapped);
        Ok(())
    }

    /// Makes what another has written into its file, which must not change any more, a blob with a
    /// drawn name: nothing of it is read.
    ///
    /// # Errors
    /// It cannot be read, or has too many bytes. Nothing is left of it.
    pub(crate) fn finish_unhashed(self) -> Result<Handle, BlobError> {
        let failed = |error| BlobError::file(&self.unnamed.path, &error);
        let bytes = fs::metadata(&self.unnamed.path).map_err(failed)?.len();
        if bytes > MAX_BLOB_BYTES {
            return Err(BlobError::TooLarge);
        }
        let handle = Handle::drawn(bytes).map_err(failed)?;
        self.unnamed.name(&handle)?;
        Ok(handle)
    }

    /// Makes it a blob, durable.
    ///
    /// # Errors
    /// No space. Nothing is left of it.
    pub fn finish(self) -> Result<Handle, BlobError> {
        let handle = Handle { hash: self.hasher.finalize().into(), bytes: self.bytes };
        self.unnamed.name(&handle)?;
        Ok(handle)
    }
}

/// Removes what writers that have died left.
pub(super) fn sweep(folder: &Folder) -> Result<(), BlobError> {
    let _alone = folder.alone()?;
    for name in names(&folder.new_ones())? {
        let path = folder.new_ones().join(name);
        let Ok(file) = File::open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            fs::remove_file(&path).map_err(|error| BlobError::file(&path, &error))?;
        }
    }
    Ok(())
}
