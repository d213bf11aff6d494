//! The file in memory: the one place with `unsafe`, where mapped bytes become atomic words.
//!
//! The sizes are checked before anything is mapped, and the writer allocates the disk space of a
//! new file before it writes to it: an access to a page that a file lacks, or that a full disk
//! cannot provide, would end the process with SIGBUS. Who may write a file can still shrink it
//! under a reader; nobody but the agent's user may.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fchmod};
use tidings_pages::Shared;

/// A file mapped whole, shared with all who map it.
#[derive(Debug)]
pub(crate) struct Mapping {
    raw: Shared,
}

impl Mapping {
    /// Maps the first `bytes` of a file for reading; the file has as many.
    pub(crate) fn for_reading(file: &File, bytes: usize) -> io::Result<Self> {
        Ok(Self { raw: Shared::for_reading(file, bytes)? })
    }

    /// Makes a file of `bytes` zeros that all may read, allocates its space, and maps it for
    /// writing. Nothing is left behind if that fails.
    pub(crate) fn create(path: &Path, bytes: usize) -> io::Result<(File, Self)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o644);
        let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
        let map = || {
            fchmod(&file, Mode::from_raw_mode(0o644))?; // whatever the umask
            fallocate(&file, FallocateFlags::empty(), 0, bytes as u64)?;
            Ok(Self { raw: Shared::for_writing(&file, bytes)? })
        };
        let mapped = map();
        match mapped {
            Ok(mapping) => Ok((file, mapping)),
            Err(error) => {
                let _ = std::fs::remove_file(path); // the first error is reported
                Err(error)
            }
        }
    }

    /// Its addresses.
    pub(crate) fn extent(&self) -> std::ops::Range<usize> {
        self.raw.extent()
    }

    /// The words of the file. A mapping for reading must only be loaded from, relaxed.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "mappings begin at a page")]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let words = self.raw.len() / 8;
        // SAFETY: the mapping is live as long as `self`, from which the slice borrows, and has
        // `8 * words` bytes; mappings begin at a page, so words are aligned. Every bit pattern is
        // an AtomicU64. Other processes change the bytes at any time, which atomics permit; no
        // reference to them as anything but atomics is ever made. Pages mapped for reading see
        // only relaxed loads of 64 bits, which Rust allows on read-only memory.
        unsafe { std::slice::from_raw_parts(self.raw.as_ptr().cast::<AtomicU64>(), words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No file system of a test has room for 64 TiB: what a full disk says comes as an error when
    /// the file is made, not as a signal later.
    #[test]
    fn a_full_disk_is_an_error_and_leaves_no_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("board");
        assert!(Mapping::create(&path, 1 << 46).is_err());
        assert!(!path.exists());
    }
}
