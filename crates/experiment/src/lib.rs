//! What every experiment needs, whatever is measured.
//!
//! An experiment starts programs, waits for them, notes what came out and what disturbed them, and
//! says how sure it is. [`run`] starts one in a directory of its own ([`place`]) and sees to it
//! that nothing of it is left; [`pressure`] is what the machine did besides, [`scheduling`] how its
//! processes are scheduled. [`hosts`] are several made on one machine, and [`switch`] the frame of
//! what packets pass between them. [`statistics`] has intervals and tests that suppose no
//! distribution, and [`manifest`] writes a table with where its numbers come from.
//!
//! What experiments start: real [`agents`], which a [`quota`] may slow down, and programs of the
//! [`mpi`]s that are here.
//!
//! This crate knows neither gossip nor what a campaign compares: that is for the crates that stand
//! on it, such as `tidings-overhead`.

#![forbid(unsafe_code)]

pub mod agents;
pub mod error;
pub mod hosts;
pub mod manifest;
pub mod mpi;
pub mod place;
pub mod pressure;
pub mod quota;
pub mod run;
pub mod scheduling;
pub mod statistics;
pub mod switch;

pub use error::ExperimentError;
