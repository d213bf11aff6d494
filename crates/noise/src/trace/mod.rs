//! The kernel's own account of what ran on a core: its tracepoints.
//!
//! [`tracefs`] has the kernel write events of interrupts, soft interrupts, switches of tasks and
//! page faults into buffers of this process's own, and reads those as bytes. A [`page`] of such a
//! buffer is a chain of records, a [`format`](mod@format) says what is in a record of a kind, and
//! [`decode`] makes an [`event`] of it. Where the kernel has its tracer [`osnoise`], what that
//! records is taken instead: net durations, which the kernel has added up itself.

pub mod decode;
pub mod event;
pub mod format;
pub mod osnoise;
pub mod page;
pub mod text;
pub mod tracefs;

pub use event::{Event, What};
