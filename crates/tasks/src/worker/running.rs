//! The tasks that a worker does now, for other threads to see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};

/// Calls that take longer are heard of at once: to wake for each takes little beside them, and what
/// has ended and was not told is done again if the worker dies.
pub(super) const SHORT: Duration = Duration::from_millis(4);

/// So many calls take the first of [`WHILES`], however short they are.
const MANY: usize = 32;

/// For how long a slot with calls for twice as long in its process needs nobody.
const WHILES: [Duration; LEVELS] =
    [Duration::from_millis(1), Duration::from_millis(4), Duration::from_millis(8)];

const LEVELS: usize = 3;

/// How long a slot needs nobody, whatever it is told: as the first of [`WHILES`] say, so many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Sated(usize);

impl Sated {
    /// With so many calls in its process, each of which takes so long if it is as the last ones.
    pub(super) fn with(calls: usize, each: Duration) -> Self {
        if each > SHORT {
            return Self::default();
        }
        let work = each * calls as u32;
        let reached = WHILES.iter().take_while(|length| work >= 2 * **length).count();
        Self(reached.max(usize::from(calls >= MANY)))
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
    /// How many slots need nobody for each of [`WHILES`].
    sated: [AtomicUsize; LEVELS],
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
        let is_reached = |count: &&AtomicUsize| count.load(Ordering::Relaxed) >= slots;
        let reached = self.0.sated.iter().take_while(is_reached).count();
        reached.checked_sub(1).map_or(Duration::ZERO, |last| WHILES[last])
    }

    /// A slot has had enough for this long, and has for that.
    pub(super) fn set_sated(&self, Sated(before): Sated, Sated(now): Sated) {
        for count in self.0.sated.iter().take(now).skip(before) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        for count in self.0.sated.iter().take(before).skip(now) {
            count.fetch_sub(1, Ordering::Relaxed);
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

    const NO: Sated = Sated(0);

    #[test]
    fn all_slots_have_enough_for_as_long_as_the_one_with_least() {
        let running = Running::default();
        assert_eq!(running.sated_for(1), Duration::ZERO);
        running.set_sated(NO, Sated(3));
        assert_eq!((running.sated_for(1), running.sated_for(2)), (WHILES[2], Duration::ZERO));
        running.set_sated(NO, Sated(1));
        assert_eq!(running.sated_for(2), WHILES[0]);
        running.set_sated(Sated(1), Sated(2));
        assert_eq!(running.sated_for(2), WHILES[1]);
        running.set_sated(Sated(3), Sated(1));
        running.set_sated(Sated(1), Sated(1));
        assert_eq!(running.sated_for(2), WHILES[0]);
        running.set_sated(Sated(1), NO);
        assert_eq!((running.sated_for(1), running.sated_for(2)), (WHILES[1], Duration::ZERO));
    }

    #[test]
    fn a_slot_with_much_short_work_needs_nobody_for_half_of_it() {
        let micros = Duration::from_micros;
        assert_eq!(Sated::with(31, micros(1)), NO);
        assert_eq!(Sated::with(32, Duration::ZERO), Sated(1));
        assert_eq!(Sated::with(2, micros(1_000)), Sated(1));
        assert_eq!(Sated::with(8, micros(1_000)), Sated(2));
        assert_eq!(Sated::with(16, micros(1_000)), Sated(3));
    }

    /// What has ended was not told for up to 8 ms, also of tasks for which that saves nothing.
    #[test]
    fn calls_that_are_not_short_are_heard_of_at_once() {
        assert_eq!(Sated::with(4, SHORT), Sated(3));
        assert_eq!(Sated::with(64, SHORT + Duration::from_micros(1)), NO);
    }
}
