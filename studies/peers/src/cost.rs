//! What a run costs: CPU of the whole process, resident memory, what was sent.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// KiB of a page; the kernel counts resident memory in pages.
const PAGE_KIB: u64 = 4;

/// Datagrams sent by all nodes of the process. Retransmissions do not exist on loopback.
#[derive(Debug, Default)]
pub struct Sent {
    datagrams: AtomicU64,
    bytes: AtomicU64,
}

impl Sent {
    /// Counts a datagram of so many bytes of payload.
    pub fn count(&self, bytes: usize) {
        self.datagrams.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Datagrams and bytes so far.
    pub fn so_far(&self) -> (u64, u64) {
        (self.datagrams.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// Seconds of CPU that the process has used, in user space and in the kernel.
pub fn cpu_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// Resident memory of the process in KiB; 0 where the kernel does not tell.
pub fn resident_kib() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let resident = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    resident.unwrap_or_default() * PAGE_KIB
}

/// The machine's load of the last minute before the run; NaN where the kernel does not tell.
pub fn load_1m() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}
