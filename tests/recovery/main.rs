//! Durable tasks on hosts of their own, and what happens to those: killed, frozen, cut off, without
//! power, with a full disk or another wall clock.
//!
//! Each host is a network namespace with its own name. Its processes share a store in a file, which
//! the head serves over TCP, or in an etcd of three servers on hosts of their own. Whatever
//! happens, each result must be there once, of the last try, and what has ended must not run again
//! ([`account`]); when nothing goes wrong any more, all must end. [`seeds`] lets faults come at
//! random moments.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod account;
mod clocks;
mod cluster;
mod disks;
mod gates;
mod head;
mod host;
#[allow(dead_code, reason = "the tests of tasks use all of it")]
#[path = "../tasks/place.rs"]
mod place;
mod plan;
mod poison;
mod run;
mod seeds;
#[path = "../../crates/tasks/tests/servers/process.rs"]
mod servers;
mod servers_of_etcd;
mod site;
mod times;
mod workers;
