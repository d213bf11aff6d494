//! An arena: memory whose addresses are good in the process and in the soft interrupt.
//!
//! The kernel lets a program follow pointers in memory of one kind, which it maps into the process
//! at one address and no other: what a process writes there as a pointer, the program casts and
//! follows. It is the single address space of HARE, by construction. Linux 6.9 or later, 64-bit,
//! and CAP_BPF.
//!
//! Here the program is the [walker](Arena::walk): it adds up the values of a list that the process
//! has built. Source: FOX, section 2.1, "single address space segment".

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::bpf::{self, Mapped};
use super::error::ActiveError;
pub use super::programs::MOST_NODES;
use super::programs::{COUNT, FIRST, SUM, walker};

/// Words at the begin of an arena that are the program's.
const HEAD_WORDS: usize = 8;

const PAGE_BYTES: usize = 4096;

/// The most pages of an arena: 1 GiB.
const MOST_PAGES: usize = 1 << 18;

/// What a walk found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// How many nodes.
    pub nodes: u64,
    /// The sum of their values.
    pub sum: u64,
    /// How long the program took.
    pub nanoseconds: u32,
}

/// What another process has to know to attach an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The kernel's number for its map.
    pub map: u32,
    /// How many pages it has.
    pub pages: usize,
    /// Its address.
    pub base: u64,
}

/// An arena, with a program that walks in it.
#[derive(Debug)]
pub struct Arena {
    memory: Mapped,
    map: OwnedFd,
    pages: usize,
    program: OwnedFd,
}

impl Arena {
    /// An arena of so many pages of 4 KiB.
    ///
    /// # Errors
    /// If there is no such size, or the kernel or a privilege is missing.
    pub fn create(pages: usize) -> Result<Self, ActiveError> {
        if pages == 0 || pages > MOST_PAGES {
            return Err(ActiveError::Pages { pages, most: MOST_PAGES });
        }
        let map = bpf::arena(pages as u32).map_err(refused("BPF_MAP_CREATE of an arena"))?;
        // The kernel takes the place of the first mapping for that of the arena.
        let memory = Mapped::of(map.as_fd(), pages * PAGE_BYTES).map_err(refused("mmap"))?;
        Self::of(map, memory, pages)
    }

    /// The arena of another process, which is mapped at the address that it has there, or not at
    /// all.
    ///
    /// # Errors
    /// If no process has it any more, or something else is at its address here.
    pub fn attach(ticket: Ticket) -> Result<Self, ActiveError> {
        let map = bpf::by_number(ticket.map).map_err(refused("BPF_MAP_GET_FD_BY_ID"))?;
        let pages = ticket.pages.clamp(1, MOST_PAGES);
        let memory = Mapped::at(map.as_fd(), ticket.base as usize, pages * PAGE_BYTES);
        Self::of(map, memory.map_err(refused("mmap at the arena's address"))?, pages)
    }

    fn of(map: OwnedFd, memory: Mapped, pages: usize) -> Result<Self, ActiveError> {
        let code = walker(map.as_raw_fd());
        let program =
            bpf::load("tidings_walker", &code).map_err(refused("BPF_PROG_LOAD of the walker"))?;
        Ok(Self { memory, map, pages, program })
    }

    /// What another process needs to attach it.
    ///
    /// # Errors
    /// If the kernel does not say the number of its map.
    pub fn ticket(&self) -> Result<Ticket, ActiveError> {
        let map = bpf::number(self.map.as_fd()).map_err(refused("BPF_OBJ_GET_INFO_BY_FD"))?;
        let base = self.memory.words().as_ptr() as u64;
        Ok(Ticket { map, pages: self.pages, base })
    }

    /// The words for the process's use.
    pub fn words(&self) -> &[AtomicU64] {
        &self.memory.words()[HEAD_WORDS..]
    }

    /// The address of one of them: what a pointer to it is.
    pub fn address(&self, word: usize) -> Option<u64> {
        self.words().get(word).map(|word| std::ptr::from_ref(word) as u64)
    }

    /// The word at an address of the arena, whichever process wrote that down.
    pub fn at(&self, address: u64) -> Option<&AtomicU64> {
        let from_begin = address.checked_sub(self.address(0)?)?;
        let aligned = from_begin % 8 == 0;
        aligned.then(|| self.words().get((from_begin / 8) as usize)).flatten()
    }

    /// Has the program walk the list that begins at an address: a node is the address of the next
    /// one, or 0, and a value. It ends after [`MOST_NODES`].
    ///
    /// # Errors
    /// If the kernel does not run the program.
    pub fn walk(&self, first: u64) -> Result<Walked, ActiveError> {
        let words = self.memory.words();
        words[FIRST].store(first, Ordering::Release);
        let mut frame = [0; 64];
        let (_, nanoseconds) = bpf::run(self.program.as_fd(), &mut frame)
            .map_err(|source| ActiveError::Kernel { call: "BPF_PROG_TEST_RUN", source })?;
        let of = |word: usize| words[word].load(Ordering::Acquire);
        Ok(Walked { nodes: of(COUNT), sum: of(SUM), nanoseconds })
    }
}

fn refused(call: &'static str) -> impl Fn(std::io::Error) -> ActiveError {
    move |source| ActiveError::Kernel { call, source }
}
