//! Dissemination: what a node sends when, and to whom.
//!
//! | strategy | each unit of time |
//! |---|---|
//! | `uniform` | the newest entries, a window, to one random member (Figure 1 of Levy et al., ROSS'14) |
//! | `spread` | as many bytes, one datagram each to several random members |
//! | `push-pull` | half a window to one random member, which answers with half of its own |
//! | `staggered` | a window to the member whose turn is next by a timetable ([`timetable`]) |
//! | `grid` | the own entry to the own row, and requests for the rows of others ([`layout`]) |
//!
//! All send as many bytes on average as a window of the configured size takes. How entries travel
//! is the wire's matter, who is a member that of the membership.

pub(crate) mod chance;
mod grid;
pub mod layout;
pub mod permutation;
pub mod puller;
pub mod pusher;
pub mod scene;
mod staggered;
pub mod timetable;
mod windows;

use core::fmt;
use core::str::FromStr;

pub(crate) use chance::Chance;
use scene::Disseminate;

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

    /// The strategy at work in one node.
    pub(crate) fn begin(self) -> Box<dyn Disseminate> {
        match self {
            Self::Uniform => Box::new(windows::Uniform),
            Self::Spread => Box::new(windows::Spread),
            Self::PushPull => Box::new(windows::PushPull),
            Self::Staggered => Box::new(staggered::Staggered::default()),
            Self::Grid => Box::new(grid::Grid::default()),
        }
    }

    /// Entries of the window a node sends in return, where this strategy wants one.
    pub(crate) fn answer_entries(self, window_entries: usize) -> Option<usize> {
        (self == Self::PushPull).then(|| windows::PushPull::half(window_entries))
    }

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
