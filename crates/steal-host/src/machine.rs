//! The words that processes share, and what is done with them: by the machine, or in a model of it.
//!
//! All is relaxed, acquire or release, and one fence that orders a store before a load. A model
//! checker stands in for the machine in `tests/model.rs`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// A shared word of 64 bits.
pub trait Word {
    /// Reads it, relaxed.
    fn get(&self) -> u64;
    /// Writes it, relaxed.
    fn set(&self, value: u64);
    /// Reads it, and what came before it was written.
    fn acquire(&self) -> u64;
    /// Writes it, after all that came before.
    fn release(&self, value: u64);
    /// Adds bits, after all that came before.
    fn add_bits(&self, bits: u64);
    /// Takes all bits, and what came before they were added.
    fn take_bits(&self) -> u64;
    /// Orders what was done before it and what is done after it, in one order for all.
    fn fence();
}

/// A shared flag, on which its owner can wait.
pub trait Flag {
    /// Whether it is raised, relaxed.
    fn is_raised(&self) -> bool;
    /// Raises it, relaxed.
    fn raise(&self);
    /// Lowers it; whether it was raised.
    fn lower(&self) -> bool;
}

impl Word for AtomicU64 {
    #[inline]
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn acquire(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn release(&self, value: u64) {
        self.store(value, Ordering::Release);
    }

    #[inline]
    fn add_bits(&self, bits: u64) {
        self.fetch_or(bits, Ordering::Release);
    }

    #[inline]
    fn take_bits(&self) -> u64 {
        self.swap(0, Ordering::Acquire)
    }

    #[inline]
    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// What a raised flag holds: what the kernel compares before it lets a process sleep.
pub(crate) const RAISED: u32 = 1;

impl Flag for AtomicU32 {
    #[inline]
    fn is_raised(&self) -> bool {
        self.load(Ordering::Relaxed) == RAISED
    }

    #[inline]
    fn raise(&self) {
        self.store(RAISED, Ordering::Relaxed);
    }

    #[inline]
    fn lower(&self) -> bool {
        self.swap(0, Ordering::Relaxed) == RAISED
    }
}
