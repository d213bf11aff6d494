//! A store over a connection: for processes that cannot open it themselves.
//!
//! A store in a file has one process that holds it, and servers of an etcd may be out of reach of
//! some hosts. Whoever has the store open *offers* it beside what else it serves: over the network
//! and on its host's socket. What is offered are the keys with one prefix, such as those of
//! building blocks: records of tasks are written by their coordinator alone.
//!
//! | file | what it holds |
//! |---|---|
//! | `said` | what both sides say |
//! | [`offer`] | the side that has the store |
//! | [`remote`] | the side without: an engine like the others |
//!
//! Calls go over one connection, each with a number, and are answered as they are done. A watch has
//! a connection of its own, so that a slow watcher holds up nothing else and is held up itself.
//!
//! Invariants: nothing outside the offered keys is read or written. A commit whose connection ended
//! before the answer is *unknown*; what changes nothing is asked again over the next connection.

pub mod offer;
pub mod remote;
mod said;

pub(crate) use said::HELLO;
