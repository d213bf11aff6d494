//! Durable tasks as a user has them: `tidings run`, workers and queues as real processes, which
//! are stopped and killed at moments that the tests choose.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod cluster;
mod far;
mod flows;
mod graphs;
mod hosts;
mod idle;
mod in_c;
mod kills;
mod mcphoton;
mod nodes;
#[allow(dead_code, reason = "the tests of recovery use the rest")]
mod place;
mod poison;
mod queues;
mod refusals;
mod replicas;
mod room;
mod runs;
#[path = "../../crates/tasks/tests/servers/process.rs"]
mod servers;
mod shows;
mod spaces;
mod stores;
mod values;
mod workers;
