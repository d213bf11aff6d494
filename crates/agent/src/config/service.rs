//! The cores that the agent uses, and its priority compared with the applications.
//!
//! The text is read here; `processor.rs` checks whether this machine has such cores.

use std::fmt;
use std::str::FromStr;

use tidings_cores::CoreSet;

/// The cores on which the agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceCores {
    /// All cores that the process may use.
    Any,
    /// The one with the greatest number among those that the process may use.
    Last,
    /// Those that `tidings cores apply` has left to the system.
    Role,
    /// These; never empty.
    These(CoreSet),
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
            "role" => return Ok(Self::Role),
            _ => {}
        }
        text.parse().map(Self::These)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_a_word_a_number_or_a_list() {
        let these = |cores: &[u32]| Ok(ServiceCores::These(cores.iter().copied().collect()));
        assert_eq!("any".parse(), Ok(ServiceCores::Any));
        assert_eq!("last".parse(), Ok(ServiceCores::Last));
        assert_eq!("role".parse(), Ok(ServiceCores::Role));
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
}
