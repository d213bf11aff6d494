//! What every experiment needs, whatever is measured.
//!
//! An experiment has a plan of runs, makes those that its journal lacks, and can be interrupted
//! anywhere: [`conduct`] does that for whatever is an `Experiment`, with a [`journal`] of lines and
//! a [`schedule`] of repetitions for those that compare; an [`allowance`] may bound it. [`text`]
//! reads campaign files and complains with their lines.
//!
//! A run is started by a [`backend`] (this machine, hosts made on it, Slurm, a simulated machine)
//! in a directory of its own ([`place`]); [`run`] sees to it that nothing of it is left.
//! [`pressure`] is what the machine did besides, [`scheduling`] how its processes are scheduled,
//! [`throttle`] what the kernel makes of that. [`outcome`] and [`reading`] are what came out.
//! [`hosts`] are several made on one machine, and [`switch`] the frame of what packets pass between
//! them. [`statistics`] has intervals and tests that suppose no distribution, and [`manifest`]
//! writes a table with where its numbers come from.
//!
//! What experiments start: real [`agents`], which a [`quota`] may slow down, and programs of the
//! [`mpi`]s that are here.
//!
//! This crate knows neither gossip nor what a campaign compares: that is for the crates that stand
//! on it, such as `tidings-overhead`.

#![forbid(unsafe_code)]

pub mod agents;
pub mod allowance;
pub mod backend;
pub mod conduct;
pub mod error;
pub mod hosts;
pub mod journal;
pub mod manifest;
pub mod mpi;
pub mod outcome;
pub mod place;
pub mod pressure;
pub mod program;
pub mod quiet;
pub mod quota;
pub mod reading;
pub mod run;
pub mod schedule;
pub mod scheduling;
pub mod series;
pub mod statistics;
pub mod switch;
pub mod text;
pub mod throttle;
mod wording;

pub use error::ExperimentError;
