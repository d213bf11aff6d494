//! Nodes as the board shows them, for commands and for the placement of tasks.
//!
//! | module | what it holds |
//! |---|---|
//! | [`board`] | all nodes, read from shared memory |
//! | [`columns`], [`units`] | the readings of a node by name, in their units |
//! | [`filter`] | conditions on nodes: the language of `--where` |

#![forbid(unsafe_code)]

pub mod board;
pub mod columns;
pub mod filter;
pub mod units;
