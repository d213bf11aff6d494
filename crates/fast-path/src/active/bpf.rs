//! bpf(2): maps whose memory this process maps too, and programs on them.
//!
//! Maps, programs and links are descriptors, closed with what has them: a program that nothing
//! refers to any more is unloaded, and one that is attached by a link is detached.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use crate::kernel::{map_private, map_shared, unmap};

const MAP_CREATE: libc::c_int = 0;
const PROGRAM_LOAD: libc::c_int = 5;
const PROGRAM_TEST_RUN: libc::c_int = 10;
const MAP_BY_NUMBER: libc::c_int = 14;
const INFORMATION: libc::c_int = 15;
const LINK_CREATE: libc::c_int = 28;
const ARRAY: u32 = 2;
const ARENA: u32 = 33;
const CAN_BE_MAPPED: u32 = 1 << 10;
const XDP: u32 = 6;
const AT_XDP: u32 = 37;
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;

/// The licence that the kernel asks of programs for some of its functions; none is used.
const LICENCE: &std::ffi::CStr = c"Dual MIT/GPL";

#[repr(C)]
#[derive(Default)]
struct Map {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    /// Numbers that stay 0 here, up to the 64 bits of `map_extra`.
    rest: [u32; 11],
}

#[repr(C)]
#[derive(Default)]
struct Program {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
}

#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    returned: u32,
    bytes_in: u32,
    bytes_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    nanoseconds: u32,
    rest: [u64; 4],
}

#[repr(C)]
#[derive(Default)]
struct Link {
    program: u32,
    interface: u32,
    kind: u32,
    flags: u32,
    rest: [u64; 4],
}

#[repr(C)]
struct Information {
    descriptor: u32,
    bytes: u32,
    at: u64,
}

/// Calls bpf(2).
///
/// # Safety
/// All addresses in the attributes are of memory that is as long as they say, until it returns.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are as long as is said; the rest is the caller's promise.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

/// Calls it for a descriptor.
///
/// # Safety
/// As for [`bpf`]; and the command is one that opens a descriptor.
unsafe fn open<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises; the descriptor is new, so nobody else closes it.
    unsafe { bpf(command, attributes).map(|descriptor| OwnedFd::from_raw_fd(descriptor)) }
}

/// A map of one value, of so many bytes.
pub(super) fn value(bytes: usize) -> io::Result<OwnedFd> {
    let value_bytes = u32::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = CAN_BE_MAPPED;
    let mut map =
        Map { kind: ARRAY, key_bytes: 4, value_bytes, entries: 1, flags, ..Map::default() };
    // SAFETY: the attributes have no address.
    unsafe { open(MAP_CREATE, &mut map) }
}

/// An arena of so many pages.
pub(super) fn arena(pages: u32) -> io::Result<OwnedFd> {
    let mut map = Map { kind: ARENA, entries: pages, flags: CAN_BE_MAPPED, ..Map::default() };
    // SAFETY: the attributes have no address.
    unsafe { open(MAP_CREATE, &mut map) }
}

/// A map that another process has, by its number.
pub(super) fn by_number(number: u32) -> io::Result<OwnedFd> {
    let mut asked = [number, 0, 0];
    // SAFETY: the attributes have no address.
    unsafe { open(MAP_BY_NUMBER, &mut asked) }
}

/// The number of a map.
pub(super) fn number(map: BorrowedFd<'_>) -> io::Result<u32> {
    // A map's information begins with its kind and its number.
    let mut information = [0u32; 4];
    let mut asked = Information {
        descriptor: map.as_raw_fd() as u32,
        bytes: size_of_val(&information) as u32,
        at: information.as_mut_ptr() as u64,
    };
    // SAFETY: the kernel writes as many bytes as are said.
    unsafe { bpf(INFORMATION, &mut asked)? };
    Ok(information[1])
}

/// Loads a program for XDP. What the verifier says of one that it refuses is in the error.
pub(super) fn load(name: &str, instructions: &[u64]) -> io::Result<OwnedFd> {
    let mut program = Program {
        kind: XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        ..Program::default()
    };
    for (to, byte) in program.name.iter_mut().take(15).zip(name.bytes()) {
        *to = byte;
    }
    // SAFETY: the instructions are as many as is said, and live on, as the licence does.
    let refused = match unsafe { open(PROGRAM_LOAD, &mut program) } {
        Ok(loaded) => return Ok(loaded),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => error,
        Err(error) => return Err(error),
    };
    let mut log = vec![0u8; 1 << 16];
    program.log_level = 1;
    program.log_bytes = log.len() as u32;
    program.log = log.as_mut_ptr() as u64;
    // SAFETY: as before, with a log that is as long as is said.
    if unsafe { open(PROGRAM_LOAD, &mut program) }.is_ok() {
        return Err(refused); // it is accepted only with a log: then there is nothing to say
    }
    let said = String::from_utf8_lossy(&log);
    let said = said.trim_end_matches('\0').trim_end();
    let last = said.lines().rev().find(|line| !line.starts_with("processed"));
    match last {
        Some(line) => Err(io::Error::new(refused.kind(), format!("{refused}: {line}"))),
        None => Err(refused),
    }
}

/// Attaches a program to the interface with this number, of the network that this thread is in.
pub(super) fn attach(program: BorrowedFd<'_>, interface: u32, native: bool) -> io::Result<OwnedFd> {
    let flags = if native { NATIVE } else { GENERIC };
    let program = program.as_raw_fd() as u32;
    let mut link = Link { program, interface, kind: AT_XDP, flags, ..Link::default() };
    // SAFETY: the attributes have no address.
    unsafe { open(LINK_CREATE, &mut link) }
}

/// Runs a program on a frame, which it may change; what it returns, and how many nanoseconds it
/// took.
pub(super) fn run(program: BorrowedFd<'_>, frame: &mut [u8]) -> io::Result<(u32, u32)> {
    let mut run = TestRun {
        program: program.as_raw_fd() as u32,
        bytes_in: frame.len() as u32,
        bytes_out: frame.len() as u32,
        data_in: frame.as_mut_ptr() as u64,
        data_out: frame.as_mut_ptr() as u64,
        repeat: 1,
        ..TestRun::default()
    };
    // SAFETY: the frame is as long as is said; the kernel has read it when it writes it.
    unsafe { bpf(PROGRAM_TEST_RUN, &mut run)? };
    Ok((run.returned, run.nanoseconds))
}

/// The memory of a map, in this process.
#[derive(Debug)]
pub(super) struct Mapped {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the pages hold atomic words alone, and are reached by shared references to these; the
// address is only for their unmapping, which happens once, in `drop`.
unsafe impl Send for Mapped {}
// SAFETY: as for Send.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// The first `bytes` of a map that can be mapped, which has as many up to the end of a page.
    pub(super) fn of(map: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        Ok(Self { start: map_shared(map, 0, bytes, None)?, bytes })
    }

    /// The same at this address, or an error if anything is there.
    pub(super) fn at(map: BorrowedFd<'_>, base: usize, bytes: usize) -> io::Result<Self> {
        Ok(Self { start: map_shared(map, 0, bytes, Some(base))?, bytes })
    }

    /// Private memory of so many bytes, of zeros.
    pub(super) fn private(bytes: usize) -> io::Result<Self> {
        Ok(Self { start: map_private(bytes, true)?, bytes })
    }

    /// All words of it.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "mappings begin at a page")]
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is of so many bytes, begins at a page and lives as long as `self`.
        // Programs in the kernel change words at any time, which atomics permit; every bit pattern
        // is one.
        unsafe { std::slice::from_raw_parts(self.start.cast::<AtomicU64>(), self.bytes / 8) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and slices of words borrow from `self`.
        unsafe { unmap(self.start, self.bytes) };
    }
}
