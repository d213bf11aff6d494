//! Urgent news: farewells, which must reach everyone although they are never renewed.
//!
//! An ordinary entry may die out on its way, since its origin makes a newer one each unit. A
//! farewell is its origin's last: among the newest entries it would soon be outrun. So a node that
//! hears of one puts it in front of its next windows, for 2·log₂ n + 8 units. If every node passes
//! a rumour on k times to random others, a share e^−k of them misses it: with 1,024 nodes, k = 28
//! and less than one chance in 10⁹ that anybody does. A window keeps its size (but one of a single
//! entry gets a second), and at least half of it remains for the newest.

use std::collections::VecDeque;

use crate::entry::NodeId;

/// Farewells passed on at one time; with more, the oldest give way.
pub const MAX_URGENT: usize = 64;
/// Farewells in a push, at most.
const MOST_IN_PUSHES: usize = 4;

/// The most farewells that go along in each window of so many entries.
pub fn most(window_entries: usize) -> usize {
    // A window of one entry has two while there are farewells, or they would never go on.
    window_entries.max(2) / 2
}

/// The same with `grid`, whose pushes are windows too: there are many of them in a round.
pub fn most_in_pushes(window_entries: usize) -> usize {
    most(window_entries).min(MOST_IN_PUSHES)
}

/// Origins whose entries go first, with the number of windows they are still put into.
#[derive(Default)]
pub struct Urgent {
    queue: VecDeque<(NodeId, u32)>,
}

impl Urgent {
    /// Puts the entry about `id` first in the next windows of a cluster of `members`.
    pub fn add(&mut self, id: NodeId, members: usize) {
        let windows = 2 * members.max(1).ilog2() + 8;
        self.queue.retain(|(other, _)| *other != id);
        if self.queue.len() == MAX_URGENT {
            self.queue.pop_front();
        }
        self.queue.push_back((id, windows));
    }

    /// Stops hurrying the entry about `id`.
    pub fn remove(&mut self, id: NodeId) {
        self.queue.retain(|(other, _)| *other != id);
    }

    /// Origins to go first in the next window, at most `most` of them, each counted as sent.
    pub fn take(&mut self, most: usize) -> impl Iterator<Item = NodeId> + use<> {
        let turn: Vec<_> = self.queue.drain(..most.min(self.queue.len())).collect();
        // Those that had their turn queue up behind the others, until they have had all of them.
        let again = turn.iter().filter(|(_, left)| *left > 1).map(|&(id, left)| (id, left - 1));
        self.queue.extend(again);
        turn.into_iter().map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turns_and_then_rests() {
        let mut urgent = Urgent::default();
        urgent.add(NodeId(1), 2);
        urgent.add(NodeId(2), 2);
        urgent.add(NodeId(1), 2);
        let turns: Vec<NodeId> = (0..30).flat_map(|_| urgent.take(1)).collect();
        assert_eq!(turns.iter().filter(|id| id.0 == 1).count(), 10);
        assert_eq!(turns.iter().filter(|id| id.0 == 2).count(), 10);
        urgent.add(NodeId(3), 2);
        urgent.remove(NodeId(3));
        assert_eq!(urgent.take(9).count(), 0);
    }

    #[test]
    fn there_is_a_bound() {
        let mut urgent = Urgent::default();
        (0..1000).for_each(|n| urgent.add(NodeId(n), 8));
        assert_eq!(urgent.take(1000).collect::<Vec<_>>().len(), MAX_URGENT);
    }
}
