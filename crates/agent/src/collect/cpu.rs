//! How busy the processors are: the first line of `proc/stat`.
//!
//! Busy is whatever is not idle and not waiting for I/O, over all processors. The counters of idle
//! time may go back a little, so an interval in which they do has no reading.

use std::path::Path;

use procfs_core::{ExplicitSystemInfo, FromReadSI, KernelStats};
use tidings_gossip::payload::NodeState;

use super::source::{LINE_BYTES, Pass, Source};

/// What the parser needs after the first line. On a node of 256 processors the rest of the file
/// is 30 kB of counters for each processor and interrupt, which is not needed.
const REST: &[u8] = b"\nctxt 0\nbtime 0\nprocesses 0\n";

/// The counters are compared with each other only, so their unit does not matter.
const SYSTEM: ExplicitSystemInfo = ExplicitSystemInfo {
    boot_time_secs: 0,
    ticks_per_second: 100,
    page_size: 4096,
    is_little_endian: true,
};

/// The share of time that the processors are busy.
#[derive(Debug)]
pub(super) struct Cpu {
    stat: Source,
    last: Option<Ticks>,
}

/// Ticks of all processors since the machine was started.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    idle: u64,
    total: u64,
}

impl Cpu {
    pub(super) fn new(proc: &Path) -> Self {
        Self { stat: Source::new(proc.join("stat")), last: None }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let ticks = self.stat.read(pass, LINE_BYTES, ticks);
        let last = std::mem::replace(&mut self.last, ticks);
        state.cpu_busy_percent = last.zip(ticks).and_then(|(last, now)| busy_percent(last, now));
    }
}

fn ticks(text: &[u8]) -> Option<Ticks> {
    let first = text.split(|&byte| byte == b'\n').next()?;
    let cpu = KernelStats::from_read([first, REST].concat().as_slice(), &SYSTEM).ok()?.total;
    let idle = cpu.idle + cpu.iowait.unwrap_or(0);
    // Guests' time is part of user and nice.
    let interrupts = cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0) + cpu.steal.unwrap_or(0);
    Some(Ticks { idle, total: idle + cpu.user + cpu.nice + cpu.system + interrupts })
}

fn busy_percent(last: Ticks, now: Ticks) -> Option<f64> {
    let total = now.total.checked_sub(last.total).filter(|&ticks| ticks > 0)?;
    let busy = total.checked_sub(now.idle.checked_sub(last.idle)?)?;
    Some(100.0 * busy as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_neither_idle_nor_waiting() {
        let last = ticks(b"cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1").expect("a line of ticks");
        let now = ticks(b"cpu  130 10 105 850 5 1 2 2 30 10\n").expect("a line of ticks");
        assert_eq!(busy_percent(last, now), Some(100.0 * 50.0 / 105.0));
        assert_eq!((busy_percent(last, last), busy_percent(now, last)), (None, None));
        assert!(ticks(b"").is_none() && ticks(b"cpu  1 2 three 4").is_none());
    }
}
