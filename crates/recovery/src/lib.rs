//! Selective recovery without input and output: a phase that loses workers runs again what was
//! lost, and no more.
//!
//! Tasks read before and add to blocks of arrays after; nothing else that they do counts. So it
//! does not matter which tasks ran where: what matters is which *contributions* each block holds.
//! Its owner keeps that, and applies each once. What was declared and is not held is missing, and
//! says which tasks to run again, whoever had stolen them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`participant`] | the state machine around a worker of `tidings-steal`, and the contract with its world |
//! | [`plan`] | what a phase declares: its tasks, and to which blocks each adds |
//! | [`mod@array`] | arrays of blocks, and what may be done when one is lost |
//! | [`ledger`] | which contributions a block holds, a bit each |
//! | [`placement`] | who has a block and who its copy, by who lives |
//! | [`blocks`] | the blocks of one worker |
//! | [`scheme`] | lazy, immediate collective, non-collective |
//! | [`locations`] | where tasks are that were stolen, for the last |
//! | [`message`] | what participants say to each other, and its bytes |
//! | [`output`] | what goes out, how a phase ends, and what is refused |
//!
//! Source: Ma and Krishnamoorthy, "Data-driven fault tolerance for work stealing computations", ICS
//! 2012. Why so: docs/decisions/0056-recovery-by-contributions.md.

#![forbid(unsafe_code)]

pub mod array;
pub mod blocks;
pub mod ledger;
pub mod locations;
pub mod message;
pub mod output;
pub mod participant;
pub mod placement;
pub mod plan;
pub mod scheme;

pub use array::{Array, Kind, Loss};
pub use message::{Body, Message};
pub use output::{BeginError, Counters, Ending, FinishError, Output, Refusal};
pub use participant::{Config, Contribution, Participant};
pub use plan::{Mark, Place, Plan};
pub use scheme::Scheme;
