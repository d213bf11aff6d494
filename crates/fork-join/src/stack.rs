//! The end of a thread's stack: recursion that comes near it panics, and does not end the process.
//!
//! Each fork, scope and loop looks where its frame lies. In the last [`RESERVE`] bytes it panics,
//! while there is room left for that; the panic unwinds all the frames and arrives where the work
//! was handed to the pool. A program may still use up the reserve between two forks: then Rust's
//! own check ends the process.

/// How much is left for what recurses between two looks, for a panic and for its backtrace. Of a
/// small stack it is a quarter.
const RESERVE: usize = 256 << 10;

/// Where the stack of a thread ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    bytes: usize,
    lowest: usize,
    reserve: usize,
}

impl Stack {
    /// That of this thread, which has so many bytes and has just begun.
    #[inline(never)]
    pub(crate) fn beginning(bytes: usize) -> Self {
        // Frames have no order in Miri.
        let reserve = if cfg!(miri) { 0 } else { RESERVE.min(bytes / 4) };
        Self { bytes, lowest: here().saturating_sub(bytes), reserve }
    }

    /// Panics if this frame is near the end.
    #[inline]
    pub(crate) fn check(&self) {
        if here().wrapping_sub(self.lowest) < self.reserve {
            self.ends();
        }
    }

    #[cold]
    #[inline(never)]
    fn ends(&self) -> ! {
        panic!(
            "recursion has come to the last {} KiB of this thread's stack of {} KiB: recurse less \
             deep, spawn into a scope what may run later, or set Builder::stack_bytes",
            self.reserve >> 10,
            self.bytes >> 10
        );
    }
}

/// An address in the frame of the caller.
#[inline(always)]
#[expect(clippy::inline_always, reason = "else it is that of its own frame")]
fn here() -> usize {
    let mark = 0_u8;
    (&raw const mark).addr()
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn only_the_reserve_is_refused() {
        let at = |lowest| Stack { bytes: 1 << 20, lowest, reserve: 1 << 16 };
        let here = here();
        at(here - (1 << 20)).check();
        // On another stack than its own, as sanitizers have them for frames.
        at(here + (1 << 20)).check();
        let refused = catch_unwind(|| at(here - (1 << 15)).check());
        let text = refused.expect_err("it panics").downcast::<String>().expect("a message");
        assert!(text.contains("64 KiB of this thread's stack of 1024 KiB"), "{text}");
    }
}
