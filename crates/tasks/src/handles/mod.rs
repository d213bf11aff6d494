//! Handles: large blobs that stay in the memory of the node that puts them, and that others read
//! there.
//!
//! A tuple, a payload or a result carries the *handle* of a shared blob: which bytes, how many, and
//! the depot where they lie, a folder in memory of one node, its user and its store. Whoever has
//! the handle gets the bytes, however many: a process of the same host maps the file, which copies
//! nothing; one of another host fetches it once, from the owner or a host that has a copy, and maps
//! its own. Both believe what lies there; only what comes without the cluster's key has its hash
//! checked.
//!
//! | module | what it holds |
//! |---|---|
//! | `opened` | what a process puts and gets |
//! | `draft` | one that a program writes itself |
//! | `held` | a blob that it holds |
//! | `holder` | who holds what, for as long as a process lives |
//! | `place` | where the folder lies |
//! | `tending` | frees what nobody needs any more |
//! | `error` | why a blob is not to be had |
//!
//! **How long one lives.** As long as a process holds it ([`Held`]), a tuple names it or a task for
//! which it was pinned has a record; and [`GRACE`] longer, the time of a reader who has taken the
//! tuple and has not got the blob yet. What is mapped stays readable in any case. Nothing is
//! synced: it goes with its node, and whoever gets it then is told which blob, whose and what to
//! do.
//!
//! Source: FOX-tuple (FOX final report, §3.3), where tuples name node, address and size of a large
//! block. Why it lies in files: docs/decisions/0038-large-blobs-by-handle.md.

mod draft;
mod error;
mod held;
mod holder;
mod opened;
mod place;
mod tending;

pub use draft::Draft;
pub use error::ShareError;
pub use held::Held;
pub use opened::Handles;
pub use place::{FOLDER, usual};
pub use tending::GRACE;
