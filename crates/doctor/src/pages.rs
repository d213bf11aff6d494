//! Memory: large pages, an address of one's own, memory that processes share, pages that stay.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;

use rustix::fs::{MemfdFlags, Mode, OFlags, ftruncate, memfd_create, open};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, munmap};
use tidings_fast_path::pages::Report;

use crate::finding::Outcome;

/// A large page of x86 and, with pages of 4 KiB, of ARM.
const LARGE_BYTES: usize = 2 << 20;

/// Where nothing lies in a process of Linux on a machine of 64 bits, whatever is randomised.
const FIXED: usize = 0x1f00_0000_0000;

/// Memory that is unmapped with this.
pub(crate) struct Pages {
    at: *mut libc::c_void,
    bytes: usize,
}

impl Pages {
    /// Memory of this process.
    pub(crate) fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::with(bytes, MapFlags::empty())
    }

    fn with(bytes: usize, flags: MapFlags) -> io::Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | flags);
        // SAFETY: the kernel picks a place where nothing is.
        let at = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags)? };
        Ok(Self { at, bytes })
    }

    /// A page of a file, at an address if one is given, where nothing may lie yet.
    fn of(file: BorrowedFd<'_>, address: Option<usize>) -> io::Result<Self> {
        let (access, bytes) = (ProtFlags::READ | ProtFlags::WRITE, page_bytes());
        let fixed = address.map_or(MapFlags::empty(), |_| MapFlags::FIXED_NOREPLACE);
        let hint = ptr::without_provenance_mut(address.unwrap_or(0));
        // SAFETY: the kernel maps where nothing is, or refuses.
        let at = unsafe { mmap(hint, bytes, access, MapFlags::SHARED | fixed, file, 0)? };
        let pages = Self { at, bytes };
        match address {
            Some(address) if at.addr() != address => Err(io::Error::other("another address")),
            _ => Ok(pages),
        }
    }

    pub(crate) fn address(&self) -> u64 {
        self.at.expose_provenance() as u64
    }

    /// Writes to each page of this size, and reads the first again.
    fn touch(&self, page: usize) -> bool {
        for at in (0..self.bytes).step_by(page) {
            // SAFETY: within the memory, which is mapped for writing and of this process alone.
            unsafe { self.at.cast::<u8>().add(at).write_volatile(1) };
        }
        // SAFETY: the same.
        unsafe { self.at.cast::<u8>().read_volatile() == 1 }
    }

    fn write(&self, value: u64) {
        // SAFETY: a page holds a word, and is aligned for one.
        unsafe { self.at.cast::<u64>().write_volatile(value) };
    }

    fn read(&self) -> u64 {
        // SAFETY: a page holds a word, and is aligned for one.
        unsafe { self.at.cast::<u64>().read_volatile() }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: what was mapped, which nobody has a reference into.
        let _ = unsafe { munmap(self.at, self.bytes) };
    }
}

/// Bytes of an ordinary page.
pub(crate) fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Fails unless what one mapping writes another reads.
pub(crate) fn is_shared(file: BorrowedFd<'_>) -> io::Result<()> {
    let (one, other) = (Pages::of(file, None)?, Pages::of(file, None));
    one.write(7);
    match other {
        Ok(other) if other.read() != 7 => Err(io::Error::other("what is written is not read")),
        // An arena is mapped at one address only, and says so.
        _ if one.read() == 7 => Ok(()),
        _ => Err(io::Error::other("what is written is not there")),
    }
}

/// A page from the pool of large ones.
pub(crate) fn hugetlb() -> Outcome {
    match Pages::with(LARGE_BYTES, MapFlags::HUGETLB | MapFlags::POPULATE) {
        Ok(pages) if pages.touch(LARGE_BYTES) => Outcome::works("a page of 2 MiB was written"),
        Ok(_) => Outcome::not("a page of 2 MiB does not keep what is written", "test the memory"),
        Err(error) => Outcome::not(
            format!("a page of 2 MiB: {error}"),
            "sysctl vm.nr_hugepages=64, soon after the machine starts; madvise needs no pool",
        ),
    }
}

/// A large page where there are small ones, by advice.
pub(crate) fn transparent() -> Outcome {
    let tried = Pages::anonymous(4 * LARGE_BYTES).and_then(|pages| {
        // SAFETY: advice about memory that is mapped changes nothing that is read.
        unsafe { madvise(pages.at, pages.bytes, Advice::LinuxHugepage)? };
        pages.touch(page_bytes());
        Report::of(pages.at.addr())
    });
    match tried {
        Ok(report) if report.large_kib >= LARGE_BYTES as u64 >> 10 => {
            Outcome::works(format!("{} KiB lie on 2 MiB pages", report.large_kib))
        }
        Ok(_) => Outcome::degraded(
            "after the advice all lies on small pages",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, and free memory",
        ),
        Err(error) => Outcome::degraded(
            format!("madvise: {error}; small pages are used"),
            "run a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
        ),
    }
}

/// Shared memory at an address that is asked for, and only if nothing lies there.
pub(crate) fn fixed_address() -> Outcome {
    let tried = memfd_create("doctor", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
        .map_err(io::Error::from)
        .and_then(|file: OwnedFd| {
            ftruncate(&file, page_bytes() as u64)?;
            let first = Pages::of(file.as_fd(), Some(FIXED))?;
            first.write(7);
            Ok(Pages::of(file.as_fd(), Some(FIXED)).is_err() && first.read() == 7)
        });
    let remedy = "run Linux 4.17 or later, and without a limit of addresses (ulimit -v)";
    match tried {
        Ok(true) => Outcome::works("memory was mapped where it was asked for, and only once"),
        Ok(false) => Outcome::not("a second mapping replaced the first", remedy),
        Err(error) => Outcome::not(format!("memory at an address of one's own: {error}"), remedy),
    }
}

/// A file in /dev/shm that has no name.
pub(crate) fn board() -> Outcome {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let tried = open("/dev/shm", flags, Mode::RUSR | Mode::WUSR).map_err(io::Error::from);
    match tried.and_then(|file| {
        ftruncate(&file, page_bytes() as u64)?;
        is_shared(file.as_fd())
    }) {
        Ok(()) => Outcome::works("a file in /dev/shm was mapped twice"),
        Err(error) => Outcome::degraded(
            format!("a file in /dev/shm: {error}; the board lies in the runtime directory"),
            "mount a tmpfs at /dev/shm that this user may write",
        ),
    }
}

/// Memory that is not paged out.
pub(crate) fn locked() -> Outcome {
    const BYTES: usize = 64 << 20;
    let lock = |bytes: usize| {
        let pages = Pages::anonymous(bytes)?;
        // SAFETY: memory that is mapped.
        unsafe { mlock(pages.at, pages.bytes) }.map_err(io::Error::from)
    };
    let remedy = "raise the limit of locked memory: ulimit -l, LimitMEMLOCK= of a unit";
    match (lock(BYTES), lock(page_bytes())) {
        (Ok(()), _) => Outcome::works("64 MiB were locked"),
        (Err(error), Ok(())) => {
            Outcome::degraded(format!("64 MiB: {error}; a page can be locked"), remedy)
        }
        (Err(error), _) => Outcome::not(format!("a page: {error}"), remedy),
    }
}
