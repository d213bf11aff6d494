//! What a process that goes on has used, for a call that is over.
//!
//! To read that takes some 100 µs of the kernel, so a process that says it itself is not measured.
//!
//! Source: proc(5), `stat`, `status`, `clear_refs`.

use std::fs;

/// What a process uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Processor time of itself and the children that it has waited for, in microseconds.
    pub(super) cpu_us: u64,
    /// The most memory that it had at a time, in bytes.
    pub(super) peak_bytes: u64,
}

impl Usage {
    /// That of a process so far; zeros if it is gone.
    pub(super) fn of(pid: i32) -> Self {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let cpu_us =
            ticks(&stat).unwrap_or(0) * 1_000_000 / rustix::param::clock_ticks_per_second();
        Self { cpu_us, peak_bytes: peak_kib(&status).unwrap_or(0) * 1_024 }
    }

    /// From now on the peak is that of what comes.
    pub(super) fn forget_peak(pid: i32) {
        // Where it cannot be forgotten, that of earlier calls counts as well.
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// Fields 14 to 17 of the line, whose second one may have spaces and brackets in it.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().ok()).sum()
}

fn peak_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_from_behind_the_name() {
        let stat = "7 (a b) c)) S 1 7 7 0 -1 4194560 100 200 0 0 30 4 5 6 20 0 1 0";
        assert_eq!(ticks(stat), Some(45));
        assert_eq!(ticks("7 (sh) S 1"), Some(0));
        assert_eq!(peak_kib("VmPeak:\t 9 kB\nVmHWM:\t    5 kB\n"), Some(5));
        let own = Usage::of(std::process::id() as i32);
        assert!(own.peak_bytes > 0);
        assert_eq!(Usage::of(-1).cpu_us, 0);
    }
}
