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

pub mod context;
mod grid;
pub mod layout;
pub mod permutation;
pub mod puller;
pub mod pusher;
mod staggered;
pub mod strategy;
pub mod timetable;
mod windows;

use context::Disseminate;
pub use strategy::Strategy;

impl Strategy {
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
}
