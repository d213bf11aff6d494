//! Schemes: when and by whom lost tasks are run again.
//!
//! All have the same ground. A phase is rounds: in each, workers share tasks by stealing until none
//! is left. If workers died in a round, another one follows, with what is missing then; so whatever
//! a scheme does or forgets, what is lost in a recovery is recovered, and the phase ends when a
//! round has lost nobody. A scheme says what else is done when a death is learnt of.

use core::fmt;
use core::str::FromStr;

/// A scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Nothing: all go on, and what is missing when nothing is left runs in the next round. It
    /// costs nothing before; the last round may find most workers without work.
    Lazy,
    /// All stop: the round ends as soon as what runs has ended, and the next one shares out all
    /// that is missing, lost or not yet run.
    Collective,
    /// Nobody stops: who began with a task knows who has stolen it, as givers say; it, or its
    /// backup, asks owners which of the tasks that the dead had are missing, and adds them to the
    /// round. It costs a message for each steal of tasks that were stolen before, and for each
    /// steal one to the backup.
    NonCollective,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lazy, Self::Collective, Self::NonCollective];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lazy => "lazy",
            Self::Collective => "collective",
            Self::NonCollective => "non-collective",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no scheme of this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownScheme(String);

impl fmt::Display for UnknownScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no scheme is called `{}`: say lazy, collective or non-collective", self.0)
    }
}

impl core::error::Error for UnknownScheme {}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(name: &str) -> Result<Self, UnknownScheme> {
        let found = Self::ALL.into_iter().find(|scheme| scheme.name() == name);
        found.ok_or_else(|| UnknownScheme(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_is_found_by_its_name() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.name().parse(), Ok(scheme));
        }
        let unknown = "eager".parse::<Scheme>().unwrap_err();
        assert!(unknown.to_string().contains("`eager`"));
    }
}
