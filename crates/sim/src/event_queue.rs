//! The event queue: what happens next, in an order that nothing but the run itself decides.
//!
//! Events come out in the order of their times; those of one time in the order in which they were
//! put in. That makes a run repeatable: no address, hash or thread has a say.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events by time.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Scheduled<E>>,
    scheduled: u64,
}

#[derive(Debug)]
struct Scheduled<E> {
    micros: i64,
    number: u64,
    event: E,
}

impl<E> EventQueue<E> {
    /// No events.
    pub fn empty() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }

    /// Schedules `event` for the true time `micros`.
    pub fn push(&mut self, micros: i64, event: E) {
        self.scheduled += 1;
        self.heap.push(Scheduled { micros, number: self.scheduled, event });
    }

    /// The next event, if its time is not after `end_micros`.
    pub fn pop_until(&mut self, end_micros: i64) -> Option<(i64, E)> {
        self.heap.peek().filter(|next| next.micros <= end_micros)?;
        self.heap.pop().map(|next| (next.micros, next.event))
    }
}

impl<E> Scheduled<E> {
    fn key(&self) -> (i64, u64) {
        (self.micros, self.number)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    /// Reversed: the heap gives its greatest, and the earliest is wanted.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_in_the_order_they_were_put_in() {
        let mut queue = EventQueue::empty();
        for (micros, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (9, 'e')] {
            queue.push(micros, event);
        }
        let until_5: Vec<(i64, char)> = core::iter::from_fn(|| queue.pop_until(5)).collect();
        assert_eq!(until_5, [(1, 'a'), (1, 'b'), (5, 'c'), (5, 'd')]);
        assert_eq!(queue.pop_until(100), Some((9, 'e')));
    }
}
