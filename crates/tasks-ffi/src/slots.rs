//! Slots: how many tasks of a queue a process asks for, and which it was given.
//!
//! A slot is asked for while a thread waits for a task, and while one is in hand. After that it
//! stays for [`KEPT`]: a thread that claims one task after the other has the next one with the
//! commit that ends the last. What comes later than that, and nobody waits for, is given back: no
//! task lies with a process that does not want it.
//!
//! Invariant: no more tasks lie here than threads wait or slots are kept.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidings_tasks::session::Assigned;
use tidings_tasks_core::id::{Attempt, TaskId};

/// For how long a slot is kept that nobody uses.
const KEPT: Duration = Duration::from_millis(100);

/// Which try.
pub(crate) type Key = (TaskId, Attempt);

/// The slots of a queue.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    waiting: u32,
    kept: u32,
    kept_until: Option<Instant>,
    ready: VecDeque<Assigned>,
    /// What is in hand, and whether it is still wanted.
    held: BTreeMap<Key, Arc<AtomicBool>>,
}

impl Slots {
    /// How many the coordinator is to know of.
    pub(crate) fn wanted(&self) -> u32 {
        self.waiting + self.kept + self.held.len() as u32
    }

    /// When those end that are kept.
    pub(crate) fn kept_until(&self) -> Option<Instant> {
        self.kept_until
    }

    /// A thread waits for a task.
    pub(crate) fn ask(&mut self) {
        self.kept = self.kept.saturating_sub(1);
        self.waiting += 1;
    }

    /// It has one, if there is one. Says later whether that is still wanted.
    pub(crate) fn take(&mut self) -> Option<(Assigned, Arc<AtomicBool>)> {
        let assigned = self.ready.pop_front()?;
        self.waiting -= 1;
        let wanted = Arc::new(AtomicBool::new(true));
        self.held.insert((assigned.task, assigned.attempt), wanted.clone());
        Some((assigned, wanted))
    }

    /// It waits no longer.
    pub(crate) fn give_up(&mut self, now: Instant) {
        self.waiting -= 1;
        self.keep(now);
    }

    /// A try is no longer in hand.
    pub(crate) fn end(&mut self, key: Key, now: Instant) {
        if self.held.remove(&key).is_some() {
            self.keep(now);
        }
    }

    fn keep(&mut self, now: Instant) {
        self.kept += 1;
        self.kept_until = Some(now + KEPT);
    }

    /// A task has come. It is returned if nobody wants it.
    pub(crate) fn arrive(&mut self, assigned: Assigned) -> Option<Assigned> {
        if self.ready.len() >= (self.waiting + self.kept) as usize {
            return Some(assigned);
        }
        self.ready.push_back(assigned);
        None
    }

    /// Gives up what is kept, if its time is over. Returns what nobody wants any more.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Assigned> {
        if self.kept_until.is_none_or(|until| now < until) {
            return Vec::new();
        }
        (self.kept, self.kept_until) = (0, None);
        let wanted = self.ready.len().min(self.waiting as usize);
        self.ready.split_off(wanted).into()
    }

    /// Nobody wants a try. It is returned if no thread has it.
    pub(crate) fn stop(&mut self, key: Key) -> Option<Assigned> {
        if let Some(wanted) = self.held.get(&key) {
            wanted.store(false, Ordering::Relaxed);
        }
        let is_it = |assigned: &Assigned| (assigned.task, assigned.attempt) == key;
        let at = self.ready.iter().position(is_it)?;
        self.ready.remove(at)
    }

    /// A try does not count any more, and takes no slot. It is returned if no thread has it.
    pub(crate) fn lapse(&mut self, key: Key) -> Option<Assigned> {
        let unwanted = self.stop(key);
        self.held.remove(&key);
        unwanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u64) -> Assigned {
        let (task, attempt) = (TaskId::of("task", number), Attempt(1));
        Assigned { task, attempt, queue: "q".into(), payload: Vec::new(), copies: 0 }
    }

    fn key(number: u64) -> Key {
        (TaskId::of("task", number), Attempt(1))
    }

    #[test]
    fn a_slot_is_wanted_from_the_wait_to_some_time_after_the_end() {
        let (mut slots, now) = (Slots::default(), Instant::now());
        assert_eq!(slots.wanted(), 0);
        slots.ask();
        assert_eq!((slots.wanted(), slots.arrive(task(1))), (1, None));
        let (taken, wanted) = slots.take().unwrap();
        assert_eq!((taken.task, slots.wanted()), (TaskId::of("task", 1), 1));
        slots.end(key(1), now);
        assert_eq!((slots.wanted(), wanted.load(Ordering::Relaxed)), (1, true));
        // The next one comes before it is asked for.
        assert_eq!(slots.arrive(task(2)), None);
        assert_eq!(slots.arrive(task(3)), Some(task(3)));
        slots.ask();
        assert_eq!((slots.wanted(), slots.take().unwrap().0), (1, task(2)));
        slots.end(key(2), now);
        assert!(slots.expire(now).is_empty() && slots.wanted() == 1);
        assert!(slots.expire(now + KEPT).is_empty() && slots.wanted() == 0);
    }

    #[test]
    fn what_comes_after_a_wait_is_given_back_when_nobody_claims_again() {
        let (mut slots, now) = (Slots::default(), Instant::now());
        slots.ask();
        slots.give_up(now);
        assert_eq!(slots.arrive(task(1)), None);
        assert_eq!(slots.expire(now + KEPT), [task(1)]);
        assert_eq!(slots.arrive(task(2)), Some(task(2)));
        slots.ask();
        assert_eq!(slots.arrive(task(3)), None);
        // Another one waits: it stays.
        slots.ask();
        slots.give_up(now);
        assert!(slots.expire(now + KEPT).is_empty());
        assert_eq!(slots.take().unwrap().0, task(3));
    }

    #[test]
    fn what_is_stopped_or_lapsed_is_known_as_such() {
        let mut slots = Slots::default();
        for number in 0..3 {
            slots.ask();
            assert_eq!(slots.arrive(task(number)), None);
        }
        let (_, first) = slots.take().unwrap();
        assert_eq!(slots.stop(key(0)), None);
        assert!(!first.load(Ordering::Relaxed));
        assert_eq!(slots.stop(key(1)), Some(task(1)));
        assert_eq!((slots.lapse(key(0)), slots.lapse(key(2))), (None, Some(task(2))));
        // Two threads wait on; what was in hand takes no slot of the session that comes next.
        assert_eq!(slots.wanted(), 2);
        slots.end(key(0), Instant::now());
        assert_eq!(slots.wanted(), 2);
    }
}
