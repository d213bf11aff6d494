//! System calls for which no safe function is at hand, each in a function that is safe to call.

use std::io;

fn checked(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Blocks all signals for this thread, so that those of the process go to others.
pub(crate) fn block_signals() -> io::Result<()> {
    // SAFETY: a set of signals is plain bits, so zeros are one; the calls write and read it here.
    let result = unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut())
    };
    // This one returns its error.
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// New private pages of zeros for `bytes`, where the kernel likes, filled at once if `filled`.
pub(crate) fn map_private(bytes: usize, filled: bool) -> io::Result<*mut u8> {
    let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    if filled {
        flags |= libc::MAP_POPULATE;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses replaces nothing.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// Gives pages back.
///
/// # Safety
/// They were mapped as a whole with that size, and nothing refers to them.
pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: as the caller says. Of an error nothing follows but pages that stay.
    let _ = unsafe { libc::munmap(start.cast(), bytes) };
}

/// Advises the kernel on pages.
///
/// # Safety
/// The advice must not change what whoever refers to these pages may see in them.
pub(crate) unsafe fn advise(start: *mut u8, bytes: usize, advice: i32) -> io::Result<()> {
    // SAFETY: as the caller says.
    checked(unsafe { libc::madvise(start.cast(), bytes, advice) })
}
