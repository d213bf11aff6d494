//! System calls that no crate in use has: BPF, perf events, and requests to devices.
//!
//! Every `unsafe` call here passes memory that lives until it returns and that is as long as the
//! kernel is said to read or write; what is opened is owned, so that it is closed.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::{Signal, set_parent_process_death_signal};

/// A flag of perf_event_open(2).
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Memory of a request to the kernel, in words so that it is aligned, all zero at first.
pub(crate) struct Attributes([u64; 18]);

impl Attributes {
    pub(crate) const BYTES: usize = 18 * 8;

    pub(crate) fn new() -> Self {
        Self([0; 18])
    }

    /// With these 32 bits at a multiple of four bytes.
    pub(crate) fn with_u32(mut self, at: usize, value: u32) -> Self {
        let shift = at % 8 * 8;
        let word = &mut self.0[at / 8];
        *word = *word & !(0xffff_ffff << shift) | u64::from(value) << shift;
        self
    }

    /// With these 64 bits at a multiple of eight bytes.
    pub(crate) fn with_u64(mut self, at: usize, value: u64) -> Self {
        self.0[at / 8] = value;
        self
    }

    /// The 32 bits at a multiple of four bytes.
    pub(crate) fn u32(&self, at: usize) -> u32 {
        (self.0[at / 8] >> (at % 8 * 8)) as u32
    }
}

/// The address of something, as requests to the kernel carry it.
pub(crate) fn address<T: ?Sized>(of: &T) -> u64 {
    std::ptr::from_ref(of).cast::<u8>() as u64
}

/// This process ends when its parent does.
pub(crate) fn end_with_parent() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// The number that the kernel answered, or its error.
pub(crate) fn checked(answer: libc::c_long) -> io::Result<i64> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// bpf(2).
///
/// # Safety
/// Addresses in the attributes are of memory that lives, and is as long as the command says.
pub(crate) unsafe fn bpf(command: u32, attributes: &mut Attributes) -> io::Result<i64> {
    // SAFETY: the attributes are as long as is said; what they name is the caller's to promise.
    checked(unsafe {
        libc::syscall(libc::SYS_bpf, command, attributes.0.as_mut_ptr(), Attributes::BYTES)
    })
}

/// bpf(2), for commands that open something.
///
/// # Safety
/// As [`bpf`].
pub(crate) unsafe fn bpf_open(command: u32, attributes: &mut Attributes) -> io::Result<OwnedFd> {
    // SAFETY: the same is asked of this caller.
    let fd = unsafe { bpf(command, attributes)? };
    // SAFETY: these commands answer with a descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// perf_event_open(2) for this process on whatever core.
pub(crate) fn perf_event(attributes: &Attributes) -> io::Result<OwnedFd> {
    let (this, any, group, flags) = (0, -1, -1, CLOSE_ON_EXEC);
    // SAFETY: the call reads the attributes, which say how long they are.
    let fd = checked(unsafe {
        libc::syscall(libc::SYS_perf_event_open, attributes.0.as_ptr(), this, any, group, flags)
    })?;
    // SAFETY: the call answers with a descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// socket(2), closed when a program is executed.
pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers.
    let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    checked(i64::from(fd))?;
    // SAFETY: the call answers with a descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends bytes to where the socket leads without a name.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the call reads the bytes, which are as many as is said.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    checked(sent as libc::c_long).map(drop)
}

/// A socket option with a value that is plain memory.
pub(crate) fn set_option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &T,
) -> io::Result<()> {
    let (at, bytes) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the call reads the value, which is as long as is said.
    checked(i64::from(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, at, bytes) }))
        .map(drop)
}

/// A request to a device about a network interface.
///
/// # Safety
/// The request reads and writes an `ifreq` and nothing else.
pub(crate) unsafe fn interface_request(
    fd: BorrowedFd<'_>,
    request: libc::c_ulong,
    of: &mut libc::ifreq,
) -> io::Result<()> {
    // SAFETY: an `ifreq` that lives; the caller says that the request is about one.
    checked(i64::from(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, std::ptr::from_mut(of)) }))
        .map(drop)
}

/// A request about the interface of this name, with flags.
pub(crate) fn named_interface(name: &str, flags: i32) -> libc::ifreq {
    // SAFETY: an `ifreq` is integers and arrays of them, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_their_values_where_they_belong() {
        let made = Attributes::new().with_u32(0, 1).with_u32(4, 0xdead_beef).with_u64(8, 7);
        assert_eq!(made.0[..2], [0xdead_beef_0000_0001, 7]);
        assert_eq!((made.u32(0), made.u32(4)), (1, 0xdead_beef));
        assert_eq!(made.with_u32(4, 2).u32(4), 2);
    }
}
