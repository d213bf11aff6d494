//! The clock of probe and trace: nanoseconds of CLOCK_MONOTONIC.
//!
//! The kernel stamps its events by the same clock (`trace_clock` `mono`), so gaps and events need
//! no translation. It is read without entering the kernel.

use rustix::time::{ClockId, clock_gettime};

/// Now.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
