//! Recent: what has ended lately, for those who look on. It lies in memory alone, and is bounded:
//! the last tries, the last failures among them, and how many tasks of each queue have ended.
//!
//! The whole history is in the records.

use core::fmt;
use std::collections::{BTreeMap, VecDeque};

use crate::id::Epoch;
use crate::retry::Cause;
use crate::view::{MAX_RECENT, MAX_REMEMBERED, MAX_SHOWN, MAX_SHOWN_FAILURES, TryView};

/// What has ended lately.
pub(super) struct Recent {
    tries: VecDeque<TryView>,
    failures: VecDeque<TryView>,
    queues: BTreeMap<String, Ended>,
    last_number: u64,
}

/// How many tasks of a queue have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Ended {
    pub(super) done: u64,
    pub(super) failed: u64,
    /// The number of the last try when one ended last.
    last: u64,
}

/// How much it is: all of it would hide the rest of a coordinator.
impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").field("tries", &self.tries.len()).finish_non_exhaustive()
    }
}

impl Recent {
    /// Numbers of this reign are larger than those of the ones before it.
    pub(super) fn new(epoch: Epoch) -> Self {
        Self {
            tries: VecDeque::new(),
            failures: VecDeque::new(),
            queues: BTreeMap::new(),
            last_number: epoch.0 << u32::BITS,
        }
    }

    /// A try has ended.
    pub(super) fn add(&mut self, mut one: TryView) {
        self.last_number += 1;
        one.number = self.last_number;
        if one.cause.is_some_and(|cause| cause != Cause::Returned) {
            push(&mut self.failures, one.clone(), MAX_SHOWN_FAILURES);
        }
        push(&mut self.tries, one, MAX_REMEMBERED);
    }

    /// A task has ended. Of more than [`MAX_SHOWN`] queues the one is forgotten of which no task
    /// has ended for the longest time.
    pub(super) fn count(&mut self, queue: &str, is_done: bool) {
        if !self.queues.contains_key(queue) {
            if self.queues.len() == MAX_SHOWN {
                let oldest = self.queues.iter().min_by_key(|(_, ended)| ended.last);
                if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                    self.queues.remove(&name);
                }
            }
            self.queues.insert(queue.to_owned(), Ended::default());
        }
        let Some(ended) = self.queues.get_mut(queue) else { return };
        ended.last = self.last_number;
        ended.done += u64::from(is_done);
        ended.failed += u64::from(!is_done);
    }

    /// How many tasks of a queue have ended.
    pub(super) fn of(&self, queue: &str) -> Ended {
        self.queues.get(queue).copied().unwrap_or_default()
    }

    /// The last failures, the last one first.
    pub(super) fn failures(&self) -> Vec<TryView> {
        self.failures.iter().rev().cloned().collect()
    }

    /// The tries after one.
    pub(super) fn after(&self, number: u64) -> Vec<TryView> {
        let first = self.tries.partition_point(|one| one.number <= number);
        self.tries.range(first..).take(MAX_RECENT).cloned().collect()
    }
}

/// Adds what is last, and forgets what is first beyond a number of them.
fn push(list: &mut VecDeque<TryView>, one: TryView, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(one);
}

#[cfg(test)]
mod tests {
    use crate::id::{Attempt, TaskId};
    use crate::record::Running;

    use super::*;

    fn ended(queue: &str, cause: Option<Cause>) -> TryView {
        let (worker, host) = ("w".into(), "h".into());
        TryView {
            number: 0,
            task: TaskId::of(queue, 0),
            attempt: Attempt(1),
            queue: queue.into(),
            by: Running { worker, host, since_ms: 1, slot: 0 },
            ended_ms: 2,
            cause,
            text: String::new(),
        }
    }

    #[test]
    fn only_the_last_are_remembered() {
        let mut recent = Recent::new(Epoch(2));
        for _ in 0..MAX_REMEMBERED + 3 {
            recent.add(ended("q", None));
        }
        let first = recent.after(0);
        assert_eq!((first.len(), first[0].number), (MAX_RECENT, (2 << 32) + 4));
        let last = first[first.len() - 1].number;
        assert_eq!(recent.after(last)[0].number, last + 1);
        assert_eq!(recent.after(u64::MAX), []);
    }

    #[test]
    fn failures_are_not_displaced_by_what_is_done() {
        let mut recent = Recent::new(Epoch(0));
        recent.add(ended("a", Some(Cause::Lost)));
        recent.add(ended("b", Some(Cause::Returned)));
        for _ in 0..MAX_REMEMBERED {
            recent.add(ended("c", None));
        }
        recent.add(ended("d", Some(Cause::Exit)));
        let queues: Vec<_> = recent.failures().into_iter().map(|one| one.queue).collect();
        assert_eq!(queues, ["d", "a"]);
    }

    #[test]
    fn the_queue_that_has_stood_still_longest_is_forgotten() {
        let mut recent = Recent::new(Epoch(0));
        for at in 0..MAX_SHOWN {
            recent.add(ended("q", None));
            recent.count(&format!("q{at}"), true);
        }
        recent.add(ended("q", None));
        recent.count("q0", false);
        recent.count("new", true);
        assert_eq!((recent.of("q0").done, recent.of("q0").failed), (1, 1));
        assert_eq!((recent.of("q1"), recent.of("new").done), (Ended::default(), 1));
    }
}
