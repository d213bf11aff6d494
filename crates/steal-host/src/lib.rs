//! Work stealing among the processes of one host: the worker of `tidings-steal`, whose messages go
//! through memory that all of them map.
//!
//! One process makes a [`Segment`], a file of a file system in memory, for so many workers. As
//! many processes [join](Host::join) it, and run phases together: each begins with some tasks, and
//! all return when nothing is left. A process that ends, however it ends, is noticed by the
//! kernel's word for it: the phase ends at the others and says what is lost.
//!
//! | module | what it holds |
//! |---|---|
//! | [`host`] | the phases of a process, and what it shares with others between them |
//! | [`mod@array`] | matrices in blocks that all processes read and add to |
//! | [`segment`], [`rules`] | making the memory; what all its workers have in common |
//! | [`ring`], [`bell`] | words from one process to another, in order; sleeping until there are some |
//! | [`machine`] | the atomics of these two, so that a model can stand in for them |
//! | `mail` | messages as words of rings, in pieces where a ring is full |
//! | `shown`, `place` | what all see of each other's work; where in the host they run |
//! | `memory`, `layout`, `mapping` | the segment as all see it, its numbers, its bytes |
//! | `identity`, `watch` | who a process is, and that it has ended |
//! | [`error`] | what can go wrong, with what to do |
//!
//! The only `unsafe` is in `mapping`: all that is shared is atomic words, so whatever another
//! process writes there, no access is undefined, and no number is believed before it is bounded.
//!
//! Why rings for each pair, and why no heartbeats: docs/decisions/0053-stealing-on-a-host.md.

#![deny(unsafe_code)]

pub mod array;
pub mod bell;
pub mod error;
pub mod host;
mod identity;
mod layout;
pub mod machine;
mod mail;
#[expect(unsafe_code, reason = "it is where mapped bytes become atomic words")]
mod mapping;
mod memory;
mod place;
pub mod ring;
pub mod rules;
pub mod segment;
mod shown;
mod watch;

pub use array::{Array, Sizes};
pub use error::{ArrayError, CreateError, JoinError, PhaseError, SpawnError};
pub use host::{Body, Host, Phase, Task};
pub use rules::{Rules, Search};
pub use segment::Segment;
pub use tidings_steal::trace::File as TraceFile;
pub use tidings_steal::{Counters, Done, Frame, Lost, Seeding};
