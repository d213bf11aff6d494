//! What is measured, and its bounds.

use std::path::PathBuf;
use std::time::Duration;

use tidings_cores::CoreSet;

use crate::NoiseError;

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3_600);
const QUANTUM: [Duration; 2] = [Duration::from_micros(100), Duration::from_secs(1)];
const THRESHOLD: [Duration; 2] = [Duration::from_nanos(100), Duration::from_millis(100)];
const WORK: [u64; 2] = [1_000, 1_000_000_000];

/// What a quantum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Fixed time, in which work is counted.
    Ftq,
    /// Fixed work, whose time is taken.
    Fwq,
    /// Fixed time with no work but reading the clock: the finest view of gaps.
    Gaps,
}

impl Method {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ftq => "ftq",
            Self::Fwq => "fwq",
            Self::Gaps => "gaps",
        }
    }
}

/// Who is to name the gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribution {
    /// Osnoise where it can be had, else tracepoints, else /proc.
    Auto,
    /// The kernel's tracer osnoise or nothing.
    Osnoise,
    /// Tracepoints or nothing.
    Tracepoints,
    /// Differences of what /proc counts.
    Proc,
}

/// How a probe gets to its core. The thread that keeps samples stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// By its affinity.
    Affinity,
    /// As a program in the role `application` does, by the journal of `tidings cores` in a folder.
    Application(PathBuf),
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What a quantum is.
    pub method: Method,
    /// How long.
    pub duration: Duration,
    /// The length of a quantum of fixed time.
    pub quantum: Duration,
    /// The units of a quantum of fixed work.
    pub work_units: u64,
    /// What is taken at least in a gap.
    pub threshold: Duration,
    /// The cores, each with a probe.
    pub cores: CoreSet,
    /// Whether each probe stays on its core.
    pub is_pinned: bool,
    /// Who names the gaps.
    pub attribution: Attribution,
    /// How a probe gets to its core.
    pub way: Way,
}

impl Settings {
    /// Refuses what is out of bounds.
    ///
    /// # Errors
    /// [`NoiseError::Option`].
    pub fn check(&self) -> Result<(), NoiseError> {
        within("--for", self.duration, [SHORTEST, LONGEST])?;
        within("--quantum", self.quantum, QUANTUM)?;
        within("--threshold", self.threshold, THRESHOLD)?;
        let [least, most] = WORK;
        if !(least..=most).contains(&self.work_units) {
            let reason = format!("{} is not from {least} to {most} units", self.work_units);
            return Err(NoiseError::Option { option: "--work", reason });
        }
        Ok(())
    }
}

fn within(option: &'static str, value: Duration, bounds: [Duration; 2]) -> Result<(), NoiseError> {
    let [least, most] = bounds;
    if value < least || value > most {
        let reason = format!("{value:?} is not from {least:?} to {most:?}");
        return Err(NoiseError::Option { option, reason });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_with_the_bounds() {
        let right = Settings {
            method: Method::Ftq,
            duration: Duration::from_secs(10),
            quantum: Duration::from_millis(1),
            work_units: 10_000,
            threshold: Duration::from_nanos(500),
            cores: CoreSet::from_iter([0]),
            is_pinned: true,
            attribution: Attribution::Auto,
            way: Way::Affinity,
        };
        right.check().expect("all within");
        let long = Settings { duration: Duration::from_secs(3_601), ..right.clone() };
        let refused = long.check().expect_err("more than an hour").to_string();
        assert_eq!(refused, "--for: 3601s is not from 1s to 3600s");
        Settings { quantum: Duration::from_micros(1), ..right.clone() }.check().expect_err("short");
        Settings { work_units: 1, ..right.clone() }.check().expect_err("no work");
        Settings { threshold: Duration::ZERO, ..right }.check().expect_err("below the clock");
    }
}
