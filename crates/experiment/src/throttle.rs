//! The part of each period that the kernel may keep from real-time processes.
//!
//! So that a process that spins under SCHED_FIFO or SCHED_RR takes no machine for good, Linux runs
//! real-time processes for 0.95 s of each second at most. A run of half a second therefore has a
//! pause of 50 ms in it or has none, at random: a tenth of its time, where half a per cent is asked
//! for. Both sides of a pair have such pauses alike, so no verdict is biased; but intervals get
//! wider.
//!
//! Source: the kernel's Documentation/scheduler/sched-rt-group.rst. Where it groups real-time
//! processes (`CONFIG_RT_GROUP_SCHED`), the limit of the root group rules beside the global one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::backend::Backend;
use crate::scheduling::Scheduling;

/// Where limits stand: microseconds of running, microseconds of the period.
const LIMITS: [(&str, &str); 2] = [
    ("/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_period_us"),
    ("/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "/sys/fs/cgroup/cpu/cpu.rt_period_us"),
];

/// The most that does not matter beside half a per cent.
const HARMLESS_SHARE: f64 = 0.0015;

/// A limit of the kernel.
#[derive(Clone, Debug, PartialEq)]
struct Limit {
    file: PathBuf,
    /// The part of each period that real-time processes do not get, from 0 to 1.
    kept_share: f64,
    period_us: i64,
}

fn number(path: &Path) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The limit in two files; none if they are not there or say that there is none (-1).
fn limit(runtime: &Path, period: &Path) -> Option<Limit> {
    let runtime_us = number(runtime).filter(|runtime_us| *runtime_us >= 0)?;
    let period_us = number(period).filter(|period_us| *period_us > 0)?;
    let kept_share = (1.0 - runtime_us as f64 / period_us as f64).max(0.0);
    Some(Limit { file: runtime.to_owned(), kept_share, period_us })
}

/// The warnings about limits that would disturb runs; empty if none does.
fn warnings(limits: &[Limit]) -> Vec<String> {
    let too_much = limits.iter().filter(|limit| limit.kept_share > HARMLESS_SHARE);
    let warning = |limit: &Limit| {
        let file = limit.file.display();
        let period_ms = limit.period_us as f64 / 1e3;
        let pause_ms = limit.kept_share * period_ms;
        let harmless_us = limit.period_us - limit.period_us / 1_000;
        format!(
            "the kernel may keep real-time runs off the processors for {pause_ms:.0} ms of each \
             {period_ms:.0} ms ({file}), which makes intervals wider; for the time of a campaign, \
             `echo {harmless_us} > {file}` leaves a thousandth"
        )
    };
    too_much.map(warning).collect()
}

/// What the kernel's limits on real-time processes do to a campaign's runs, in words; empty if they
/// do nothing, and where runs are not on this machine or in virtual time.
pub fn notices(backend: &Backend, scheduling: Scheduling) -> Vec<String> {
    if !(backend.is_here() && scheduling.is_real_time()) {
        return Vec::new();
    }
    let limits =
        LIMITS.iter().filter_map(|(runtime, period)| limit(runtime.as_ref(), period.as_ref()));
    warnings(&limits.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Mpi, MpiFamily, SimulatedMachine};

    fn limit_of(runtime: &str, period: &str) -> Option<Limit> {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["runtime", "period"].map(|name| folder.path().join(name));
        fs::write(&files[0], runtime).expect("writable");
        fs::write(&files[1], period).expect("writable");
        limit(&files[0], &files[1])
    }

    #[test]
    fn the_kernels_default_is_reported_with_a_remedy() {
        let default = limit_of("950000\n", "1000000\n").expect("a limit");
        let lines = warnings(&[default]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("50 ms of each 1000 ms"), "{}", lines[0]);
        assert!(lines[0].contains("echo 999000 > "), "{}", lines[0]);
    }

    #[test]
    fn a_thousandth_is_harmless_and_no_limit_is_none() {
        assert_eq!(
            warnings(&[limit_of("999000", "1000000").expect("a limit")]),
            Vec::<String>::new()
        );
        assert_eq!(limit_of("-1", "1000000"), None);
        assert_eq!(limit(Path::new("/nowhere/runtime"), Path::new("/nowhere/period")), None);
        assert_eq!(limit_of("much", "1000000"), None);
    }

    #[test]
    fn ordinary_runs_have_no_warning() {
        let here = Backend::Local(Mpi {
            family: MpiFamily::Mpich,
            shim: None,
            yielding: None,
            launcher: None,
            launcher_arguments: Vec::new(),
        });
        for scheduling in [Scheduling::Normal, Scheduling::Nice(-20)] {
            assert_eq!(notices(&here, scheduling), Vec::<String>::new());
        }
    }

    #[test]
    fn virtual_time_has_no_warning() {
        let machine = SimulatedMachine {
            platform: PathBuf::new(),
            host_pattern: "n{}".to_owned(),
            launcher_arguments: Vec::new(),
        };
        assert_eq!(notices(&Backend::Smpi(machine), Scheduling::Fifo(5)), Vec::<String>::new());
    }
}
