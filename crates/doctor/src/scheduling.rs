//! Where and before whom a process runs: affinities and scheduling policies.

use std::fs;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::finding::Outcome;
use crate::system::checked;

/// The cores that are switched on, as a list such as `0-127`.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// This process goes to each core that it may use.
pub(crate) fn affinity() -> Outcome {
    let tried = sched_getaffinity(None).and_then(|allowed| {
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
        for &core in &cores {
            let mut only = CpuSet::new();
            only.set(core);
            sched_setaffinity(None, &only)?;
            if sched_getcpu() != core {
                return Err(rustix::io::Errno::INVAL);
            }
        }
        Ok(cores.len())
    });
    let online = fs::read_to_string(ONLINE).unwrap_or_default();
    let all = how_many(online.trim());
    match tried {
        Ok(count) if all.is_none_or(|all| count >= all) => {
            Outcome::works(format!("this process ran on each of {count} cores"))
        }
        Ok(count) => Outcome::degraded(
            format!("this process ran on each of {count} cores; the machine has {}", online.trim()),
            "let it use more where it is started (AllowedCPUs=, CPUAffinity=, --cpuset-cpus)",
        ),
        Err(error) => Outcome::not(
            format!("sched_setaffinity: {error}"),
            "allow the call where this runs (SystemCallFilter=, a container's profile)",
        ),
    }
}

/// A policy before all ordinary programs.
pub(crate) fn fifo() -> Outcome {
    match policy(libc::SCHED_FIFO, 1) {
        Ok(()) => Outcome::works("this process ran with SCHED_FIFO"),
        Err(error) => Outcome::degraded(
            format!("SCHED_FIFO: {error}; SCHED_OTHER on an emptied core is what roles prefer"),
            "give CAP_SYS_NICE, or a limit of priorities (ulimit -r, LimitRTPRIO= of a unit); \
             in a control group of v1 also cpu.rt_runtime_us",
        ),
    }
}

/// A policy behind all ordinary programs.
pub(crate) fn idle() -> Outcome {
    match policy(libc::SCHED_IDLE, 0) {
        Ok(()) => Outcome::works("this process ran with SCHED_IDLE"),
        Err(error) => Outcome::degraded(
            format!("SCHED_IDLE: {error}; the priority `low` needs setpriority only"),
            "allow sched_setscheduler where this runs (SystemCallFilter=, a container's profile)",
        ),
    }
}

fn policy(policy: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads the parameters, which live until it returns, and changes nothing but
    // the scheduling of this thread.
    let done = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    checked(i64::from(done)).map(drop)
}

/// How many cores a list such as `0-3,8` names.
fn how_many(cores: &str) -> Option<usize> {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    cores.split(',').map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted() {
        assert_eq!((how_many("0-3,8"), how_many("0")), (Some(5), Some(1)));
        assert_eq!((how_many(""), how_many("3-1")), (None, None));
    }
}
