//! `tidings.tasks._native`: what the Python package needs of the durable tasks in Rust.
//!
//! Python pickles calls, keeps futures and calls functions. Here is the rest: the store and its
//! members, sessions, the worker, and the frames between a worker and the process that calls.
//!
//! | module | what it holds |
//! |---|---|
//! | `client` | the class that submits, waits and runs a worker |
//! | `engine` | its thread: a runtime of tokio with a member, a session and a worker |
//! | `place` | how this process takes part in a store |
//! | `requests` | what Python wants as requests, and when it has ended |
//! | `outcome` | how it has ended |
//! | `unfit` | calls that no worker fits |
//! | `handles` | large blobs by handle, as Python passes them |
//! | `sessions` | requests of queues, semaphores, keys and spaces, and their answers |
//! | `tuples` | tuples and statements, as Python passes them |
//! | `seals` | pickles under the cluster's key |
//! | `items` | data for queues and writes of keys, as Python passes them |
//! | `options` | how a task is tried and what it may take |
//! | `frames` | what a worker and its runtime process tell each other, as tuples |
//!
//! Invariant: whatever waits has given the interpreter's lock back.

mod client;
mod engine;
mod frames;
mod handles;
mod items;
mod options;
mod outcome;
mod place;
mod requests;
mod seals;
mod sessions;
mod told;
mod tuples;
mod unfit;

use pyo3::prelude::*;

/// A task goes through dozens of small pieces of memory, and tasks come and go in groups of
/// hundreds: more than the allocator of the system keeps at hand for a thread, so that a third of
/// the processor of a short call was its.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The private native module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::client::{Client, task_id, usual_store};
    #[pymodule_export]
    use super::frames::{decode, done, failed, progress, ready, spent};
    #[pymodule_export]
    use super::handles::{Blob, Draft, Held};
    #[pymodule_export]
    use super::items::{child_id, item_id};
    #[pymodule_export]
    use super::options::Options;
    #[pymodule_export]
    use super::seals::{Seals, is_sealed};
    #[pymodule_export]
    use super::sessions::Sessions;
}
