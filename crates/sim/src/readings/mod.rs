//! Readings of machines: recorded, made up after the recorded, and how much news is in them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`recording`] | a node's readings unit by unit, and the file they are kept in |
//! | [`generator`] | readings of many nodes for a simulation, drawn from recordings |
//! | [`information`] | bits a unit that a receiver has to learn, by a stated tolerance |
//!
//! What news is, is the core's: [`tidings_gossip::payload::Held`]. Nothing here reads a file.

pub mod generator;
pub mod information;
pub mod recording;

pub use generator::Generator;
pub use information::{Estimate, Information};
pub use recording::Recording;
