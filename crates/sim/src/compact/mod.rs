//! The compact simulation: every node a row of births, under the same rules.
//!
//! Each unit of time a node is created again in its own row and gives its newest entries to others,
//! which take what is newer. That is all the algorithm is when messages arrive at once, so a row
//! of one number an origin is enough, and a message costs two passes over a row instead of a
//! datagram of entries. The strategies are run by the core's own timetable, layout and puller
//! (`play.rs`). What rows cannot express is rejected before
//! ([`Scenario::check`](crate::Scenario::check)).
//!
//! Where it differs from the full mode: ages are exact, while on the wire each hop rounds them up
//! (by less than 0.05 % each); a message is lost as a whole, however many datagrams it would take;
//! ties at the edge of a window all go; among more than 1,024 nodes quantiles count the ages of
//! some nodes at each sample, of all in turn. A test holds both modes against each other.

mod grid;
mod play;
mod pulls;
mod run;
mod wake;
mod windows;

pub(crate) use run::Compact;
