//! The strategies by their names.

use core::fmt;
use core::str::FromStr;

use crate::error::ParseError;

/// How a unit's bytes are given away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Strategy {
    /// A window to one other member, chosen uniformly at random.
    Uniform,
    /// One datagram each to several members, chosen uniformly at random.
    Spread,
    /// Half a window to a random member, which answers with half of its own.
    PushPull,
    /// A window to the member whose turn is next; `Uniform` where clocks or members disagree.
    Staggered,
    /// The own entry to the members of one's row, and every other row asked for in turn.
    Grid,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Uniform, Self::Spread, Self::PushPull, Self::Staggered, Self::Grid];

    /// Its name in configurations and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Spread => "spread",
            Self::PushPull => "push-pull",
            Self::Staggered => "staggered",
            Self::Grid => "grid",
        }
    }
}

impl FromStr for Strategy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = Self::ALL.into_iter().find(|strategy| strategy.name() == text);
        known.ok_or_else(|| ParseError::Strategy(text.to_owned()))
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_read_and_print_alike() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        assert!("Uniform ".parse::<Strategy>().is_err());
    }
}
