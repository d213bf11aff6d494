//! The file in memory: the one place with `unsafe`, where mapped bytes become atomic words.
//!
//! The sizes are checked before anything is mapped, and the space of a new file is allocated before
//! anybody writes to it: an access to a page that a file lacks, or that a full file system cannot
//! provide, would end the process with SIGBUS. Who may write the file can still shrink it; nobody
//! but its user may.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use tidings_pages::Shared;

use crate::layout::{FLAGS_AT, LINE_BYTES, WORDS_AT};

/// Makes a file of `bytes` zeros for this user, and allocates its space. Nothing is left behind if
/// that fails.
pub(crate) fn create(path: &Path, bytes: usize) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
    if let Err(error) = fallocate(&file, FallocateFlags::empty(), 0, bytes as u64) {
        let _ = std::fs::remove_file(path); // the first error is reported
        return Err(error.into());
    }
    Ok(file)
}

/// A file of words, mapped whole, shared with all who map it.
#[derive(Debug)]
pub(crate) struct Words {
    raw: Shared,
}

impl Words {
    /// Maps the first `bytes` of a file, which has as many.
    pub(crate) fn of(file: &File, bytes: usize) -> io::Result<Self> {
        Ok(Self { raw: Shared::for_writing(file, bytes)? })
    }

    /// The words.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "mappings begin at a page")]
    pub(crate) fn all(&self) -> &[AtomicU64] {
        let words = self.raw.len() / 8;
        // SAFETY: the mapping is live as long as `self`, from which the slice borrows, has at least
        // `8 * words` bytes, and begins at a page, so words are aligned. Every bit pattern is an
        // AtomicU64. Other processes change the bytes at any time, which atomics permit; these
        // bytes are accessed in no other way.
        unsafe { std::slice::from_raw_parts(self.raw.as_ptr().cast::<AtomicU64>(), words) }
    }
}

/// The file of a segment: words, and flags of four bytes between them.
#[derive(Debug)]
pub(crate) struct Mapping {
    raw: Shared,
}

impl Mapping {
    /// Maps the first `bytes` of a file, which has as many; a segment has more than its header and
    /// flags.
    pub(crate) fn of(file: &File, bytes: usize) -> io::Result<Self> {
        if bytes < WORDS_AT {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self { raw: Shared::for_writing(file, bytes)? })
    }

    /// The words of the header.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "mappings begin at a page")]
    pub(crate) fn header(&self) -> &[AtomicU64] {
        // SAFETY: as for `Words`; the mapping has at least WORDS_AT bytes, and the words and flags
        // of this and the next two functions are disjoint.
        unsafe { std::slice::from_raw_parts(self.raw.as_ptr().cast::<AtomicU64>(), FLAGS_AT / 8) }
    }

    /// The flag of a worker.
    ///
    /// # Panics
    /// If it is beyond the flags.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "lines begin at multiples of 64 in a page")]
    pub(crate) fn flag(&self, worker: u32) -> &AtomicU32 {
        let at = FLAGS_AT + worker as usize * LINE_BYTES;
        assert!(at < WORDS_AT, "flag {worker} is beyond all");
        // SAFETY: as for `header`; four bytes at `at`, a multiple of 64, are before WORDS_AT.
        unsafe { &*self.raw.as_ptr().add(at).cast::<AtomicU32>() }
    }

    /// The words behind the flags.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "WORDS_AT is a multiple of 64 in a page")]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let words = (self.raw.len() - WORDS_AT) / 8;
        // SAFETY: as for `header`; `8 * words` bytes follow WORDS_AT, a multiple of 64.
        unsafe {
            let start = self.raw.as_ptr().add(WORDS_AT).cast::<AtomicU64>();
            std::slice::from_raw_parts(start, words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No file system of a test has room for 64 TiB: what a full one says comes as an error when
    /// the file is made, not as a signal later.
    #[test]
    fn a_full_file_system_is_an_error_and_leaves_no_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("segment");
        assert!(create(&path, 1 << 46).is_err());
        assert!(!path.exists());
    }
}
