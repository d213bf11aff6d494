//! The detector of data races for programs in C, and for code in C that a program in Rust calls:
//! `include/tidings_races.h`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`access`] | accesses that C declares, by a macro that says where it stands |
//! | [`check`] | a program in C that forks by [`check::tidings_races_join`], checked |
//!
//! Invariant: no panic leaves a call: one in a task of C cannot be, and one of the library ends the
//! program, as there is nobody who could go on.

#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

pub mod access;
pub mod check;
mod place;
