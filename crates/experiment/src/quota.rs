//! A quota: processes that together get a share of a processor, and no more.
//!
//! It is a control group with the processor's controller: `cpu.max` where that is of version 2,
//! `cpu.cfs_quota_us` where it is of version 1. The kernel lets the group run until its share of a
//! period is used up, and stops all of it until the next. Wants root and a writable controller.

#![expect(clippy::missing_panics_doc, reason = "a measurement without its quota is none")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// The kernel's own choice of a period.
const PERIOD_US: u64 = 100_000;
/// Times that a group is asked to go which its members have just left.
const TRIES: usize = 1_000;

/// Numbers the groups of this process.
static GROUPS: AtomicU32 = AtomicU32::new(0);

/// A control group, without a limit at first.
#[derive(Debug)]
pub struct Quota {
    group: PathBuf,
    is_unified: bool,
}

impl Default for Quota {
    fn default() -> Self {
        Self::new()
    }
}

impl Quota {
    /// A group of nobody.
    pub fn new() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("Linux says what is mounted");
        let (root, is_unified) = controller(&mounts)
            .expect("no control group has the processor: mount cgroup2, or cgroup with cpu");
        if is_unified {
            // It may be on already, or be refused; then there is no cpu.max below.
            let _ = fs::write(root.join("cgroup.subtree_control"), "+cpu");
        }
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let group = root.join(format!("tidings-{}-{number}", std::process::id()));
        fs::create_dir(&group)
            .unwrap_or_else(|error| panic!("{}: {error}; run this as root", group.display()));
        Self { group, is_unified }
    }

    /// Puts a process into the group.
    pub fn admit(&self, process: u32) {
        self.write("cgroup.procs", &process.to_string());
    }

    /// Gives the group this share of one processor, in per cent.
    pub fn limit(&self, percent: f64) {
        let quota_us = (PERIOD_US as f64 * percent / 100.0).round() as u64;
        if self.is_unified {
            self.write("cpu.max", &format!("{quota_us} {PERIOD_US}"));
        } else {
            self.write("cpu.cfs_period_us", &PERIOD_US.to_string());
            self.write("cpu.cfs_quota_us", &quota_us.to_string());
        }
    }

    /// Takes the limit away.
    pub fn lift(&self) {
        let (file, none) =
            if self.is_unified { ("cpu.max", "max") } else { ("cpu.cfs_quota_us", "-1") };
        self.write(file, none);
    }

    /// Periods in which the group was stopped, and all periods in which it ran under a limit.
    pub fn throttled(&self) -> (u64, u64) {
        let stat = fs::read_to_string(self.group.join("cpu.stat")).expect("every group has it");
        let read = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        (read("nr_throttled"), read("nr_periods"))
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.group.join(file);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl Drop for Quota {
    /// A group goes when its last member has: agents are to be dropped before.
    fn drop(&mut self) {
        for _ in 0..TRIES {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            thread::yield_now();
        }
    }
}

/// Where the processor's controller is mounted, and whether that is of version 2.
fn controller(mounts: &str) -> Option<(PathBuf, bool)> {
    let mut lines = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((Path::new(words.next()?), words.next()?, words.next()?))
    });
    lines.find_map(|(place, kind, options)| {
        let one = kind == "cgroup" && options.split(',').any(|option| option == "cpu");
        let two = kind == "cgroup2" && {
            let controllers = fs::read_to_string(place.join("cgroup.controllers"));
            controllers.is_ok_and(|names| names.split_whitespace().any(|name| name == "cpu"))
        };
        (one || two).then(|| (place.to_owned(), two))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_of_version_1_is_found_among_others() {
        let mounts = "cgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n\
                      tmpfs /cpu tmpfs rw,cpu 0 0\n";
        let expected = (PathBuf::from("/sys/fs/cgroup/cpu"), false);
        assert_eq!(controller(mounts), Some(expected));
        assert_eq!(controller("cgroup /a cgroup rw,memory 0 0\n"), None);
    }
}
