//! The cores that the agent uses, and its priority compared with the applications.
//!
//! The text is read here; `processor.rs` checks whether this machine has such cores.

use std::fmt;
use std::str::FromStr;

/// The most cores that a set of the kernel's can name.
const CORES_MOST: u32 = 1024;

/// The cores on which the agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceCores {
    /// All cores that the process may use.
    Any,
    /// The one with the greatest number among those that the process may use.
    Last,
    /// These, ascending; never empty.
    These(Vec<u32>),
}

/// The agent's priority compared with the applications of its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The priority that it was started with.
    Normal,
    /// With a niceness of 10, or what it was started with if that is more.
    Low,
    /// Only while a core has nothing else to do, or nearly so: `SCHED_IDLE`.
    Idle,
}

impl FromStr for ServiceCores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "any" => return Ok(Self::Any),
            "last" => return Ok(Self::Last),
            _ => {}
        }
        let mut cores = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("{part} runs backwards"));
            }
            cores.extend(first..=last);
        }
        cores.sort_unstable();
        cores.dedup();
        Ok(Self::These(cores))
    }
}

fn number(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(core) if core < CORES_MOST => Ok(core),
        Ok(core) => Err(format!("{core} is out of range")),
        Err(_) => Err("neither core numbers nor a known word".to_owned()),
    }
}

impl FromStr for Priority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "normal" => Ok(Self::Normal),
            "low" => Ok(Self::Low),
            "idle" => Ok(Self::Idle),
            _ => Err("no such priority".to_owned()),
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Normal => "normal",
            Self::Low => "low",
            Self::Idle => "idle",
        })
    }
}

/// Cores in short form, such as `0,2-3`; the numbers ascend.
pub(crate) fn listed(cores: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &core in cores {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => runs.push((core, core)),
        }
    }
    let run = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_a_word_a_number_or_a_list() {
        let these = |cores: &[u32]| Ok(ServiceCores::These(cores.to_vec()));
        assert_eq!("any".parse(), Ok(ServiceCores::Any));
        assert_eq!("last".parse(), Ok(ServiceCores::Last));
        assert_eq!("7".parse(), these(&[7]));
        assert_eq!("2-3,0,3".parse(), these(&[0, 2, 3]));
        for (text, reason) in [
            ("", "neither core numbers"),
            ("first", "neither core numbers"),
            ("1,", "neither core numbers"),
            ("-1", "neither core numbers"),
            ("3-2", "3-2 runs backwards"),
            ("1024", "1024 is out of range"),
        ] {
            let refused = text.parse::<ServiceCores>().expect_err(text);
            assert!(refused.starts_with(reason), "{text}: {refused}");
        }
    }

    #[test]
    fn cores_are_listed_in_runs() {
        assert_eq!(listed(&[0, 2, 3, 4, 9]), "0,2-4,9");
        assert_eq!(listed(&[]), "");
    }
}
