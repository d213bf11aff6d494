//! A single address space: memory at the same address in every process of a group, so that an
//! address that one of them writes into it is good in all of them.
//!
//! The process that makes the space chooses its address, from a range that neither the kernel's
//! random places nor a sanitizer use; the others are told before they are executed, by an
//! environment variable, and map the same file there or fail with what is in the way: never
//! elsewhere, never over something. So no process looks for a hole that another one may take.
//!
//! The file is in memory (memfd) and sealed: it can neither shrink, which would end whoever reads
//! it, nor grow. Who attaches for reading opens it so: the kernel lets nobody make that mapping
//! writable.
//!
//! Words are atomics, given by [`Space::allocate`] and never taken back; addresses from the space
//! are bounded before they are followed. Data that changes as a whole is in a [`cell`].
//!
//! Source: FOX, section 2.1, "single address space segment".

pub mod cell;
mod error;
#[expect(unsafe_code, reason = "it is where pages of a file become words at a fixed address")]
mod mapping;

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, ftruncate,
    memfd_create,
};

pub use error::SpaceError;
use mapping::Mapping;

/// What tells a process where the space of its group is.
pub const VARIABLE: &str = "TIDINGS_SPACE";

/// The first place: far below where Linux puts programs, heaps, libraries and stacks at random, and
/// in what AddressSanitizer leaves to the application.
const FIRST: usize = 0x2000_0000_0000;
/// How far places are from each other, and how large a space is at most.
const APART: usize = 64 << 30;
/// How many places there are.
const PLACES: usize = 64;
/// The size of the pages that places and sizes are multiples of.
const PAGE_BYTES: usize = 4096;

/// The words at its begin: what it is, and how many words are given, these included.
const MAGIC: u64 = u64::from_le_bytes(*b"tidingsS");
const HEAD_WORDS: usize = 8;
const GIVEN: usize = 1;

/// A file that cannot change its size.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// An address in a space, the same in all processes of the group; also what a pointer there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub u64);

/// What a process does with a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Read,
    /// Reads and writes it.
    Write,
}

/// A space, as this process has it.
#[derive(Debug)]
pub struct Space {
    mapping: Mapping,
    file: File,
    base: usize,
    bytes: usize,
    access: Access,
}

impl Space {
    /// Makes a space of at least so many bytes, whose memory is there at once. Every program that
    /// this process starts gets its file, by number; `name` is for those who look at the process.
    ///
    /// # Errors
    /// [`SpaceError`]: no such size, no memory, or no place in this process.
    pub fn create(name: &str, bytes: usize) -> Result<Self, SpaceError> {
        if !(2 * PAGE_BYTES..=APART).contains(&bytes) {
            return Err(SpaceError::Size { bytes });
        }
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let refused = |call| {
            move |source: rustix::io::Errno| SpaceError::Memory { call, source: source.into() }
        };
        let file =
            memfd_create(name, MemfdFlags::ALLOW_SEALING).map_err(refused("memfd_create"))?;
        ftruncate(&file, bytes as u64).map_err(refused("ftruncate"))?;
        let none = FallocateFlags::empty();
        fallocate(&file, none, 0, bytes as u64).map_err(refused("fallocate"))?;
        fcntl_add_seals(&file, SEALS).map_err(refused("fcntl"))?;
        let file = File::from(file);
        // Groups made by different processes begin at different places, so that one may join two.
        let start = std::process::id() as usize;
        for place in 0..PLACES {
            let base = FIRST + (start + place) % PLACES * APART;
            match Mapping::at(base, &file, bytes, true) {
                Ok(mapping) => {
                    let space = Self { mapping, file, base, bytes, access: Access::Write };
                    let words = space.mapping.words();
                    words[GIVEN].store(HEAD_WORDS as u64, Ordering::Relaxed);
                    words[0].store(MAGIC, Ordering::Release);
                    return Ok(space);
                }
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
                Err(source) => return Err(SpaceError::Memory { call: "mmap", source }),
            }
        }
        Err(SpaceError::NoPlace { places: PLACES, first: FIRST })
    }

    /// Where the space is, for a process that is to attach it.
    pub fn ticket(&self) -> String {
        let file = self.file.metadata().map_or(0, |known| known.ino());
        let (maker, number) = (std::process::id(), self.file.as_raw_fd());
        format!("1:{:x}:{:x}:{maker}:{number}:{file}", self.base, self.bytes)
    }

    /// Has a program that is about to be started know the space.
    pub fn share(&self, program: &mut Command) {
        program.env(VARIABLE, self.ticket());
    }

    /// Attaches the space that this process was started with.
    ///
    /// # Errors
    /// [`SpaceError`]: no space was shared, or as for [`Space::attach`].
    pub fn inherited(access: Access) -> Result<Self, SpaceError> {
        let ticket = std::env::var(VARIABLE);
        Self::attach(&ticket.map_err(|_| SpaceError::NotShared { variable: VARIABLE })?, access)
    }

    /// Attaches the space of a ticket.
    ///
    /// # Errors
    /// [`SpaceError`]: the ticket is none, the file is gone or another one, or something is at its
    /// address in this process.
    pub fn attach(ticket: &str, access: Access) -> Result<Self, SpaceError> {
        let shown = || SpaceError::Ticket { ticket: ticket.chars().take(80).collect() };
        let Ticket { base, bytes, maker, number, file } = Ticket::read(ticket).ok_or_else(shown)?;
        let opened = [format!("/proc/self/fd/{number}"), format!("/proc/{maker}/fd/{number}")]
            .iter()
            .filter_map(|path| {
                File::options().read(true).write(access == Access::Write).open(path).ok()
            })
            .find(|opened| opened.metadata().is_ok_and(|known| known.ino() == file));
        let opened = opened.ok_or(SpaceError::Gone { maker })?;
        let foreign = |remedy| SpaceError::Foreign { maker, bytes, remedy };
        let seals = fcntl_get_seals(&opened)
            .map_err(|_| foreign("it is no file in memory; pass on the ticket of a space"))?;
        let length = opened.metadata().map_or(0, |known| known.len());
        if !seals.contains(SEALS) || length != bytes as u64 {
            return Err(foreign("its size is not fixed; pass on the ticket of a space"));
        }
        let writable = access == Access::Write;
        let mapping = Mapping::at(base, &opened, bytes, writable).map_err(|source| match source
            .raw_os_error()
        {
            Some(libc::EEXIST) => SpaceError::Taken { base, by: neighbour(base, bytes) },
            _ => SpaceError::Memory { call: "mmap", source },
        })?;
        if mapping.words()[0].load(Ordering::Relaxed) != MAGIC {
            return Err(foreign("it is of another version; use the same release in all processes"));
        }
        Ok(Self { mapping, file: opened, base, bytes, access })
    }

    /// Where it begins, in all processes.
    pub fn base(&self) -> Address {
        Address(self.base as u64)
    }

    /// Takes words of zeros, at a cache line, for good.
    ///
    /// # Errors
    /// If it is full, or a view.
    pub fn allocate(&self, words: usize) -> Result<Address, SpaceError> {
        self.writable()?;
        let all = self.mapping.words();
        let most = all.len() as u64;
        let taken = words.checked_next_multiple_of(8).filter(|&taken| taken > 0);
        let taken = taken.ok_or(SpaceError::Full { words, left: 0 })? as u64;
        let add = |given: u64| given.checked_add(taken).filter(|&sum| sum <= most);
        match all[GIVEN].fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            // What a process wrote there is bounded before it is believed.
            Ok(given) if given >= HEAD_WORDS as u64 && given % 8 == 0 => {
                Ok(Address(self.base as u64 + given * 8))
            }
            Ok(given) | Err(given) => {
                let left = most.saturating_sub(given) as usize;
                Err(SpaceError::Full { words, left })
            }
        }
    }

    /// Words of a space that may be written.
    ///
    /// # Errors
    /// If they are not in it, or it is a view.
    #[inline]
    pub fn words(&self, at: Address, count: usize) -> Result<&[AtomicU64], SpaceError> {
        self.writable()?;
        self.inside(at, count)
    }

    /// Reads a word.
    ///
    /// # Errors
    /// If it is not in the space.
    #[inline]
    pub fn load(&self, at: Address) -> Result<u64, SpaceError> {
        Ok(self.inside(at, 1)?[0].load(Ordering::Relaxed))
    }

    /// Makes a [`cell`] of so many words.
    ///
    /// # Errors
    /// As for [`Space::allocate`].
    pub fn make_cell(&self, words: usize) -> Result<Address, SpaceError> {
        self.allocate(cell_words(words))
    }

    /// Reads the cell at an address, as many words as it was made with. It waits for no writer,
    /// alive or dead; it looks again while one changes it faster than it can be read.
    ///
    /// # Errors
    /// If no such cell is in the space.
    #[inline]
    pub fn read_cell(&self, at: Address, into: &mut [u64]) -> Result<(), SpaceError> {
        let words = self.inside(at, cell_words(into.len()))?;
        let cell = cell::Parts::of(words);
        let cell = cell.ok_or(SpaceError::Outside { at: at.0, count: into.len() })?;
        while !cell.look(into) {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// The cell at an address, for its writer, of whom there is one at a time; what an earlier one
    /// that died has left is in order.
    ///
    /// # Errors
    /// If no such cell is in the space, or it is a view.
    pub fn write_cell(
        &self,
        at: Address,
        words: usize,
    ) -> Result<cell::Parts<'_, AtomicU64>, SpaceError> {
        let parts = cell::Parts::of(self.words(at, cell_words(words))?);
        let cell = parts.ok_or(SpaceError::Outside { at: at.0, count: words })?;
        cell.mend();
        Ok(cell)
    }

    fn writable(&self) -> Result<(), SpaceError> {
        if self.access == Access::Write { Ok(()) } else { Err(SpaceError::ReadOnly) }
    }

    #[inline]
    fn inside(&self, at: Address, count: usize) -> Result<&[AtomicU64], SpaceError> {
        let offset = at.0.checked_sub(self.base as u64).filter(|offset| offset % 8 == 0);
        let words = offset.and_then(|offset| {
            let first = usize::try_from(offset / 8).ok()?;
            self.mapping.words().get(first..first.checked_add(count)?)
        });
        words.ok_or(SpaceError::Outside { at: at.0, count })
    }
}

/// How many words a cell takes.
fn cell_words(words: usize) -> usize {
    words.saturating_mul(2).saturating_add(cell::HEAD_WORDS)
}

/// What a ticket says.
struct Ticket {
    base: usize,
    bytes: usize,
    maker: u32,
    number: u32,
    file: u64,
}

impl Ticket {
    /// Reads one; `None` if it is not of a place and size that a space can have.
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let version = parts.next()?;
        let base = usize::from_str_radix(parts.next()?, 16).ok()?;
        let bytes = usize::from_str_radix(parts.next()?, 16).ok()?;
        let maker = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        let file = parts.next()?.parse().ok()?;
        let is_place =
            (FIRST..FIRST + PLACES * APART).contains(&base) && (base - FIRST) % APART == 0;
        let is_size = (2 * PAGE_BYTES..=APART).contains(&bytes) && bytes % PAGE_BYTES == 0;
        let is_whole = version == "1" && parts.next().is_none();
        (is_place && is_size && is_whole).then_some(Self { base, bytes, maker, number, file })
    }
}

/// What is at an address in this process, in the words of the kernel.
fn neighbour(base: usize, bytes: usize) -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let overlaps = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        range.is_some_and(|(from, to)| {
            let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
            number(from) < base + bytes && number(to) > base
        })
    };
    maps.lines().find(overlaps).unwrap_or("something that is gone by now").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tickets_of_places_and_sizes_that_can_be_are_read() {
        let good = format!("1:{FIRST:x}:2000:77:5:99");
        assert!(Ticket::read(&good).is_some());
        for wrong in [
            String::new(),
            "1".into(),
            format!("2:{FIRST:x}:2000:77:5:99"),
            format!("1:{:x}:2000:77:5:99", FIRST + 4096),
            format!("1:{:x}:2000:77:5:99", FIRST + PLACES * APART),
            "1:0:2000:77:5:99".into(),
            format!("1:{FIRST:x}:2001:77:5:99"),
            format!("1:{FIRST:x}:ffffffffffffffff:77:5:99"),
            format!("1:{FIRST:x}:1000:77:5:99"),
            format!("1:{FIRST:x}:2000:77:-1:99"),
            format!("{good}:6"),
        ] {
            assert!(Ticket::read(&wrong).is_none(), "{wrong}");
            assert!(matches!(Space::attach(&wrong, Access::Read), Err(SpaceError::Ticket { .. })));
        }
    }
}
