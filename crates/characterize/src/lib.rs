//! What an MPI machine does under load: one command for the tests of Balaji et al. (Toward Message
//! Passing for a Million Processes, 2009).
//!
//! `mpi/characterize` measures and prints rows; a series (`tidings-experiment`) runs it over
//! numbers of ranks, several times, and goes on where it was interrupted. Here is what is made of
//! the rows: a [`row`] is a series of samples, of which a [`point`] is what is left without the
//! warm-up, with its interval; points are drawn as the [`figure`]s of that paper, each with a
//! sentence that says what it means for an application, on a [`page`]; [`orders`] of ranks are
//! compared with what was predicted, [`links`] of emulated hosts with what was asked; runs that
//! were [`left_out`] are named.
//! [`comparison`] tests two of them, [`beside`] what gossip does to each test, [`growth`] hands
//! series to `tidings-scaling`, [`plan`] is the series for this machine, and [`advice`] says where
//! to place the ranks of an application.
//!
//! Nothing here touches the machine or the file system.

#![forbid(unsafe_code)]

pub mod advice;
pub mod beside;
pub mod chart;
pub mod comparison;
pub mod figure;
pub mod growth;
pub mod left_out;
pub mod links;
pub mod orders;
pub mod page;
pub mod plan;
pub mod point;
pub mod row;
pub mod table;
mod words;
