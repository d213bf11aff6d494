//! Spaces: tuples that processes put, read and pull, as a program has them.
//!
//! [`Spaces`] belong to a session: what it has pulled is there again when it ends. A [`Space`] is
//! one of them, by its name. What is pulled is [`Pulled`], until it is consumed or given back; with
//! [`Spaces::of_task`] it belongs to the try of a task instead, and ends with that.
//!
//! A wait is one request, which the coordinator answers when a tuple has come or the time is over.
//! A future that is dropped gives it up. In a store of several parts a statement goes to the part
//! in which its tuples lie, by the names of its spaces ([`tidings_tasks_core::tuple::home`]); one
//! that may find its tuple in any goes to all (`anywhere`).
//!
//! Intuition and rules: docs/concepts/tasks.md; what a statement is:
//! [`tidings_tasks_core::tuple`].

mod anywhere;
mod error;
mod one;
mod pulled;
mod slots;
mod spaces;

pub use error::SpaceError;
pub use one::Space;
pub use pulled::Pulled;
pub use spaces::Spaces;
