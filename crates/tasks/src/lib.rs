//! Durable tasks: the rules of `tidings-tasks-core` with stores, clocks and connections.
//!
//! | module | what it holds |
//! |---|---|
//! | [`store`] | where tasks lie: one trait, an engine in memory and an embedded one |
//! | [`service`] | a coordinator with a clock, a store and connections |
//! | [`socket`] | the service for other processes of the machine |
//! | [`member`] | the processes that use one store: one holds it, another takes over |
//! | [`session`] | a worker's or client's side, which outlives connections and coordinators |

#![forbid(unsafe_code)]

mod frame;
pub mod member;
pub mod service;
pub mod session;
pub mod socket;
pub mod store;
