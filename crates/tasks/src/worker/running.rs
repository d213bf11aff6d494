//! The tasks that a worker does now, for other threads to see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};

/// A slot that has calls for so long in its process needs nobody meanwhile.
pub const WHILE: Duration = Duration::from_millis(1);

/// The tasks that a worker does now, those included that lie with their process already. Clones
/// show the same ones.
///
/// Invariant: a task is among them before its process can begin it, so what a task says of itself
/// is never seen earlier than that it runs.
#[derive(Clone, Debug, Default)]
pub struct Running(Arc<Tries>);

#[derive(Debug, Default)]
struct Tries {
    all: Mutex<Vec<(TaskId, Attempt)>>,
    sated: AtomicUsize,
}

impl Running {
    /// Whether the worker does a task now.
    #[must_use]
    pub fn contains(&self, task: TaskId) -> bool {
        self.tries().iter().any(|(running, _)| *running == task)
    }

    /// How many slots have enough to do for [a while](WHILE), whatever they are told.
    #[must_use]
    pub fn sated(&self) -> usize {
        self.0.sated.load(Ordering::Relaxed)
    }

    /// A slot begins, or ends, to have enough.
    pub(super) fn set_sated(&self, is_sated: bool) {
        if is_sated {
            self.0.sated.fetch_add(1, Ordering::Relaxed);
        } else {
            self.0.sated.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Adds a try, until the result is dropped.
    pub(super) fn during(&self, task: TaskId, attempt: Attempt) -> During {
        self.tries().push((task, attempt));
        During { running: self.clone(), key: (task, attempt) }
    }

    /// As many as the worker may have in hand, at most.
    fn tries(&self) -> MutexGuard<'_, Vec<(TaskId, Attempt)>> {
        // Each change of it is one call, so it is whole even if a holder panicked.
        self.0.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time in which a try runs.
#[derive(Debug)]
pub(super) struct During {
    running: Running,
    key: (TaskId, Attempt),
}

impl Drop for During {
    fn drop(&mut self) {
        self.running.tries().retain(|key| *key != self.key);
    }
}
