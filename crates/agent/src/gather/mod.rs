//! Metrics that collectors gather beside the readings at fixed places of the payload.
//!
//! A collector is an executable of the operator's (`folder`, `program`, `output`) or built in
//! (`devices`). What it says is published as users' metrics are, for as long as it is said again in
//! time: a collector that fails has none. They come as messages to the loop, which never waits for
//! a collector.
//!
//! Invariant: metrics of users come first. A metric of a collector that has no room in the payload,
//! or whose name a user has published, is left out, and the log says so.

mod devices;
mod folder;
mod news;
mod output;
mod program;
mod table;

pub use devices::Device;
pub(crate) use devices::watch;
pub(crate) use folder::follow;
pub(crate) use news::News;
pub(crate) use table::{Gathered, LeftOut, Turn};
