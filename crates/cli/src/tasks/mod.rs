//! Durable tasks from the command line: runs, workers, queues, single tasks and semaphores.
//!
//! Every command takes part in the store as a client (`client`): it asks whoever serves the
//! store, or serves it itself while nobody else does. So none of them needs a server.
//!
//! * [`run`]: one command for each row of arguments.
//! * [`worker`]: a process that does tasks of others.
//! * [`queue`], [`task`], [`sem`], [`space`]: what is there, and changes of it by hand; a
//!   `timeline` of it, and the `shape` of its graphs.
//! * [`store`]: all of it, where nobody else holds it.

mod beside;
mod client;
mod ending;
mod explain;
mod failure;
mod input;
mod inputs;
mod kinds;
mod outputs;
mod own_worker;
mod pages;
mod python;
mod rates;
mod shape;
mod timeline;
mod unknown;

pub mod queue;
pub mod run;
pub mod sem;
pub mod space;
pub mod store;
pub mod task;
pub mod worker;

pub use client::Store;
pub use failure::TasksError;
