//! The tasks that a worker does now, for other threads to see.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidings_tasks_core::id::{Attempt, TaskId};

/// The tasks that a worker does now. Clones show the same ones.
///
/// Invariant: a task is among them before its process begins, so what a task says of itself is
/// never seen earlier than that it runs.
#[derive(Clone, Debug, Default)]
pub struct Running(Arc<Mutex<Vec<(TaskId, Attempt)>>>);

impl Running {
    /// Whether the worker does a task now.
    #[must_use]
    pub fn contains(&self, task: TaskId) -> bool {
        self.tries().iter().any(|(running, _)| *running == task)
    }

    /// Adds a try, until the result is dropped.
    pub(super) fn during(&self, task: TaskId, attempt: Attempt) -> During<'_> {
        self.tries().push((task, attempt));
        During { running: self, key: (task, attempt) }
    }

    /// As many as the worker has slots, at most.
    fn tries(&self) -> MutexGuard<'_, Vec<(TaskId, Attempt)>> {
        // Each change of it is one call, so it is whole even if a holder panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time in which a try runs.
#[derive(Debug)]
pub(super) struct During<'a> {
    running: &'a Running,
    key: (TaskId, Attempt),
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.running.tries().retain(|key| *key != self.key);
    }
}
