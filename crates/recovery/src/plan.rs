//! Plans: what a phase declares before it runs.
//!
//! A plan is a function that all workers know: how many tasks there are, and to which blocks each
//! adds. From it follow the contributions that a block has to hold in the end, and so what is
//! missing. Which worker begins with which tasks follows from numbers alone, so that nobody has to
//! be asked what a dead worker was given.
//!
//! Invariant: a plan means the same at all workers, and does not change while its phase runs.

use core::fmt::Debug;
use core::ops::Range;

/// The most outputs of a task.
pub const MAX_OUTPUTS: usize = 255;

/// The most tasks of a plan.
pub const MAX_TASKS: u64 = 1 << 24;

/// The place of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The number of its array, in the order in which arrays were made.
    pub array: u16,
    /// Its number in the array.
    pub block: u32,
}

/// A contribution: one output of one task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mark {
    /// The task.
    pub task: u64,
    /// Which of its outputs.
    pub output: u8,
}

/// What a phase declares.
pub trait Plan: Debug + Send + Sync {
    /// How many tasks there are; they are numbered from 0.
    fn tasks(&self) -> u64;

    /// The blocks to which a task adds, in an order that does not change. A block may be there
    /// twice. A task without outputs leaves nothing behind, and is not run again.
    fn outputs(&self, task: u64) -> Vec<Place>;

    /// How long a task is predicted to run, in nanoseconds.
    fn work_ns(&self, _task: u64) -> u64 {
        0
    }

    /// All contributions to a block, in ascending order. A plan that knows them says so faster
    /// than by asking each task.
    fn contributors(&self, place: Place) -> Vec<Mark> {
        let of_task = |task| {
            let outputs = (0..=u8::MAX).zip(self.outputs(task));
            outputs.filter(|(_, at)| *at == place).map(move |(output, _)| Mark { task, output })
        };
        (0..self.tasks()).flat_map(|task| of_task(task).collect::<Vec<_>>()).collect()
    }
}

/// The tasks with which a worker begins: a block of consecutive ones.
pub fn given(worker: u32, workers: u32, tasks: u64) -> Range<u64> {
    let begin = |worker: u64| (u128::from(worker) * u128::from(tasks) / u128::from(workers)) as u64;
    begin(u64::from(worker))..begin(u64::from(worker) + 1)
}

/// The worker that begins with a task, if it lives.
pub fn home(task: u64, workers: u32, tasks: u64) -> u32 {
    let before = (u128::from(task) + 1) * u128::from(workers) - 1;
    (before / u128::from(tasks.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_task_is_given_to_its_home(workers in 1u32..50, tasks in 0u64..400) {
            let mut next = 0;
            for worker in 0..workers {
                let own = given(worker, workers, tasks);
                prop_assert_eq!(own.start, next);
                next = own.end;
                for task in own {
                    prop_assert_eq!(home(task, workers, tasks), worker);
                }
            }
            prop_assert_eq!(next, tasks);
        }
    }
}
