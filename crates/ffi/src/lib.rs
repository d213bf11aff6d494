//! The gossip core for programs in C: the same [`Node`](tidings_gossip::Node) as in the agent,
//! behind eleven functions and a transport that the program supplies.
//!
//! The nodes of a cluster are numbered from 0, as the ranks of an MPI program are, and the
//! program's [`TidingsTransport`] carries messages between numbers. A program makes a node, says
//! what the node publishes, and gives it a turn whenever it is due or something may have arrived:
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | what a node is told at its start |
//! | [`transport`] | what the program does for it: a clock, sending, receiving |
//! | [`node`] | making, turning and ending a node |
//! | [`reading`] | entries, ages and counters |
//! | [`status`] | what a call answers |
//! | [`sizes`] | what datagrams and entries take |
//!
//! Invariants: no thread, no lock, no global state, so one process may hold many nodes, as
//! simulated MPI ranks do. After the first turns nothing allocates. A call does a bounded amount of
//! work. No panic leaves a call: a node in which one happened answers `TIDINGS_STATUS_BROKEN` from
//! then on. A node must not be used by two threads at a time.
//!
//! The header `include/tidings_node.h` is made from this crate by cbindgen; a test compares the
//! two. Source of the algorithm: see the crate tidings-gossip.

#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

pub mod config;
pub mod node;
pub mod reading;
pub mod sizes;
pub mod status;
pub mod transport;

pub use config::{TidingsConfig, TidingsStrategy};
pub use node::TidingsNode;
pub use reading::{TidingsAges, TidingsCounters, TidingsEntry, TidingsState};
pub use status::TidingsStatus;
pub use transport::TidingsTransport;
