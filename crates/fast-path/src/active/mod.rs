//! Active messages: changes of words of another process, done where their frame arrives.
//!
//! A [`Responder`] has words of memory. A [`Caller`] sends it messages: add to a word, compare and
//! swap, raise, set bits, merge some words as gossip does. At best a program in the soft interrupt
//! does them, before any task is scheduled, and sends the frame back with the result; the caller's
//! own soft interrupt writes the answer into a ring in its memory. Where programs cannot be loaded,
//! threads do the same, behind the same interface, and say so.
//!
//! Invariants: each message is done exactly once, whatever is lost, doubled or reordered on the
//! way, and its caller has its result exactly once. A message has a sequence; the responder keeps
//! the result of each that a copy may still come of.
//!
//! | module | what it holds |
//! |---|---|
//! | [`message`] | the bytes of messages and answers |
//! | [`layout`] | the responder's memory |
//! | `programs` | the programs in the soft interrupt |
//! | `table` | the same for a thread |
//! | [`responder`], [`session`] | the responder, and what a caller knows of it |
//! | `window` | what is on its way, and when to ask again |
//! | `ring` | answers in memory |
//! | [`path`], [`faulty`] | ways of messages, and one with faults |
//! | [`caller`] | who sends messages |
//! | [`arena`] | memory whose pointers the soft interrupt follows |
//! | `bpf` | the kernel's interface to programs |
//!
//! Source: FOX, section 2.1: HARE's active messages in the interrupt handler.

#[cfg(test)]
mod agreement;
pub mod arena;
#[expect(unsafe_code, reason = "it is where programs and their memory are asked of the kernel")]
mod bpf;
pub mod caller;
pub mod error;
pub mod faulty;
pub mod layout;
pub mod message;
pub mod path;
mod programs;
pub mod responder;
mod ring;
pub mod session;
mod table;
mod window;

pub use caller::{Answer, Answers, Caller};
pub use error::ActiveError;
pub use layout::Ledger;
pub use message::{Change, Status};
pub use responder::{Responder, Settings, Way};
pub use session::Session;
pub use window::Tally;
