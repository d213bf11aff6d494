//! Work stealing among processes of several hosts: the worker of `tidings-steal`, whose messages go
//! over TCP.
//!
//! As many processes as a job has workers [join](Process::join) it: each knows its number and where
//! worker 0 listens. They run phases together: each begins with some tasks, and all return when
//! nothing is left. A process that dies or is cut off, or whose host is, is noticed, and holds
//! nobody up: the phase ends at the others and says what is lost. Where tasks declare to which
//! blocks of arrays they add, what was lost runs again, and the result is exact
//! ([`Process::recovered`], by `tidings-recovery`).
//!
//! | module | what it holds |
//! |---|---|
//! | [`process`] | the phases of a process, and what it shares with others between them |
//! | [`rules`] | what all workers of a job have in common, and where each is |
//! | [`pulse`] | saying that this process lives; who knows of deaths from elsewhere |
//! | [`hosts`] | deaths of hosts, by the board of an agent |
//! | `join`, `calling`, `guests` | how processes that know one address come to be connected |
//! | `post`, `line`, `letter` | what they say to each other |
//! | `greeting`, `direction` | showing the job's key; records that are sealed and numbered |
//! | `assembly` | meetings, without input and output: all who live agree on who came |
//! | `recovery` | the participant of phases that are recovered |
//! | `vigil` | silence, and who is cut off |
//! | [`error`] | what can go wrong, with what to do |
//!
//! All that comes from a network is bounded before it is believed, and nothing is believed that is
//! not sealed with the job's key. With an open key ring that keeps out mistakes, and nobody who
//! means harm: it is for networks that are trusted.
//!
//! Why a connection for each pair, and how deaths are agreed on:
//! docs/decisions/0057-stealing-over-tcp.md.

#![forbid(unsafe_code)]

mod assembly;
mod calling;
mod direction;
pub mod error;
mod greeting;
mod guests;
pub mod hosts;
mod join;
mod letter;
mod line;
mod post;
pub mod process;
pub mod pulse;
mod recovery;
pub mod rules;
mod vigil;

pub use error::{CallError, JoinError, PhaseError, Refusal, SpawnError};
pub use hosts::Hosts;
pub use process::{Attempt, Attempts, Body, Phase, Process, Recovered, Task};
pub use pulse::Watch;
pub use rules::{Job, Place, Rules, Search};
pub use tidings_primitives::{Key, KeyRing};
pub use tidings_recovery::{
    Array, Contribution, Kind, Loss, Mark, Place as BlockPlace, Plan, Scheme,
};
pub use tidings_steal::{Counters, Done, Frame, Lost, Seeding};
