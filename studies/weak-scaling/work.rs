//! What the simulated program submits: batches of photons, and as a dataflow the joins of their
//! sums along a tree, as `mcphoton flow` declares them (examples/mcphoton/mcphoton.c).

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Submission;

/// The tasks that a join of the dataflow waits for, as in `mcphoton.c`.
const FAN: usize = 8;

/// The families of the tasks: batches, and joins.
const BATCHES: &str = "t";
const JOINS: &str = "j";

/// What is to be done, in the order in which it is submitted.
#[derive(Debug)]
pub struct Work {
    batches: u64,
    batch_ms: u64,
    /// What each join waits for.
    joins: Vec<Vec<TaskId>>,
}

impl Work {
    /// So many batches, and as a dataflow the tree of their sums.
    pub fn of(batches: u64, batch_ms: u64, is_flow: bool) -> Self {
        let joins = if is_flow { joins(batches as usize) } else { Vec::new() };
        Self { batches, batch_ms, joins }
    }

    /// How many tasks.
    pub fn tasks(&self) -> u64 {
        self.batches + self.joins.len() as u64
    }

    /// The submission of this place.
    pub fn submission(&self, at: u64) -> Submission {
        match at.checked_sub(self.batches) {
            None => Submission::new(TaskId::of(BATCHES, at), "jobs", [1; 176]),
            Some(join) => {
                let inputs = self.joins[join as usize].clone();
                Submission { inputs, ..Submission::new(TaskId::of(JOINS, join), "jobs", [1; 176]) }
            }
        }
    }

    /// How long a task takes, in nanoseconds.
    pub fn takes(&self, task: TaskId) -> u64 {
        let is_join = task.family() == TaskId::of(JOINS, 0).family();
        if is_join { 0 } else { self.batch_ms * 1_000_000 }
    }
}

/// What each join of a tree over so many places waits for: level by level, the first place of
/// each eight holds what these came to.
fn joins(places: usize) -> Vec<Vec<TaskId>> {
    let mut at: Vec<TaskId> = (0..places as u64).map(|n| TaskId::of(BATCHES, n)).collect();
    let (mut joins, mut stride) = (Vec::new(), 1);
    while stride < places {
        for place in (0..places - stride).step_by(FAN * stride) {
            let own = (place..places).step_by(stride).take(FAN);
            let inputs = own.map(|one| at[one]).collect();
            at[place] = TaskId::of(JOINS, joins.len() as u64);
            joins.push(inputs);
        }
        stride *= FAN;
    }
    joins
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_batch_and_each_join_is_waited_for_once_but_the_last() {
        for batches in [1, 2, 8, 9, 64, 65, 1_000] {
            let work = Work::of(batches, 50, true);
            let mut left = BTreeSet::new();
            for at in 0..work.tasks() {
                let Submission { id, inputs, .. } = work.submission(at);
                assert!(inputs.len() <= FAN && inputs.iter().all(|input| left.remove(input)));
                assert!(left.insert(id));
                assert_eq!(work.takes(id) > 0, at < batches);
            }
            assert_eq!(left.len(), 1, "{batches}");
        }
        assert_eq!(Work::of(64, 50, true).tasks(), 64 + 9);
        assert_eq!(Work::of(64, 50, false).tasks(), 64);
    }
}
