//! How quiet this machine is: what a program that wants all of its processors does not get.
//!
//! A thread for each processor reads the clock without pause. Where two readings lie far apart,
//! something else had the processor: another process, the kernel or the hypervisor. How long that
//! is says how long a run must be for it not to matter, and the kernel's counters say who had the
//! rest (`pressure`).

use std::thread;
use std::time::{Duration, Instant};

use crate::pressure::{Contamination, Counters, Disturbance};

/// How long a machine is watched: long enough for what happens a few times a second.
pub const WATCH: Duration = Duration::from_secs(1);

/// What was seen of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Quiet {
    /// Shares of the processors' time that went to others.
    pub disturbance: Disturbance,
    /// The longest time that a thread was kept from its processor, in milliseconds.
    pub longest_ms: f64,
    /// How many processors were watched.
    pub processors: usize,
}

impl Quiet {
    /// Watches this machine for so long.
    pub fn watch(time: Duration) -> Self {
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let before = Counters::now();
        let threads: Vec<_> =
            (0..processors).map(|_| thread::spawn(move || longest(time))).collect();
        let gaps = threads.into_iter().filter_map(|thread| thread.join().ok());
        let longest_ms = gaps.max().unwrap_or_default().as_secs_f64() * 1e3;
        let disturbance = Counters::now().since(&before);
        Self { disturbance, longest_ms, processors }
    }

    /// Whether runs on this machine would be dropped by a rule.
    pub fn is_passed(&self, rule: &Contamination) -> bool {
        rule.is_passed_by(&self.disturbance)
    }
}

impl std::fmt::Display for Quiet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: Option<f64>| {
            share.map_or("an unknown part".to_owned(), |share| format!("{:.0} %", 100.0 * share))
        };
        write!(
            f,
            "others have {} of the time of {} processors, the hypervisor {}, for up to {:.1} ms",
            percent(self.disturbance.others_share),
            self.processors,
            percent(self.disturbance.steal_share),
            self.longest_ms
        )
    }
}

/// The longest time between two readings of the clock.
fn longest(time: Duration) -> Duration {
    let begin = Instant::now();
    let (mut last, mut most) = (begin, Duration::ZERO);
    while last - begin < time {
        let now = Instant::now();
        most = most.max(now - last);
        last = now;
    }
    most
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// As many processes as processors, each of which spins: the watcher gets half at most.
    #[test]
    fn processes_that_spin_are_seen() {
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut others: Vec<Child> =
            (0..processors).map(|_| spin().expect("there is a shell")).collect();
        let seen = Quiet::watch(WATCH);
        for other in &mut others {
            other.kill().expect("it spins");
            other.wait().expect("an own child");
        }
        let share = seen.disturbance.others_share.expect("Linux counts");
        assert!(share > 0.2, "{seen}");
        let rule = Contamination { others_share: Some(0.2), ..Contamination::default() };
        assert!(seen.is_passed(&rule) && seen.longest_ms > 0.0, "{seen}");
        assert!(seen.to_string().contains("% of the time of"), "{seen}");
    }
}
