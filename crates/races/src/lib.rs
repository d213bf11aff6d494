//! A detector of data races in programs that fork and join.
//!
//! ```
//! use tidings_races::{Tracked, check, join};
//!
//! let pool = tidings_fork_join::Pool::new(2)?;
//! let total = Tracked::new(0);
//! let ((), report) = check(&pool, || {
//!     join(|| total.write(|sum| *sum += 1), || total.write(|sum| *sum += 2));
//! });
//! assert_eq!(report.races.len(), 1);
//! println!("{}", report.races[0]);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Where two accesses to one place are not ordered by a fork or a join, and one of them changes it,
//! what comes out depends on who is first. One run shows that, whatever its order happened to be:
//! what may be parallel is decided by the structure of the program (`tree`), not by what was
//! parallel. So of an input without a report no order of its tasks has a race, as long as the tasks
//! do and use the same in each order.
//!
//! A program forks by [`join`], [`scope`] and [`for_each`], which are those of `tidings-fork-join`
//! and cost almost nothing more where no run is checked, and shares [`Tracked`] values or declares
//! its accesses to memory ([`memory`]). Code in C declares its own (`crates/races-ffi`).
//!
//! # What it does not see
//!
//! - Locks and atomic operations order nothing. Two tasks that add to one sum under a lock are in a
//!   race, unless they say [`Tracked::update`].
//! - Of each place the first race is reported: mend it and check again.
//! - A task that spawns into a scope around the innermost one ([`Counts::escaped`]).
//! - The tree grows with each task and is kept until the run ends: some 50 bytes a fork.

#![forbid(unsafe_code)]

mod check;
mod fork;
mod granules;
mod here;
mod report;
mod run;
mod shadow;
mod sites;
mod tally;
mod tracked;
mod tree;

pub mod memory;

pub use check::{check, check_by, check_inputs};
pub use fork::{Scope, for_each, join, join_at, scope};
pub use report::{Counts, Race, Report, Side};
pub use shadow::Kind;
pub use sites::{Foreign, Site};
pub use tracked::Tracked;
pub use tree::Climb;
