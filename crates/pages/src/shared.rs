//! A file in memory: mapped whole, shared with all processes that map it.
//!
//! A file of 2 MiB or more is mapped from a multiple of 2 MiB on: only there can the kernel map its
//! large pages as such. The address space for that is reserved first, since the kernel by itself
//! begins a mapping at any page.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

use crate::LARGE_BYTES;

/// The bytes of a file, in this process.
///
/// Other processes change them at any time: they are for atomics alone. Whoever maps a file checks
/// its size before, since an access beyond the end of a file ends the process (SIGBUS).
#[derive(Debug)]
pub struct Shared {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the address is that of pages that are there as long as the value; how they are accessed
// is up to those who make references of it, each with its own argument.
unsafe impl Send for Shared {}
// SAFETY: as for Send; methods only hand out the address.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps the first `bytes` of a file for reading.
    ///
    /// # Errors
    /// If `bytes` is 0, the file was not opened for reading, or the address space is full.
    pub fn for_reading(file: &File, bytes: usize) -> io::Result<Self> {
        Self::map(file, bytes, libc::PROT_READ)
    }

    /// Maps the first `bytes` of a file for reading and writing.
    ///
    /// # Errors
    /// As for reading, and if the file was not opened for writing.
    pub fn for_writing(file: &File, bytes: usize) -> io::Result<Self> {
        Self::map(file, bytes, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn map(file: &File, bytes: usize, protection: i32) -> io::Result<Self> {
        if bytes < LARGE_BYTES {
            // SAFETY: a new mapping at an address that the kernel chooses replaces nothing.
            return unsafe { map(null_mut(), bytes, protection, libc::MAP_SHARED, Some(file)) };
        }
        let room = bytes.checked_add(LARGE_BYTES).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: as above; what cannot be accessed takes address space alone.
        let room = unsafe { map(null_mut(), room, libc::PROT_NONE, flags, None)? };
        let start = room.start.wrapping_add(room.start.align_offset(LARGE_BYTES));
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: it replaces a part of what has just been reserved, and nothing else: `bytes` from
        // the first multiple of a large page on lie within a room that is longer by one.
        let shared = unsafe { map(start, bytes, protection, flags, Some(file))? };
        room.trim(&shared);
        Ok(shared)
    }

    /// Gives back what lies before and behind a part of this.
    fn trim(self, part: &Self) {
        let end = |one: &Self| one.start as usize + one.bytes.next_multiple_of(page_bytes());
        let before = part.start as usize - self.start as usize;
        let behind = end(&self) - end(part);
        for (start, bytes) in [(self.start, before), (part.start.with_addr(end(part)), behind)] {
            // SAFETY: both lie within what `self` has reserved and outside of `part`.
            unsafe { unmap(start, bytes) };
        }
        std::mem::forget(self); // all of it is given back, or is that of `part`
    }

    /// Where its bytes are, from a page on.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    /// How many bytes it has.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Its addresses.
    pub fn extent(&self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start + self.bytes
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this size; references to its bytes borrow from `self`.
        unsafe { unmap(self.start, self.bytes) };
    }
}

/// The size of a small page.
fn page_bytes() -> usize {
    // SAFETY: it asks for a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// # Safety
/// With MAP_FIXED, nothing that is in use lies there.
unsafe fn map(
    at: *mut u8,
    bytes: usize,
    protection: i32,
    flags: i32,
    file: Option<&File>,
) -> io::Result<Shared> {
    let file = file.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: the caller's promise.
    let start = unsafe { libc::mmap(at.cast(), bytes, protection, flags, file, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Shared { start: start.cast(), bytes })
}

/// # Safety
/// These bytes are mapped by this module, and nobody has a reference to them.
unsafe fn unmap(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller's promise. It cannot fail for a mapping that is there.
        unsafe { libc::munmap(start.cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;
    use crate::{Report, enlarge};

    fn file(bytes: usize) -> File {
        let file = tempfile::tempfile_in("/dev/shm").expect("a file in memory");
        file.set_len(bytes as u64).expect("room");
        file
    }

    fn byte(shared: &Shared, at: usize) -> &AtomicU8 {
        assert!(at < shared.len(), "{at} is beyond its end");
        // SAFETY: within a mapping that lives as long as the reference; any byte is an AtomicU8.
        unsafe { AtomicU8::from_ptr(shared.as_ptr().add(at)) }
    }

    #[test]
    fn what_one_mapping_writes_another_reads_whatever_the_size() {
        for bytes in [1, 4096, 5000, LARGE_BYTES - 1, LARGE_BYTES, 3 * LARGE_BYTES + 5] {
            let file = file(bytes);
            let writer = Shared::for_writing(&file, bytes).expect("it maps");
            let reader = Shared::for_reading(&file, bytes).expect("it maps");
            for at in [0, bytes / 2, bytes - 1] {
                byte(&writer, at).store(7, Ordering::Relaxed);
                assert_eq!(byte(&reader, at).load(Ordering::Relaxed), 7, "{at} of {bytes}");
            }
            for one in [&writer, &reader] {
                assert!(bytes < LARGE_BYTES || one.as_ptr() as usize % LARGE_BYTES == 0);
                assert_eq!(one.extent().len(), bytes);
            }
        }
    }

    /// Neither a mapping is left, nor what was reserved before and behind it, which would be more
    /// than 2 GiB after a thousand.
    #[test]
    fn nothing_stays_mapped() {
        let bytes = 2 * LARGE_BYTES;
        let file = file(bytes);
        let pages = || {
            let statm = std::fs::read_to_string("/proc/self/statm").expect("there is /proc");
            statm.split(' ').next().and_then(|pages| pages.parse::<usize>().ok()).expect("a size")
        };
        let before = pages();
        for _ in 0..1_000 {
            drop(Shared::for_writing(&file, bytes).expect("it maps"));
        }
        let grown = pages().saturating_sub(before) * page_bytes();
        assert!(grown < 1 << 30, "{grown} bytes of address space are left");
    }

    #[test]
    fn a_file_that_is_not_open_for_writing_cannot_be_written() {
        let path = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file in memory");
        path.as_file().set_len(4096).expect("room");
        let opened = File::open(path.path()).expect("it is there");
        Shared::for_writing(&opened, 4096).expect_err("it was opened for reading");
        Shared::for_reading(&opened, 0).expect_err("nothing cannot be mapped");
        Shared::for_reading(&opened, usize::MAX).expect_err("there is no such address space");
    }

    /// Where the kernel can (Linux 6.1), what one process puts on large pages is there for others.
    #[test]
    fn a_file_in_memory_is_put_on_large_pages_and_keeps_its_bytes() {
        let bytes = 2 * LARGE_BYTES;
        let file = file(bytes);
        let writer = Shared::for_writing(&file, bytes).expect("it maps");
        byte(&writer, bytes - 1).store(9, Ordering::Relaxed);
        let report = enlarge(&writer.extent()).expect("there is memory");
        assert_eq!(report.resident_kib, 4096);
        let reader = Shared::for_reading(&file, bytes).expect("it maps");
        assert_eq!(byte(&reader, bytes - 1).load(Ordering::Relaxed), 9);
        let seen = Report::of(reader.extent().start).expect("it is mapped");
        assert!(seen.large_kib == 0 || report.large_kib > 0, "{report:?} {seen:?}");
    }
}
