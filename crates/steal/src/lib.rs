//! Work stealing without input and output: the worker that all worlds run.
//!
//! Tasks of microseconds to milliseconds, in phases of a program: each worker has some, takes
//! those of others when it has none, and all return when nothing is left. Messages go in and out:
//! threads, processes, ranks of MPI and the simulator are worlds around one [`Worker`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`worker`] | the state machine and the contract with its world |
//! | [`frame`], [`finish`] | tasks as data; what waits until tasks are done, wherever they run |
//! | [`queue`] | what a thief gets: half of the work, the oldest first |
//! | [`victims`] | whom a thief asks: at random, near, by lifelines, by aged knowledge |
//! | [`census`], [`view`] | that nothing is left, by counting along a tree of those who live |
//! | [`retention`] | to begin with what each worker ran before |
//! | [`guide`] | to give tasks where they were stolen before, in programs whose tasks spawn |
//! | [`balance`] | to assign tasks before they run, by what they cost before |
//! | [`message`] | what workers say to each other, and its bytes |
//! | [`trace`] | what they did, in some bytes a steal, and to do it again |
//! | [`config`], [`output`], [`counters`] | what goes in and what is reported |
//!
//! Nothing is durable: what a worker has is gone with it, and the phase ends with
//! [`output::Lost`]. Why a crate, and why the simulator is another:
//! docs/decisions/0050-stealing.md.

#![forbid(unsafe_code)]

pub mod balance;
pub mod census;
pub mod config;
pub mod counters;
pub mod finish;
pub mod frame;
pub mod guide;
mod hash;
pub mod message;
pub mod output;
pub mod queue;
pub mod retention;
pub mod trace;
pub mod victims;
pub mod view;
pub mod worker;

pub use config::Config;
pub use counters::Counters;
pub use frame::{Frame, TooLarge};
pub use message::{Body, Message, Seeding};
pub use output::{Ending, Lost, Output};
pub use trace::{Diverged, Script, Trace};
pub use victims::{Board, Entry, NoBoard, Selection, Situation};
pub use worker::{Balancing, Done, Worker};
