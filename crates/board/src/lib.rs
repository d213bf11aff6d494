//! The board: one node's vector in shared memory, for any number of readers in other processes.
//!
//! The agent writes what it knows of each node into a file in memory; readers map the file and
//! read. No requests are made: a reader costs the agent nothing, and the agent never waits for a
//! reader. A [`Board`] reads, a [`Writer`] writes.
//!
//! Each node has a slot. A *sequence lock* (`sequence.rs`) guards each: the writer makes the slot's
//! version odd, writes, and makes it even again; a reader that saw two versions, or an odd one,
//! reads again. Ages are not written: a slot has the *birth* of its entry on the machine's clock,
//! from which each reader computes the age now.
//!
//! Invariants: all shared words are atomics, so that no reader can see undefined behaviour; a file
//! is checked when it is opened and no number read from it is used as an offset without a bound; a
//! writer never shrinks a file and never changes its layout: it makes another, puts it in
//! place of the first, and marks the first as replaced.
//!
//! The bytes are fixed in docs/reference/board.md; `tidings.h` (C) and `tidings.board` (Python)
//! read the same. Payloads are what the cluster publishes: `tidings_gossip::payload` decodes them.

mod entry;
mod error;
mod index;
pub mod layout;
mod mapping;
mod name;
mod reader;
mod runtime_dir;
pub mod sequence;
mod snapshot;
mod writer;

pub use entry::{Entry, State};
pub use error::{BoardError, WriteError};
pub use reader::{Board, now_ns};
pub use runtime_dir::{
    BOARD_FILE, RUNTIME_DIR_VARIABLE, SOCKET_FILE, agent_dir, board_path, runtime_dir,
};
pub use snapshot::{Seen, Snapshot};
pub use writer::{News, Outline, Writer};
