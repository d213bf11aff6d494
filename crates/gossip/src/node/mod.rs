//! The node: one state machine, the same in the agent, over MPI and in a simulator.
//!
//! A [`Node`] does no input or output. Its driver passes in time, datagrams and commands, and takes
//! out datagrams, the next timeout and events:
//!
//! 1. *inputs*: [`Node::handle_timeout`], [`Node::handle_datagram`], and the commands
//!    [`Node::publish`], [`Node::speak_for`], [`Node::join`], [`Node::leave`], [`Node::set_keys`],
//!    [`Node::set_roster`], [`Node::set_asks`], [`Node::sign`], [`Node::believe_up_to`];
//! 2. after any input call [`Node::poll_transmit`] until it returns `None`, and
//!    [`Node::poll_event`] likewise;
//! 3. then sleep until [`Node::poll_timeout`] or the next datagram.
//!
//! A driver that shows the members to others keeps up with [`Node::poll_change`].
//!
//! Every call that names the present takes it from one monotonic clock of the driver.
//!
//! Each unit of time, at its own phase of the unit, a node makes its own entry again with age 0,
//! lets all others age, and has its strategy order what is sent to whom (`dissemination/`). What
//! it receives it stamps with the arrival and takes wherever it is newer. Beside that it only
//! catches up (`catch_up.rs`) and says farewell.
//!
//! Invariants: outputs are a function of configuration, seed and the sequence of inputs. What is
//! known of an origin never goes back. A unit costs O(window). Nothing that arrives makes a call
//! fail or panic; what is refused is counted.

mod admission;
mod asking;
mod belief;
mod by_bases;
mod calls;
mod changed;
mod checker;
mod checking;
mod checks;
mod colonies;
mod commands;
mod deaths;
mod envelope;
mod forgetting;
mod giving_way;
mod intake;
mod lives;
mod machine;
mod meeting;
mod mismatches;
mod notices;
mod outbox;
mod own;
mod pieces;
mod reaching;
mod receive;
mod records;
mod requests;
mod rhythm;
mod room;
mod rounds;
mod sealer;
mod showing;
mod signing;
mod taking;
mod told_records;
mod transmit;
mod trials;
mod verifier;
mod versions;
mod visits;

pub use crate::view::EntryView;
pub use changed::Change;
pub use checker::{Checker, Heard};
pub use machine::Node;
pub use outbox::Transmit;
pub use versions::VersionsHeard;
