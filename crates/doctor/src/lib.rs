//! What of the operating system works here, found by trying it.
//!
//! A mechanism that is there may be forbidden (a container's filter of system calls, a limit, a
//! missing privilege), and one that is allowed may lack something. So nothing here reads a version:
//! each [`mechanism`](mechanisms) is tried as it is used, and the error of the attempt is the
//! reason. Each attempt runs in a process of its own, which the [`examination`] ends when its time
//! is over: an attempt may hang, or be killed by what it tries, and what it opened is closed by the
//! kernel. Invariants: nothing is left behind, and no knob of the machine changes; what has to be
//! attached somewhere is attached in a network namespace that the attempt makes.
//!
//! * [`finding`]: what is said of a mechanism. [`examination`]: all of them within a time.
//! * [`mechanisms`]: their list. How they are tried: `rings`, `programs` of BPF, `network`,
//!   `pages`, `scheduling`, `calls` that are intercepted, `counters`, `groups` and `knobs`.
//! * `system`: the system calls that no crate in use has.

mod calls;
mod counters;
pub mod examination;
pub mod finding;
mod groups;
mod knobs;
pub mod mechanisms;
mod network;
mod pages;
mod programs;
mod rings;
mod scheduling;
mod system;

pub use examination::{Examination, ExaminationError, Report};
pub use finding::{Finding, Outcome, Verdict};
