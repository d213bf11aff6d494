//! A deterministic simulator of work stealing: real workers, virtual time.
//!
//! The workers are those of `tidings-steal`, which any world runs; here time, messages, speeds,
//! deaths and what a board says are simulated. A run is a function of its [`Setting`], its seed
//! and its [`programs::Program`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`setting`] | the machine: latency, bytes, speeds, unit of gossip, deaths |
//! | [`programs`] | SCF, TCE, UTS, and random programs with finishes |
//! | [`persistence`] | iterations whose tasks a balancer assigns by what they took before |
//! | [`board`] | what each worker knows of each other, with its age |
//! | [`simulation`] | the run |
//! | [`report`] | what is recorded of each iteration |
//! | [`recovery`] | runs whose workers die and whose results are exact all the same |

#![forbid(unsafe_code)]

pub mod board;
pub mod persistence;
pub mod programs;
pub mod recovery;
pub mod report;
pub mod setting;
pub mod simulation;

pub use report::Iteration;
pub use setting::{Death, Setting};
pub use simulation::run;
