//! The mechanisms by name, what Tidings uses each for, and how it is tried.

use crate::finding::Outcome;
use crate::{calls, counters, groups, knobs, network, pages, programs, rings, scheduling};

/// Something of the operating system that Tidings can use.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// Its name: lower case, words joined by hyphens.
    pub name: &'static str,
    /// What Tidings uses it for.
    pub purpose: &'static str,
    attempt: fn() -> Outcome,
}

impl Mechanism {
    /// Tries it in this process, which should exist for nothing else and end thereafter.
    pub fn attempt(&self) -> Outcome {
        (self.attempt)()
    }
}

const fn of(name: &'static str, purpose: &'static str, attempt: fn() -> Outcome) -> Mechanism {
    Mechanism { name, purpose, attempt }
}

/// All, in the order in which they are reported.
pub const ALL: &[Mechanism] = &[
    of("io-uring", "calls by a shared ring", rings::io_uring),
    of("sqpoll", "rings that a kernel thread polls", rings::sqpoll),
    of("gso", "datagrams in bulk by one call", network::segmentation),
    of("gro", "datagrams received in bulk", network::coalescing),
    of("udp-buffers", "the agent's socket under a burst", network::buffers),
    of("netns", "emulated hosts, and attempts without effect", network::namespace),
    of("tap", "emulated hosts and their switch", network::tap),
    of("veth", "active messages between namespaces", network::veth),
    of("af-packet", "prebuilt frames", network::packet),
    of("af-xdp", "prebuilt frames by shared rings", network::xdp_socket),
    of("bpf", "programs in the kernel", programs::filter),
    of("xdp", "active messages in the soft interrupt", programs::xdp),
    of("bpf-maps", "memory that a program in the kernel shares", programs::shared_map),
    of("raw-tracepoints", "names of lost intervals", programs::raw_tracepoint),
    of("osnoise", "names of lost intervals by the kernel's tracer", counters::osnoise),
    of("perf", "cycles and instructions", counters::perf),
    of("perf-tracepoints", "switches of tasks, counted", counters::tracepoint),
    of("rapl", "the reading power", counters::rapl),
    of("hwmon", "the reading temperature", counters::hwmon),
    of("hugetlb", "large pages from a pool", pages::hugetlb),
    of("thp", "large pages by madvise", pages::transparent),
    of("fixed-address", "one address in every process", pages::fixed_address),
    of("shared-memory", "the board", pages::board),
    of("locked-memory", "pages that are never taken away", pages::locked),
    of("affinity", "the agent's service_core, pinned programs", scheduling::affinity),
    of("cpusets", "roles of cores", groups::cpusets),
    of("realtime", "SCHED_FIFO on an emptied core", scheduling::fifo),
    of("idle-priority", "the agent's priority idle", scheduling::idle),
    of("interrupts", "interrupts kept off a core", knobs::interrupts),
    of("workqueues", "kernel work kept off a core", knobs::workqueues),
    of("statistics", "fewer updates of statistics on a core", knobs::statistics),
    of("nohz-full", "no timer tick on a core", knobs::tick),
    of("user-dispatch", "shipped calls of unmodified programs", calls::user_dispatch),
    of("seccomp-notify", "calls answered by another process", calls::notification),
];

/// The one with this name.
pub fn named(name: &str) -> Option<&'static Mechanism> {
    ALL.iter().find(|mechanism| mechanism.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_plain() {
        for (at, one) in ALL.iter().enumerate() {
            assert!(one.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
            assert!(ALL[..at].iter().all(|other| other.name != one.name), "{}", one.name);
            assert!(named(one.name).is_some());
        }
    }
}
