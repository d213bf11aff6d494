//! Durable tasks, as state machines without input or output.
//!
//! A task is a record in a store; everything that happens to it is one transaction. So it outlives
//! every worker, node and coordinator: what the store has is all there is. This crate decides which
//! transactions those are. It has no clock, socket, thread or file: a driver passes in time,
//! requests and the store's answers, and the same rules run in a simulator.
//!
//! | module | what it holds |
//! |---|---|
//! | [`transaction`] | what a machine asks of a store, and the answers |
//! | [`ledger`] | what a store does, as a data structure in memory |
//! | [`id`] | tasks, attempts, epochs, parts |
//! | [`record`], [`semaphore`], [`keys`] | what the store holds, and where |
//! | [`output`] | outputs that stay on nodes |
//! | [`mod@tuple`] | tuples in spaces, and what is done with them |
//! | [`retry`] | after which failures a task is tried again |
//! | [`resources`] | what a task needs, and a worker offers |
//! | [`detector`] | what decides that a silent session has ended |
//! | [`hosts`] | where a task would go on well |
//! | [`message`] | requests of workers and clients, and what they are told |
//! | [`topology`] | an order of tasks in which each comes behind its inputs |
//! | [`broadcast`] | how a large blob gets to many hosts |
//! | [`tree`] | how the results of many tasks are combined |
//! | [`view`], [`counters`] | what those who look on are shown |
//! | [`reign`] | who coordinates a part |
//! | [`seal`] | data under the cluster's key, for what it is about |
//! | [`coordinator`] | what becomes of the tasks of a part |
//!
//! Safety rests on attempts and epochs that a commit checks. Clocks and the detector of failures
//! say when to act, never whether a result counts.
//!
//! Source: FOX final report, §3.1 (task queues in a reliable key-value store).

#![forbid(unsafe_code)]

pub mod broadcast;
mod class;
pub mod coordinator;
pub mod counters;
pub mod detector;
pub mod hosts;
pub mod id;
pub mod keys;
pub mod ledger;
pub mod message;
pub mod name;
pub mod output;
pub mod outstanding;
mod ready;
pub mod record;
pub mod reign;
pub mod resources;
pub mod retry;
pub mod seal;
pub mod semaphore;
pub mod topology;
pub mod transaction;
pub mod tree;
pub mod tuple;
pub mod view;
mod why;
