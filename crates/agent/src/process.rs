//! The cost of this process so far, measured by the agent.

use rustix::time::{ClockId, clock_gettime};

/// Processor time of all threads since the process started, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Resident memory in bytes; 0 where /proc cannot be read.
pub(crate) fn rss_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_process_has_a_cost() {
        assert!(cpu_seconds() > 0.0);
        assert!(rss_bytes() > 100 * 1024);
    }
}
