//! The applications of work stealing for programs in C, such as `mpi/steal/main.c`: tasks and
//! totals as bytes and words.
//!
//! | module | what it holds |
//! |---|---|
//! | [`application`] | what C calls |
//! | `names` | applications by name, such as `uts:T1` |
//! | `portable` | what an application must say for its tasks and totals to travel |
//! | `program` | an application with the total of this process |
//!
//! The library has the workers, too (tidings-steal-ffi), as one program cannot link two libraries
//! that both have Rust's standard library.
//!
//! Invariant: no panic leaves a call; bytes that are no task are refused.

#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

// What it exports to C is to be in the library.
extern crate tidings_steal_c as _;

pub mod application;
mod names;
mod portable;
mod program;
