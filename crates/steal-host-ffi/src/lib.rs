//! Work stealing among the processes of one host for programs in C: the [`Host`] of
//! tidings-steal-host behind functions that take pointers and lengths.
//!
//! [`Host`]: tidings_steal_host::Host
//!
//! | module | what it holds |
//! |---|---|
//! | [`segment`] | making the memory that processes share, and its rules |
//! | [`host`] | a process that has joined: what it begins with, phases, what all show each other |
//! | [`task`] | what a function of tasks sees, and what it may do |
//! | [`array`](mod@array) | matrices in blocks that all processes read and add to |
//! | [`status`] | what a call answers |
//! | `arguments` | pointers and lengths as values |
//!
//! Invariants: no panic leaves a call; a host in which one happened takes part no more, as the
//! others are told, and answers `TIDINGS_HOST_STATUS_BROKEN` from then on. Bytes of tasks are
//! copied, and lie where any type of C may.
//!
//! The header `include/tidings_steal_host.h` is made from this crate by cbindgen; a test compares
//! the two. Source of the rules: see the crate tidings-steal-host.

#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod arguments;
pub mod array;
pub mod host;
pub mod segment;
pub mod status;
pub mod task;

pub use array::{TidingsHostArray, TidingsHostSizes};
pub use host::{TidingsHost, TidingsHostPhase, TidingsHostSeeding};
pub use segment::{TidingsHostRules, TidingsHostSearch, TidingsHostSegment};
pub use status::{TidingsHostError, TidingsHostStatus};
pub use task::{TidingsHostBody, TidingsHostTask};
