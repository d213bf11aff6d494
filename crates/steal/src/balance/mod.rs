//! Balancing before a phase: tasks are assigned by what they cost before.
//!
//! Where costs persist from one iteration to the next, an assignment that makes loads equal leaves
//! little to steal. [`centralised`] deals all tasks out anew, the most expensive first, each to the
//! least loaded worker: the reference for quality, at the cost of every task's record at one place.
//! [`hierarchical`] moves only what exceeds the average, and most of it near to where it is. Both
//! make a plan at one place; where each worker knows its own costs alone, it is one [`Branch`] of
//! the hierarchy and sends tasks to those above and below it ([`wire`]).
//!
//! Shapes: `costs[worker][task]`, in nanoseconds or any other unit.
//!
//! Invariants: a [`Plan`] names a task at most once, and its sender is the worker that has it.
//!
//! Source: Lifflander, Krishnamoorthy, Kale, "Work stealing and persistence-based load balancers
//! for iterative overdecomposed applications", HPDC 2012.

mod branch;
mod centralised;
mod hierarchical;
mod hierarchy;
pub mod wire;

pub use branch::{Branch, Given, Risen};
pub use centralised::centralised;
pub use hierarchical::hierarchical;
pub use hierarchy::Hierarchy;

/// A task that goes to another worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Move {
    /// The worker that has it.
    pub from: u32,
    /// Which of that worker's tasks.
    pub task: u32,
    /// The worker that gets it.
    pub to: u32,
}

/// What a balancer has decided.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The tasks that move, in order.
    pub moves: Vec<Move>,
    /// What finding it takes one after the other: records and comparisons at the workers that are
    /// waited for.
    pub steps: u64,
    /// Messages that finding it takes.
    pub messages: u64,
}

impl Plan {
    /// What each worker has to do under the plan.
    pub fn loads(&self, costs: &[Vec<u64>]) -> Vec<u64> {
        let mut loads: Vec<u64> = costs.iter().map(|tasks| tasks.iter().sum()).collect();
        for step in &self.moves {
            let cost = costs[step.from as usize][step.task as usize];
            loads[step.from as usize] -= cost;
            loads[step.to as usize] += cost;
        }
        loads
    }
}

/// The largest load, in those of the mean; 1 is perfect, and 1 if there is nothing to do.
pub fn imbalance(loads: &[u64]) -> f64 {
    let sum: u64 = loads.iter().sum();
    let largest = loads.iter().max().copied().unwrap_or(0);
    if sum == 0 { 1.0 } else { largest as f64 * loads.len() as f64 / sum as f64 }
}

/// Comparisons that a place in a heap of so many takes.
fn heap_steps(count: usize) -> u64 {
    u64::from(usize::BITS - count.leading_zeros())
}
