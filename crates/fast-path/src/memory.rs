//! The memory of a lane: pages of their own, which a child process finds empty.
//!
//! A service is a thread, and a child that was forked has none of its parent's. Were the lane
//! copied, the child would wait for an answer for ever. So the kernel is asked to give a child
//! zeros instead (MADV_WIPEONFORK): zero is the state [`Life::Ended`], in which calls run in place.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernel::{advise, map_private, unmap};
use crate::lane::{Lane, Line, MOST_LINES};

/// What the first lines hold: whether there is a service, and what it has done.
#[repr(C)]
struct Header {
    /// Read by the caller at each call, written twice.
    life: Line<AtomicU64>,
    /// The first word is how many calls are done, the second how many failed, the third the last
    /// error. Written by the service at each call.
    done: Line<AtomicU64>,
}

/// Whether calls are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Nobody looks at this lane, or will.
    Ended,
    /// A service does.
    Served,
}

/// The pages of a lane.
#[derive(Debug)]
pub(crate) struct Memory {
    start: *mut u8,
    lines: usize,
}

// SAFETY: the pages hold atomic words alone, and are reached by shared references to these; the
// address is only for their unmapping, which happens once, in `drop`.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

impl Memory {
    /// Pages for a lane of `lines`, a power of two up to [`MOST_LINES`], of zeros.
    pub(crate) fn new(lines: usize) -> io::Result<Self> {
        if !lines.is_power_of_two() || lines > MOST_LINES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let bytes = bytes(lines);
        let start = map_private(bytes, true)?;
        let memory = Self { start, lines };
        // SAFETY: the advice is for the pages just mapped, to which nobody has a reference, and
        // changes them only in a child process, which finds zeros: valid atomics.
        unsafe { advise(memory.start, bytes, libc::MADV_WIPEONFORK)? };
        Ok(memory)
    }

    #[expect(clippy::cast_ptr_alignment, reason = "mappings begin at a page")]
    fn header(&self) -> &Header {
        // SAFETY: the mapping begins at a page, so is aligned for lines of 64 bytes, is larger than
        // a header, and lives as long as `self`. Every bit pattern is an atomic word.
        unsafe { &*self.start.cast::<Header>() }
    }

    /// The lane in it.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "mappings begin at a page")]
    pub(crate) fn lane(&self) -> Lane<'_, AtomicU64> {
        // SAFETY: `lines` lines follow the header in the mapping, whose size was computed so; they
        // are aligned as the header is, whose size is a multiple of 64. The rest as for `header`.
        let lines = unsafe {
            let first = self.start.cast::<Header>().add(1).cast::<Line<AtomicU64>>();
            std::slice::from_raw_parts(first, self.lines)
        };
        Lane { lines, done: &self.header().done.words[0] }
    }

    /// Whether its calls are run. Who sees that it has ended sees all results.
    #[inline]
    pub(crate) fn life(&self) -> Life {
        match self.header().life.words[0].load(Ordering::Acquire) {
            0 => Life::Ended,
            _ => Life::Served,
        }
    }

    /// Sets whether its calls are run; after it has ended the service looks at no line.
    pub(crate) fn set_life(&self, life: Life) {
        let word = u64::from(life == Life::Served);
        self.header().life.words[0].store(word, Ordering::Release);
    }

    /// How many calls failed, and the last error's number.
    pub(crate) fn failures(&self) -> (u64, u64) {
        let words = &self.header().done.words;
        (words[1].load(Ordering::Relaxed), words[2].load(Ordering::Relaxed))
    }

    /// Counts a call that failed; only the service does.
    pub(crate) fn count_failure(&self, error: u64) {
        let words = &self.header().done.words;
        words[2].store(error, Ordering::Relaxed);
        words[1].store(words[1].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size, and no reference outlives `self`.
        unsafe { unmap(self.start, bytes(self.lines)) };
    }
}

fn bytes(lines: usize) -> usize {
    size_of::<Header>() + lines * size_of::<Line<AtomicU64>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_up_to_the_most_are_lanes() {
        for wrong in [0, 3, MOST_LINES * 2, usize::MAX] {
            assert!(Memory::new(wrong).is_err(), "{wrong}");
        }
        for lines in [1, 2, MOST_LINES] {
            let memory = Memory::new(lines).expect("there is memory");
            assert_eq!(memory.lane().lines.len(), lines);
            assert_eq!(memory.life(), Life::Ended, "nobody serves it yet");
            memory.lane().lines[lines - 1].turn.store(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn failures_are_counted_and_the_last_is_kept() {
        let memory = Memory::new(1).expect("there is memory");
        memory.count_failure(5);
        memory.count_failure(9);
        assert_eq!(memory.failures(), (2, 9));
    }
}
