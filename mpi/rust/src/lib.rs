//! Phases of an MPI program in which its ranks share tasks by stealing, for programs in Rust.
//!
//! ```no_run
//! use tidings_steal_mpi::{Body, Done, Frame, Mpi, Options, Ranks, Task};
//!
//! fn visit(task: &mut Task<'_>, found: &mut u64) -> Done {
//!     *found += 1;
//!     let depth = task.state()[0];
//!     for _ in 0..if depth > 0 { 2 } else { 0 } {
//!         task.spawn(&Frame::new(0, 0, &[depth - 1]).expect("one byte")).expect("it fits");
//!     }
//!     Done::Nothing
//! }
//!
//! let mpi = Mpi::begin()?;
//! let mut ranks = Ranks::open(mpi.world(), &Options::default(), &[visit as Body<u64>])?;
//! let list = if ranks.rank() == 0 { vec![Frame::new(0, 0, &[16])?] } else { Vec::new() };
//! let mut found = [0];
//! ranks.phase("search", &list, &mut found[0])?;
//! mpi.world().sum(&mut found)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `communicator` | MPI's begin and end, and its communicators |
//! | `ranks` | the ranks as workers, and their phases |
//! | `task` | the task that runs, as its function sees it |
//! | `error` | what can go wrong |
//!
//! It is a binding of `mpi/steal/tidings_steal_mpi.h`, which has the rules; what a function of
//! tasks is to Rust is as in the crate tidings-steal-host. It is compiled with the compiler of an
//! MPI, which `MPICC` names.
//!
//! Invariants: all is done in the thread that began MPI. A task that panics ends the job, since
//! the other ranks would wait for it.

mod communicator;
mod error;
mod ranks;
mod sys;
mod task;

pub use communicator::{Communicator, Mpi};
pub use error::{Error, Refused};
pub use ranks::{Balancing, Options, Phase, Ranks};
pub use task::{Body, Task};
pub use tidings_steal::{Done, Frame};
pub use tidings_steal_c::{
    TidingsStealCounters as Counters, TidingsStealHalf as Half, TidingsStealSelection as Selection,
};
