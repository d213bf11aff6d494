//! The programs that measure for the studies: what several of them need.
//!
//! Each folder here is a question (README.md is the index). Its Rust program, if it has
//! one, is a bench of this package that lies beside the page, and makes the tables of that folder.

#![allow(clippy::disallowed_methods, reason = "what measures has a clock, threads and files")]

#[path = "busy-share/driven.rs"]
pub mod driven;
#[path = "counter-lines/lines.rs"]
pub mod lines;
#[path = "weak-scaling/photons.rs"]
pub mod photons;
#[path = "memory-growth/readers.rs"]
pub mod readers;
#[path = "readings/recorder.rs"]
pub mod recorder;
pub mod table;
#[path = "weak-scaling/work.rs"]
pub mod work;
