//! The tasks that a worker does now, for other threads to see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};

/// A slot with calls for twice as long in its process needs nobody meanwhile.
const WHILE: Duration = Duration::from_millis(1);

/// The same where calls are longer, or more of them are there.
const LONG_WHILE: Duration = Duration::from_millis(4);

/// So many calls take a [`WHILE`], however short they are.
const MANY: usize = 32;

/// How long a slot needs nobody, whatever it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Sated {
    #[default]
    No,
    While,
    LongWhile,
}

impl Sated {
    /// With so many calls in its process, which take so long together if they are as the last ones.
    pub(super) fn with(calls: usize, work: Duration) -> Self {
        match work {
            _ if work >= 2 * LONG_WHILE => Self::LongWhile,
            _ if work >= 2 * WHILE || calls >= MANY => Self::While,
            _ => Self::No,
        }
    }
}

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
    /// Slots that need nobody for a while, and those of them that do not for a long while.
    sated: AtomicUsize,
    long_sated: AtomicUsize,
}

impl Running {
    /// Whether the worker does a task now.
    #[must_use]
    pub fn contains(&self, task: TaskId) -> bool {
        self.tries().iter().any(|(running, _)| *running == task)
    }

    /// How long this many slots have enough to do, whatever they are told.
    #[must_use]
    pub fn sated_for(&self, slots: usize) -> Duration {
        let is_reached = |count: &AtomicUsize| count.load(Ordering::Relaxed) >= slots;
        match (is_reached(&self.0.sated), is_reached(&self.0.long_sated)) {
            (_, true) => LONG_WHILE,
            (true, false) => WHILE,
            (false, false) => Duration::ZERO,
        }
    }

    /// A slot has had enough for this long, and has for that.
    pub(super) fn set_sated(&self, before: Sated, now: Sated) {
        let counts = [(Sated::While, &self.0.sated), (Sated::LongWhile, &self.0.long_sated)];
        for (level, count) in counts {
            match (before >= level, now >= level) {
                (false, true) => drop(count.fetch_add(1, Ordering::Relaxed)),
                (true, false) => drop(count.fetch_sub(1, Ordering::Relaxed)),
                _ => {}
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_slots_have_enough_for_as_long_as_the_one_with_least() {
        let millis = Duration::from_millis;
        assert_eq!(Sated::with(31, millis(1)), Sated::No);
        assert_eq!(Sated::with(32, Duration::ZERO), Sated::While);
        assert_eq!(Sated::with(2, millis(2)), Sated::While);
        assert_eq!(Sated::with(8, millis(8)), Sated::LongWhile);
        let running = Running::default();
        assert_eq!(running.sated_for(1), Duration::ZERO);
        running.set_sated(Sated::No, Sated::LongWhile);
        assert_eq!((running.sated_for(1), running.sated_for(2)), (LONG_WHILE, Duration::ZERO));
        running.set_sated(Sated::No, Sated::While);
        assert_eq!(running.sated_for(2), WHILE);
        running.set_sated(Sated::LongWhile, Sated::While);
        running.set_sated(Sated::While, Sated::While);
        assert_eq!(running.sated_for(2), WHILE);
        running.set_sated(Sated::While, Sated::No);
        assert_eq!((running.sated_for(1), running.sated_for(2)), (WHILE, Duration::ZERO));
    }
}
