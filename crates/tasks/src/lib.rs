//! Durable tasks, with input and output: the stores where they lie.

pub mod store;
