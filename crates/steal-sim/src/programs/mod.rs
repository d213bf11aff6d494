//! Programs: what the simulated workers run.
//!
//! | module | tasks |
//! |---|---|
//! | [`listed`] | a fixed list with costs: SCF, TCE, and made ones like SCF |
//! | [`divided`] | the same lists, divided by tasks, by either policy |
//! | [`trees`] | UTS: a task a node, which spawns its children |
//! | [`finishes`] | random programs with finishes, by both policies |

pub mod divided;
pub mod finishes;
pub mod listed;
pub mod trees;

use tidings_steal::{Done, Frame};

/// What workers run.
pub trait Program {
    /// The tasks with which a worker begins an iteration.
    fn tasks(&self, worker: u32, iteration: u32) -> Vec<Frame>;

    /// How long a task takes in an iteration, in nanoseconds at full speed.
    fn cost_ns(&self, frame: &Frame, iteration: u32) -> i64;

    /// Ends a task: what it spawns, and how it ends.
    fn run(&mut self, frame: &Frame, spawn: &mut dyn FnMut(Frame)) -> Done;

    /// The number of a task of the list, if it is one.
    fn number(&self, _frame: &Frame) -> Option<usize> {
        None
    }

    /// How many tasks the list has.
    fn listed(&self) -> usize {
        0
    }
}
