//! The signals that end a command.

use std::fs;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Ctrl-C, SIGTERM and, unless it was ignored when the process began, SIGHUP: whoever starts a
/// command by nohup means it to outlive the terminal. To be called before a handler is set.
pub(crate) fn ending() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| *signal != SIGHUP || !is_ignored(&status, SIGHUP))
        .collect()
}

/// Whether a process with this `/proc/PID/status` ignores a signal.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_has_a_bit_for_each() {
        let status = "Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGINT));
        assert!(!is_ignored("SigBlk:\t0000000000000001\n", SIGHUP));
        assert!(!is_ignored("", SIGHUP));
    }
}
