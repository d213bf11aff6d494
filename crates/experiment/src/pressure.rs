//! What this machine did besides a run: other processes, the hypervisor, waiting for processors.
//!
//! Two looks at the kernel's counters, before and after a run, and their difference. What went to
//! others is what the processors did less what the run's own processes used, so it says nothing
//! about the run itself: a rule by it cannot favour one arm. Pressure and waiting are of the run
//! and of others alike.
//!
//! Sources: `/proc/stat`, `/proc/pressure/cpu` and getrusage(2).

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::{Deserialize, Serialize};

use crate::ExperimentError;

/// How much a machine did besides a run, while it lasted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Processor time of the run's own processes, in seconds.
    pub cpu_s: Option<f64>,
    /// Share of the processors' time that went to others.
    pub others_share: Option<f64>,
    /// Share of the time in which somebody waited for a processor (PSI, some).
    pub pressure_share: Option<f64>,
    /// Share of the processors' time that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Time that processes of the run waited for a processor, over the run's time.
    pub run_delay_share: Option<f64>,
}

/// Bounds fixed beforehand: a run beyond one of them is *contaminated*, and its pairs are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_field_names, reason = "they are the names in campaign files")]
pub struct Contamination {
    /// Share of the processors' time that went to others.
    pub others_share: Option<f64>,
    /// Share of the time in which somebody waited for a processor (PSI, some).
    pub pressure_share: Option<f64>,
    /// Share of the processors' time that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Time that processes of the run waited for a processor, over the run's time.
    pub run_delay_share: Option<f64>,
}

/// The share of others above which a run is contaminated if a campaign says nothing: in a machine
/// with fewer disturbances each rank has three quarters of its core at least.
pub const OTHERS_SHARE: f64 = 0.25;

impl Contamination {
    /// The rule for a campaign that has none: without one, what others did on its machines would be
    /// told as what gossip does.
    #[must_use]
    pub fn or_default(self) -> Self {
        if self == Self::default() {
            return Self { others_share: Some(OTHERS_SHARE), ..self };
        }
        self
    }

    /// Whether all shares are known that the bounds are of; a bound of 1 needs none.
    pub fn is_answered_by(&self, seen: &Disturbance) -> bool {
        let is_answered = |bound: Option<f64>, share: Option<f64>| {
            bound.is_none_or(|bound| bound >= 1.0) || share.is_some()
        };
        is_answered(self.others_share, seen.others_share)
            && is_answered(self.pressure_share, seen.pressure_share)
            && is_answered(self.steal_share, seen.steal_share)
            && is_answered(self.run_delay_share, seen.run_delay_share)
    }

    /// Whether a run lies beyond one of the bounds.
    pub fn is_passed_by(&self, seen: &Disturbance) -> bool {
        let beyond = |bound: Option<f64>, share: Option<f64>| {
            bound.zip(share).is_some_and(|(bound, share)| share > bound)
        };
        beyond(self.others_share, seen.others_share)
            || beyond(self.pressure_share, seen.pressure_share)
            || beyond(self.steal_share, seen.steal_share)
            || beyond(self.run_delay_share, seen.run_delay_share)
    }
}

/// The kernel's counters at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    at: Instant,
    /// Of all processors, in ticks.
    processors: Option<Ticks>,
    /// Time in which somebody waited for a processor, in microseconds.
    pressure_us: Option<u64>,
    /// Processor time of children that have ended.
    children: Option<Duration>,
    /// Processor time of this process, which may delay packets for a run.
    own: Option<Duration>,
}

/// Time of all processors together, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    stolen: u64,
    all: u64,
}

impl Counters {
    /// Looks at them now.
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        Self {
            at: Instant::now(),
            processors: read("/proc/stat").and_then(|text| ticks(&text)),
            pressure_us: read("/proc/pressure/cpu").and_then(|text| pressure_us(&text)),
            children: spent(UsageWho::RUSAGE_CHILDREN),
            own: spent(UsageWho::RUSAGE_SELF),
        }
    }

    /// What lies between an earlier look and this one.
    pub(crate) fn since(&self, before: &Self) -> Disturbance {
        let passed = (self.at - before.at).as_secs_f64().max(1e-9);
        let seconds = |after: Option<Duration>, before: Option<Duration>| {
            after.zip(before).map(|(after, before)| after.saturating_sub(before).as_secs_f64())
        };
        let (cpu_s, self_s) =
            (seconds(self.children, before.children), seconds(self.own, before.own));
        let ticks = self.processors.zip(before.processors).map(|(after, before)| Ticks {
            busy: after.busy.saturating_sub(before.busy),
            stolen: after.stolen.saturating_sub(before.stolen),
            all: after.all.saturating_sub(before.all).max(1),
        });
        let pressure = self.pressure_us.zip(before.pressure_us);
        Disturbance {
            cpu_s,
            others_share: ticks.zip(cpu_s.zip(self_s)).map(|(ticks, (cpu_s, self_s))| {
                // Ticks have no unit of their own here: all of them are the processors' whole time.
                let busy = ticks.busy as f64 / ticks.all as f64;
                let own = (cpu_s + self_s) / (passed * processors());
                (busy - own).clamp(0.0, 1.0)
            }),
            pressure_share: pressure.map(|(after, before)| {
                (after.saturating_sub(before) as f64 / 1e6 / passed).clamp(0.0, 1.0)
            }),
            steal_share: ticks.map(|ticks| ticks.stolen as f64 / ticks.all as f64),
            run_delay_share: None,
        }
    }
}

/// Refuses a rule by what this machine does not report.
///
/// # Errors
/// [`ExperimentError::Machine`] with the bound's name.
pub fn must_be_known(rule: &Contamination) -> Result<(), ExperimentError> {
    let known = Counters::now().since(&Counters::now());
    let waits = fs::metadata("/proc/self/schedstat").is_ok();
    for (name, bound, is_known) in [
        ("others_share", rule.others_share, known.others_share.is_some()),
        ("steal_share", rule.steal_share, known.steal_share.is_some()),
        ("pressure_share", rule.pressure_share, known.pressure_share.is_some()),
        ("run_delay_share", rule.run_delay_share, waits),
    ] {
        if bound.is_some() && !is_known {
            let reason = format!("contamination: this kernel does not report {name}: take it out");
            return Err(ExperimentError::Machine(reason));
        }
    }
    Ok(())
}

/// How many processors the kernel counts in `/proc/stat`.
fn processors() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
}

/// Processor time of this process, or of its children that have ended.
fn spent(who: UsageWho) -> Option<Duration> {
    let usage = getrusage(who).ok()?;
    let spent = (usage.user_time() + usage.system_time()).num_microseconds();
    Some(Duration::from_micros(u64::try_from(spent).ok()?))
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn ticks(text: &str) -> Option<Ticks> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let counts: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, stolen, ..] = counts[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq;
    Some(Ticks { busy, stolen, all: busy + idle + iowait + stolen })
}

fn pressure_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_lines_are_read() {
        let stat = "cpu  100 20 30 400 50 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(ticks(stat), Some(Ticks { busy: 163, stolen: 8, all: 621 }));
        assert_eq!(ticks("cpu 1 2 3"), None);
        let pressure = "some avg10=1.00 avg60=2.00 avg300=3.00 total=386903674\nfull avg10=0.00\n";
        assert_eq!(pressure_us(pressure), Some(386_903_674));
        assert_eq!(pressure_us(""), None);
    }

    #[test]
    fn a_bound_is_answered_by_its_share_alone_and_one_of_all_by_any() {
        let rule = |bound| Contamination { others_share: Some(bound), ..Contamination::default() };
        let other = Disturbance { steal_share: Some(0.0), ..Disturbance::default() };
        let own = Disturbance { others_share: Some(0.9), ..Disturbance::default() };
        assert!(rule(0.25).is_answered_by(&own) && !rule(0.25).is_answered_by(&other));
        assert!(rule(1.0).is_answered_by(&other) && !rule(1.0).is_passed_by(&own));
    }

    #[test]
    fn what_the_run_used_itself_is_not_others() {
        let at = Instant::now();
        let counters = |seconds: f64, busy, stolen, all, own_s: f64| Counters {
            at: at + Duration::from_secs_f64(seconds),
            processors: Some(Ticks { busy, stolen, all }),
            pressure_us: Some((seconds * 1e6 * 0.25) as u64),
            children: Some(Duration::from_secs_f64(own_s)),
            own: Some(Duration::ZERO),
        };
        // Ten seconds: three quarters of the processors' time busy, half of it the run's.
        let own_s = 5.0 * processors();
        let seen = counters(10.0, 750, 100, 1_000, own_s).since(&counters(0.0, 0, 0, 0, 0.0));
        let near = |share: Option<f64>, wanted: f64| {
            assert!(share.is_some_and(|share| (share - wanted).abs() < 1e-6), "{share:?} {wanted}");
        };
        near(seen.others_share, 0.25);
        near(seen.steal_share, 0.1);
        near(seen.pressure_share, 0.25);
        near(seen.cpu_s, own_s);
    }
}
