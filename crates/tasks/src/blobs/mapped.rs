//! Blobs in memory: the one place with `unsafe`, where a file is read as a slice.
//!
//! A mapping costs no copy, however large the blob is and however many processes of the host read
//! it. What makes it a slice is that the file never changes: it was written under another name,
//! got the mode 0444 and its own name when it was whole, and is only ever unlinked or replaced
//! under that name by another file, which leaves this one as it is for those who have it mapped.

#![expect(unsafe_code, reason = "a mapped file is a slice by promise, not by type")]

use core::fmt;
use core::ops::Deref;
use std::fs::File;
use std::io;

use memmap2::Mmap;

/// The bytes of a blob, mapped read-only. They stay when the blob is collected meanwhile.
pub struct Mapped(Mmap);

impl Mapped {
    /// Maps a whole file that never changes.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the caller passes a file of the folder of blobs, which no code of this crate
        // writes to once it has its name (the module's description says why), or a draft that its
        // writer has finished. A program of the same
        // user that changes its mode and then the file can make the slice change, or end this
        // process by SIGBUS: such a program could as well write into this process.
        unsafe { Mmap::map(file) }.map(Self)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({} bytes)", self.len())
    }
}
