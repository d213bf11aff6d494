//! The primitives of Tidings: what a state machine without input and output is built of.
//!
//! | module | what it holds |
//! |---|---|
//! | [`time`] | instants on one node's own clock, which a driver passes in |
//! | [`chance`] | the generator: all random draws, from one seed |
//! | [`id`] | which node, and which life of it |
//! | [`bytes`] | bytes read and written front to back, within their bounds |
//! | [`seal`], [`nonce`], [`cached_ring`] | frames encrypted under the keys that nodes share |
//!
//! The gossip core stands on these, and so can any other machine of its kind, without linking the
//! gossip core. Nothing in here knows of entries, windows, members or datagrams' kinds; a thing
//! belongs here if two machines need it and it has no state of its own beyond what it is given.
//! Why a crate, and why one: docs/decisions/0020-primitives.md.
//!
//! Invariants: no clock, socket, thread, file or global generator; no unsafe code; what is read is
//! bounded by the bytes at hand.

#![forbid(unsafe_code)]

pub mod bytes;
pub mod cached_ring;
pub mod chance;
mod derivation;
pub mod id;
pub mod nonce;
pub mod seal;
pub mod time;

pub use cached_ring::CachedRing;
pub use chance::Chance;
pub use id::{Incarnation, NodeId};
pub use seal::{Key, KeyError, KeyRing};
pub use time::Instant;
