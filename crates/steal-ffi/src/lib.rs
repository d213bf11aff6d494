//! Work stealing for programs in C: a [`Worker`](tidings_steal::Worker) behind functions that take
//! and give bytes.
//!
//! Workers are numbered from 0, as the ranks of an MPI program are. The program carries messages
//! between numbers and runs tasks; `mpi/steal` is such a program, and what users of MPI call.
//!
//! | module | what it holds |
//! |---|---|
//! | [`balance`] | a worker's part in a balancing between two phases |
//! | [`config`] | what a worker is told at its start, and the board that it may look at |
//! | [`task`] | tasks as C has them |
//! | [`worker`] | making, turning and ending a worker |
//! | [`output`] | what a worker has its program do, and how phases end |
//! | [`shelf`] | what a worker lays out where others take it by themselves |
//! | [`status`] | what a call answers |
//! | [`trace`] | what a worker did, and the file of what all did |
//!
//! Invariants: no thread, no lock, no global state. No panic leaves a call: a worker in which one
//! happened answers `TIDINGS_STEAL_STATUS_BROKEN` from then on. A worker must not be used by two
//! threads at a time.
//!
//! The header `include/tidings_steal.h` is made from this crate by cbindgen; a test compares the
//! two. Source of the rules: see the crate tidings-steal.

#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

// What it exports to C is to be in the library: ranks that steal by knowledge gossip.
extern crate tidings_node as _;

pub mod balance;
pub mod config;
pub mod output;
pub mod shelf;
pub mod status;
pub mod task;
pub mod trace;
pub mod worker;

pub use config::{TidingsStealBoard, TidingsStealConfig, TidingsStealHalf, TidingsStealSelection};
pub use output::{TidingsStealCounters, TidingsStealOutput, TidingsStealSays, TidingsStealSeeding};
pub use status::TidingsStealStatus;
pub use task::TidingsStealTask;
pub use trace::TidingsStealTrace;
pub use worker::TidingsStealWorker;
