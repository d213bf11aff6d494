//! System calls and instructions for which no safe function is at hand, each in one that is safe to
//! call.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

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

/// A number that nobody can guess, and that is not 0.
pub(crate) fn random() -> io::Result<u64> {
    let mut number = 0u64;
    // SAFETY: the kernel writes the eight bytes of the number, whose every bit pattern is one.
    let filled = unsafe { libc::getrandom((&raw mut number).cast(), 8, 0) };
    if filled == 8 { Ok(number.max(1)) } else { Err(io::Error::last_os_error()) }
}

/// A socket that sends frames as they are by the interface with this number, past its queue.
pub(crate) fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: opens a socket, which is ours. Protocol 0: it receives nothing.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_PACKET, kind, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(socket)
    };
    // SAFETY: an address is plain numbers, so zeros are one; the calls read it, and the number
    // after it, here.
    unsafe {
        let mut address = std::mem::zeroed::<libc::sockaddr_ll>();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface as i32;
        let bytes = size_of::<libc::sockaddr_ll>() as u32;
        checked(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes))?;
        let (level, option, yes) = (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1i32);
        let bytes = size_of::<i32>() as u32;
        checked(libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const yes).cast(),
            bytes,
        ))?;
    }
    Ok(socket)
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

/// Pages that a descriptor gives, from an offset on, shared and writable: at an address where
/// nothing is, or else where the kernel likes.
pub(crate) fn map_shared(
    from: impl AsFd,
    offset: i64,
    bytes: usize,
    at: Option<usize>,
) -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let fixed = if at.is_some() { libc::MAP_FIXED_NOREPLACE } else { 0 };
    let wanted = std::ptr::without_provenance_mut::<libc::c_void>(at.unwrap_or_default());
    let from = from.as_fd().as_raw_fd();
    // SAFETY: a new mapping that replaces nothing.
    let start =
        unsafe { libc::mmap(wanted, bytes, protection, libc::MAP_SHARED | fixed, from, offset) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if at.is_some() && start != wanted {
        // A kernel before 4.17 takes it as a hint.
        // SAFETY: just mapped, with this size.
        unsafe { unmap(start.cast(), bytes) };
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    Ok(start.cast())
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

/// Has this core begin to take a line from the core that wrote it last, to write to it soon. It
/// waits for nothing, and changes nothing but the time of that write.
#[inline]
pub(crate) fn fetch_for_writing<T>(line: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is a hint about a place that a reference is to, and changes nothing.
    unsafe {
        std::arch::asm!("prefetchw [{0}]", in(reg) std::ptr::from_ref(line),
            options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line; // elsewhere the write takes its time
}
