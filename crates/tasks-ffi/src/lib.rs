//! Durable tasks for programs in C and Fortran, and for the ranks of MPI programs.
//!
//! A program opens a store and has a [`TidingsTasks`]. With it any of its threads submits tasks,
//! waits for their ends, acquires permits of semaphores, and claims tasks that it does itself.
//!
//! | module | what it holds |
//! |---|---|
//! | [`tasks`] | opening and closing a store |
//! | [`submission`] | tasks that are submitted, cancelled and forgotten |
//! | [`outcome`] | how a task has ended |
//! | [`claim`], [`input`], [`work`] | tasks that this process does, and what they read |
//! | [`children`] | what is written with the end of a task, once |
//! | [`collective`] | values that all read, results that are combined along a tree |
//! | [`handles`] | large blobs that stay in the memory of a node |
//! | [`keys`] | values under names of the program's |
//! | [`tuples`], [`field`] | what processes exchange without knowing each other |
//! | [`flow`], [`declare`] | computations that are declared by what their tasks read and change |
//! | [`given`] | what a declared task is given where it is done |
//! | [`permits`], [`queue`] | semaphores, and how long queues are |
//! | [`status`], [`limits`] | what a call answers, and how much may be asked |
//! | `engine`, `taker`, `slots`, `waits`, `inputs`, `job` | a thread with a runtime, and what the calls share |
//! | `arguments` | pointers and lengths of C as values of Rust |
//!
//! Invariants: no global state and no handler of a signal. The library's threads block all signals,
//! so that those of the program are handled by threads of the program; that a peer has closed a
//! socket (SIGPIPE) ends nobody. No panic leaves a call. A process that was made by `fork` is
//! refused before it touches a lock.
//!
//! The header `include/tidings_tasks.h` is made from this crate by cbindgen, a test compares the
//! two; the modules in `fortran` are the same for Fortran.
//!
//! Source: FOX final report, §3.1 (libFOX).

#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod arguments;
pub mod children;
pub mod claim;
pub mod collective;
pub mod declare;
mod engine;
pub mod field;
pub mod flow;
pub mod given;
pub mod handles;
pub mod input;
mod inputs;
mod job;
pub mod keys;
pub mod limits;
pub mod outcome;
pub mod permits;
pub mod queue;
mod slots;
pub mod status;
pub mod submission;
mod taker;
pub mod tasks;
pub mod tuples;
mod waits;
pub mod work;

pub use claim::TidingsTasksClaim;
pub use collective::{TidingsTasksBytes, TidingsTasksCombine};
pub use declare::TidingsTasksKey;
pub use field::TidingsTasksField;
pub use flow::{TidingsTasksDeclared, TidingsTasksDependency, TidingsTasksFlow};
pub use handles::{TidingsTasksBlob, TidingsTasksHandle};
pub use outcome::{TidingsTasksEnd, TidingsTasksOutcome};
pub use permits::TidingsTasksPermits;
pub use queue::TidingsTasksQueue;
pub use status::{TidingsTasksError, TidingsTasksStatus};
pub use submission::{TidingsTasksId, TidingsTasksSubmission};
pub use tasks::{TidingsTasks, TidingsTasksOptions};
pub use tuples::{TidingsTasksIn, TidingsTasksOut, TidingsTasksStatement, TidingsTasksTuple};
pub use work::{TidingsTasksFunction, TidingsTasksResult};
