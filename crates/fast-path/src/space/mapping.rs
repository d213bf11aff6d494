//! A file mapped at one address, or not at all: the one place of the space with `unsafe`.
//!
//! MAP_FIXED_NOREPLACE maps where it is asked to and refuses if anything is there; before Linux
//! 4.17 it is taken as a hint, so where the kernel did map is looked at.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;

use crate::kernel::unmap;

/// Pages of a sealed file, at the address that was asked for.
#[derive(Debug)]
pub(super) struct Mapping {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the pages hold atomic words alone, and are reached by shared references to these; the
// address is only for their unmapping, which happens once, in `drop`.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of a file, which has as many and cannot shrink, at `base`.
    pub(super) fn at(base: usize, file: &File, bytes: usize, writable: bool) -> io::Result<Self> {
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
        let wanted = std::ptr::without_provenance_mut::<libc::c_void>(base);
        // SAFETY: a mapping that replaces nothing, of a file that is open.
        let start = unsafe { libc::mmap(wanted, bytes, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = Self { start: start.cast(), bytes };
        if start != wanted {
            return Err(io::Error::from_raw_os_error(libc::EEXIST)); // unmapped by its drop
        }
        Ok(mapping)
    }

    /// All words. Of a mapping for reading they must only be loaded, relaxed.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "mappings begin at a page")]
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping lives as long as `self`, has `bytes` bytes of a file that is sealed
        // against shrinking, and begins at a page, so words are aligned. Every bit pattern is an
        // atomic word. Other processes change them at any time, which atomics permit.
        unsafe { std::slice::from_raw_parts(self.start.cast::<AtomicU64>(), self.bytes / 8) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `at` with this size; slices of words borrow from `self`.
        unsafe { unmap(self.start, self.bytes) };
    }
}
