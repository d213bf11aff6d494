//! What is measured, and its bounds.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::NoiseError;

/// The highest number of a core that the system's masks of the probe hold.
pub const MOST_CORES: u32 = 1_024;
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
    /// Tracepoints where they can be had, else /proc.
    Auto,
    /// Tracepoints or nothing.
    Tracepoints,
    /// Differences of what /proc counts.
    Proc,
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
    pub cores: Vec<u32>,
    /// Whether each probe stays on its core.
    pub is_pinned: bool,
    /// Who names the gaps.
    pub attribution: Attribution,
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

/// The cores of a list as the kernel writes it, `0,2-5`, in order, each once.
///
/// # Errors
/// What is wrong with the list.
pub fn cores_of(list: &str) -> Result<Vec<u32>, String> {
    let mut cores = BTreeSet::new();
    for part in list.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return Err(format!("`{part}` is no core: write numbers and ranges, as in 0,2-5"));
        };
        if from > to || to >= MOST_CORES {
            return Err(format!("`{part}` is no range of cores below {MOST_CORES}"));
        }
        cores.extend(from..=to);
    }
    Ok(cores.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores_are_those_of_the_kernel() {
        assert_eq!(cores_of("0,2-4,3\n"), Ok(vec![0, 2, 3, 4]));
        for wrong in ["", "a", "1-", "3-1", "0-99999999", "-1", "4294967295"] {
            cores_of(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_with_the_bounds() {
        let right = Settings {
            method: Method::Ftq,
            duration: Duration::from_secs(10),
            quantum: Duration::from_millis(1),
            work_units: 10_000,
            threshold: Duration::from_nanos(500),
            cores: vec![0],
            is_pinned: true,
            attribution: Attribution::Auto,
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
