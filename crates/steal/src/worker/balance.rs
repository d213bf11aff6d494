//! Balancing between two phases: the tasks that a worker ran in the last phase of a name go to
//! whoever should run them in the next.
//!
//! Workers agree on entering that all tasks kept are those given, whoever keeps each. So tasks that
//! go from one to another between phases need no other agreement, and if one is lost on its way all
//! begin with what they are given, as after any other difference.

use super::{Stage, Worker};
use crate::balance::wire::{Task, task};
use crate::balance::{Branch, Hierarchy, Risen};
use crate::frame::{Frame, Scope};

/// A worker's part in a balancing that has begun.
#[derive(Debug)]
pub struct Balancing {
    name: String,
    branch: Branch<Frame>,
    own: Vec<Task>,
    below: Vec<Risen<Frame>>,
}

impl Balancing {
    /// A subtree below has said what it has; they have to in their order.
    pub fn below(&mut self, risen: Risen<Frame>) {
        self.below.push(risen);
    }

    /// All below have; what goes up.
    pub fn rise(&mut self) -> Risen<Frame> {
        let (own, below) = (core::mem::take(&mut self.own), core::mem::take(&mut self.below));
        self.branch.rise(own, below)
    }

    /// What has come from above; what goes to each below.
    pub fn fall(&mut self, handed: Vec<Task>) -> Vec<Vec<Task>> {
        self.branch.fall(handed)
    }
}

impl Worker {
    /// How long the tasks took that it ran in the last phase of this name, in nanoseconds; `None`
    /// if it keeps nothing of it.
    pub fn kept_ns(&self, name: &str) -> Option<u64> {
        let tasks = self.retention.tasks(name)?;
        Some(tasks.iter().map(|task| task.work_ns).sum())
    }

    /// Begins to balance what all ran in the last phase of this name, which took them so long a
    /// worker on average; `None` in a phase. Until [`Worker::balanced`] it keeps nothing of that
    /// phase.
    pub fn balance(&mut self, name: &str, average_ns: f64) -> Option<Balancing> {
        if self.stage != Stage::Outside {
            return None;
        }
        let own = self.retention.replace(name, Vec::new());
        let own = own.into_iter().map(|frame| task(self.me, frame)).collect();
        let branch = Branch::new(&Hierarchy::of_average(average_ns), self.me, average_ns);
        Some(Balancing { name: name.to_owned(), branch, own, below: Vec::new() })
    }

    /// Keeps what it has in the end; how many of these tasks it had not had.
    pub fn balanced(&mut self, balancing: Balancing) -> u64 {
        let held = balancing.branch.held();
        let came = held.iter().filter(|given| given.from != self.me).count() as u64;
        // No finish waits for what a message calls a task of one: only lists are kept.
        let listed = |given: Task| Frame { scope: Scope::LIST, ..given.task };
        self.retention.replace(&balancing.name, held.into_iter().map(listed).collect());
        came
    }
}
