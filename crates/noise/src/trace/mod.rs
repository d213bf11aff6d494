//! The kernel's own account of what ran on a core: its tracepoints.
//!
//! [`tracefs`] has the kernel write events of interrupts, soft interrupts, switches of tasks and
//! page faults into buffers of this process's own, and reads those as bytes. A [`page`] of such a
//! buffer is a chain of records, a [`format`](mod@format) says what is in a record of a kind, and
//! [`decode`] makes an [`event`] of it.

pub mod decode;
pub mod event;
pub mod format;
pub mod page;
pub mod tracefs;

pub use event::{Event, What};
