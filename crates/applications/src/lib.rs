//! Applications of work stealing: tasks, what a task spawns, what it costs, and what comes out.
//!
//! Each is plain data and pure functions, and knows no scheduler: threads, processes, MPI ranks and
//! the simulator run the same [`Application`], so what they compute can be compared with
//! [`in_order`], which runs it on one thread.
//!
//! | module | the work | what it asks of a scheduler |
//! |---|---|---|
//! | [`uts`] | counts the nodes of a tree that nobody knows before | tasks of 0.1 µs, depth 18,000 |
//! | [`scf`] | two-electron part of a Fock matrix | many tasks empty, a heavy tail |
//! | [`tce`] | contraction of block-sparse tensors | costs known before, 1 : 600 and more |
//! | [`homology`] | compares each protein with each | costs known before, spread moderately |
//! | [`fibonacci`] | numbers of Fibonacci by their definition | nothing but forks |
//! | [`queens`] | placements of queens on a board | few tasks, uneven |
//! | [`uneven`] | what a Fock matrix asks for, without the matrix | the same for any number of tasks |
//!
//! **A total does not depend on order.** Whoever runs the tasks may merge what they found in any
//! order and any grouping: counts, checksums and tensors of integers come out bit by bit the same,
//! a Fock matrix to the rounding of a sum.

#![forbid(unsafe_code)]

pub mod application;
pub mod fibonacci;
pub mod homology;
pub mod queens;
pub mod scf;
pub mod tce;
pub mod uneven;
pub mod uts;

pub use application::{Application, in_order};
