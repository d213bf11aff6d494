//! The words and the fence that a deque needs of the machine.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

/// A kind of memory: the hardware's, or a model of it.
pub(crate) trait Machine {
    /// A word with a position.
    type Index: Index;
    /// A word with a job.
    type Slot: Slot;
    /// Orders what this thread did before it and does after it, in one order for all threads.
    fn fence();
}

/// A position that threads share.
pub(crate) trait Index {
    /// A word with this position.
    fn new(position: u64) -> Self;
    /// Reads it.
    fn relaxed(&self) -> u64;
    /// Reads it, and what came before it was written.
    fn acquire(&self) -> u64;
    /// Writes it, after all that came before.
    fn release(&self, position: u64);
    /// Raises it by one if it is this; whether it was.
    fn exchange(&self, position: u64) -> bool;
}

/// A job that threads share; order comes from positions.
pub(crate) trait Slot {
    /// A word without a job.
    fn empty() -> Self;
    /// Reads it, relaxed.
    fn get(&self) -> *mut ();
    /// Writes it, relaxed.
    fn set(&self, job: *mut ());
}

/// Memory as it is.
pub(crate) struct Hardware;

impl Machine for Hardware {
    type Index = AtomicU64;
    type Slot = AtomicPtr<()>;

    #[inline]
    fn fence() {
        fence(Ordering::SeqCst);
    }
}

impl Index for AtomicU64 {
    fn new(position: u64) -> Self {
        Self::new(position)
    }

    #[inline]
    fn relaxed(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn acquire(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn release(&self, position: u64) {
        self.store(position, Ordering::Release);
    }

    #[inline]
    fn exchange(&self, position: u64) -> bool {
        let next = position.wrapping_add(1);
        self.compare_exchange(position, next, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }
}

impl Slot for AtomicPtr<()> {
    fn empty() -> Self {
        Self::new(null_mut())
    }

    #[inline]
    fn get(&self) -> *mut () {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, job: *mut ()) {
        self.store(job, Ordering::Relaxed);
    }
}
