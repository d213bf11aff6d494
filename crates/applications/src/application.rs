//! What each application tells a scheduler, and the run on one thread that others are compared
//! with.
//!
//! A scheduler keeps tasks, which are small and mean the same on each worker; a worker has a
//! total, to which the tasks that it runs add. Totals are merged when no task is left.

/// Work as tasks that may spawn others.
pub trait Application {
    /// What is to be done: small, and the same wherever it runs.
    type Task;
    /// What a worker has found.
    type Total;

    /// The tasks with which it starts.
    fn roots(&self) -> impl Iterator<Item = Self::Task>;

    /// What a worker has that ran no task.
    fn empty(&self) -> Self::Total;

    /// Runs a task: adds what it finds to `total` and gives each task that it spawns to `spawn`.
    fn run(&self, task: &Self::Task, total: &mut Self::Total, spawn: &mut impl FnMut(Self::Task));

    /// Adds what another worker has found.
    fn merge(&self, total: &mut Self::Total, other: &Self::Total);

    /// What the task itself costs, without those that it spawns, in the application's own unit; 1
    /// where nobody can tell before.
    fn cost(&self, _task: &Self::Task) -> u64 {
        1
    }
}

/// Runs all tasks on this thread, the newest first, and returns the total and how many tasks ran.
///
/// It holds as many tasks at a time as are spawned and not yet run; it never recurses, so a tree
/// may be as deep as it likes.
pub fn in_order<A: Application>(application: &A) -> (A::Total, u64) {
    let (mut total, mut count) = (application.empty(), 0);
    let mut pending = Vec::new();
    for root in application.roots() {
        pending.push(root);
        while let Some(task) = pending.pop() {
            application.run(&task, &mut total, &mut |spawned| pending.push(spawned));
            count += 1;
        }
    }
    (total, count)
}
