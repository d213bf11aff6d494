//! Selective recovery for programs in C: a [`Participant`](tidings_recovery::Participant) behind
//! functions that take and give bytes.
//!
//! Participants are numbered from 0, as the ranks of an MPI program are. The program carries
//! messages between numbers and runs tasks; `mpi/recover` is such a program, and what users of MPI
//! call.
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | what a participant is told at its start, arrays, and plans as functions of C |
//! | [`participant`] | making, turning and ending a participant |
//! | [`output`] | what a participant has its program do, how phases end, and counters |
//! | [`status`] | what a call answers |
//!
//! Invariants: no thread, no lock, no global state. No panic leaves a call: a participant in which
//! one happened answers `TIDINGS_RECOVERY_STATUS_BROKEN` from then on. A participant must not be
//! used by two threads at a time.
//!
//! The header `include/tidings_recovery.h` is made from this crate by cbindgen; a test compares the
//! two. Source of the rules: see the crate tidings-recovery.

#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

pub mod config;
pub mod output;
pub mod participant;
pub mod status;

pub use config::{
    TidingsRecoveryArray, TidingsRecoveryConfig, TidingsRecoveryKind, TidingsRecoveryPlace,
    TidingsRecoveryPlan, TidingsRecoveryScheme,
};
pub use output::{TidingsRecoveryCounters, TidingsRecoveryOutput, TidingsRecoverySays};
pub use participant::TidingsRecovery;
pub use status::TidingsRecoveryStatus;
