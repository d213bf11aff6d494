//! The memory of a task's processes, where the kernel does not limit it: they are measured.
//!
//! What a process has for itself (resident, not shared with a file) is cheap to read, but counts
//! pages twice that a process shares with its child. So a sum beyond the limit is only a suspicion,
//! which the proportional share (PSS), which is dear, decides.
//!
//! Source: proc(5), `statm`, `smaps_rollup`, `task/TID/children`.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// Between two measurements. What grows faster than the host's memory in this time ends elsewhere.
pub(super) const PERIOD: Duration = Duration::from_millis(100);

/// The processes that are followed from the first one: more are not measured.
const MAX_PROCESSES: usize = 10_000;

/// The memory of these processes, in bytes, if it is beyond a limit.
pub(super) fn beyond(limit_bytes: u64, processes: &[i32]) -> Option<u64> {
    let sum = |of: fn(i32) -> Option<u64>| processes.iter().filter_map(|pid| of(*pid)).sum();
    let at_most: u64 = sum(own_bytes);
    if at_most <= limit_bytes {
        return None;
    }
    let shares: u64 = sum(|pid| proportional_bytes(pid).or_else(|| own_bytes(pid)));
    (shares > limit_bytes).then_some(shares)
}

/// A process and those that it, or one of them, has started.
pub(super) fn descendants(pid: i32) -> Vec<i32> {
    let (mut all, mut next) = (BTreeSet::from([pid]), vec![pid]);
    while let Some(pid) = next.pop() {
        for child in children(pid) {
            if all.len() < MAX_PROCESSES && all.insert(child) {
                next.push(child);
            }
        }
    }
    all.into_iter().collect()
}

/// Any thread of a process may have started others.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let listed: Vec<String> = threads.filter_map(of).collect();
    let numbers = listed.iter().flat_map(|children| children.split_whitespace());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// The memory of the host that programs can still have, in bytes.
pub(super) fn available_bytes() -> Option<u64> {
    available_in(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kib.checked_mul(1_024)
}

fn own_bytes(pid: i32) -> Option<u64> {
    let pages = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = pages.split(' ').skip(1).map(str::parse::<u64>);
    let (resident, of_files) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(resident.saturating_sub(of_files) * rustix::param::page_size() as u64)
}

fn proportional_bytes(pid: i32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_is_had_is_measured() {
        let own = std::process::id() as i32;
        let held = vec![1_u8; 32 << 20];
        assert!(beyond(16 << 20, &[own]).is_some_and(|bytes| bytes >= 16 << 20));
        assert_eq!(beyond(1 << 40, &[own]), None);
        assert_eq!(beyond(0, &[]), None);
        drop(held);
    }

    #[test]
    fn what_is_left_of_the_hosts_memory_is_read() {
        let text = "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available_in(text), Some(2 << 20));
        for wrong in ["", "MemFree: 7 kB", "MemAvailable: x kB", "MemAvailable: 7"] {
            assert_eq!(available_in(wrong), None, "{wrong}");
        }
        assert_eq!(available_in(&format!("MemAvailable: {} kB", u64::MAX)), None);
        assert!(available_bytes().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn what_children_start_is_found() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'echo $$; read line; exit' & wait"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let own = std::process::id() as i32;
        let found = descendants(own);
        assert!(found.contains(&own) && found.contains(&(child.id() as i32)), "{found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
