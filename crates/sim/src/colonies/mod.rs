//! Colonies in the simulator: up to a million nodes, one colony at a time.
//!
//! An aggregate is made when a call is answered, by the called node, so colonies depend on each
//! other through nothing but who is up. That is drawn for all nodes before the run
//! ([`uptime`]). Then each colony is simulated on its own, in any order and on any processor
//! (`compact/`, with the core's detector where deaths are asked for), and what comes out is added
//! up in whole numbers: the report does not depend on how many threads there are, and memory is
//! that of the colonies under way.
//!
//! The full mode (`full.rs`) has a real node of the core for each, all in one world, and shows that
//! the compact mode gives the same.

pub mod ages;
mod compact;
pub mod death_times;
mod full;
mod piece;
pub mod report;
pub mod scenario;
mod state;
pub mod tally;
pub mod uptime;
mod world;

pub use world::World;
