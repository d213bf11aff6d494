//! Views: which workers live, and the tree and the hypercube that follow from that alone.
//!
//! Live workers are numbered in the order of their ids: their positions. Position 0 is the root of
//! a tree of eight children a node, and positions that differ in one bit are neighbours. Two
//! workers with the same dead have the same tree without asking each other; when the root dies, the
//! next position is the root.
//!
//! Invariant: the dead are in order, each once, and below the number of workers.
//!
//! Source of the hypercube: Saraswat, Kambadur, Kodali, Grove, Krishnamoorthy, "Lifeline-based
//! global load balancing", PPoPP 2011.

/// Children of a node of the tree.
pub const ARITY: u32 = 8;

/// Who lives, as one worker knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    workers: u32,
    dead: Vec<u32>,
}

impl View {
    /// All of them live.
    pub fn new(workers: u32) -> Self {
        Self { workers, dead: Vec::new() }
    }

    /// How many there were at first.
    pub fn workers(&self) -> u32 {
        self.workers
    }

    /// How many live.
    pub fn live(&self) -> u32 {
        self.workers - self.dead.len() as u32
    }

    /// Who died, in order.
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// Whether it lives.
    pub fn lives(&self, worker: u32) -> bool {
        worker < self.workers && self.dead.binary_search(&worker).is_err()
    }

    /// Removes a worker; whether it was there.
    pub fn remove(&mut self, worker: u32) -> bool {
        match self.dead.binary_search(&worker) {
            Err(at) if worker < self.workers => {
                self.dead.insert(at, worker);
                true
            }
            _ => false,
        }
    }

    /// The live worker at a position below [`View::live`].
    pub fn at(&self, position: u32) -> u32 {
        let mut worker = position;
        for dead in &self.dead {
            if *dead > worker {
                break;
            }
            worker += 1;
        }
        worker
    }

    /// The position of a live worker.
    pub fn position(&self, worker: u32) -> u32 {
        worker - self.dead.partition_point(|dead| *dead < worker) as u32
    }

    /// The position of the first live worker from this one on, in a ring.
    pub fn position_from(&self, worker: u32) -> u32 {
        let position = worker - self.dead.partition_point(|dead| *dead < worker) as u32;
        if position < self.live() { position } else { 0 }
    }

    /// Who is above it in the tree; `None` for the root.
    pub fn parent(&self, worker: u32) -> Option<u32> {
        let position = self.position(worker);
        (position > 0).then(|| self.at((position - 1) / ARITY))
    }

    /// Who is below it in the tree.
    pub fn children(&self, worker: u32) -> impl Iterator<Item = u32> + '_ {
        let first = u64::from(self.position(worker)) * u64::from(ARITY) + 1;
        let end = (first + u64::from(ARITY)).min(u64::from(self.live()));
        (first..end).map(|position| self.at(position as u32))
    }

    /// Its neighbours in the hypercube.
    pub fn neighbours(&self, worker: u32) -> impl Iterator<Item = u32> + '_ {
        let (position, live) = (self.position(worker), self.live());
        let bits = u32::BITS - live.saturating_sub(1).leading_zeros();
        let differing = (0..bits).map(move |bit| position ^ (1 << bit));
        differing.filter(move |other| *other < live).map(|other| self.at(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All that can be reached from the first live worker by this relation, both ways.
    fn reached(view: &View, next: impl Fn(u32) -> Vec<u32>) -> usize {
        let mut reached = vec![view.at(0)];
        let mut at = 0;
        while at < reached.len() {
            for other in next(reached[at]) {
                if !reached.contains(&other) {
                    reached.push(other);
                }
            }
            at += 1;
        }
        reached.len()
    }

    proptest! {
        #[test]
        fn tree_and_hypercube_hold_all_who_live(
            workers in 1u32..200,
            deaths in prop::collection::vec(0u32..200, 0..40),
        ) {
            let mut view = View::new(workers);
            for worker in deaths {
                if view.live() > 1 {
                    view.remove(worker);
                }
            }
            let live = view.live() as usize;
            prop_assert_eq!(reached(&view, |worker| view.children(worker).collect()), live);
            prop_assert_eq!(reached(&view, |worker| view.neighbours(worker).collect()), live);
            for position in 0..view.live() {
                let worker = view.at(position);
                prop_assert!(view.lives(worker));
                prop_assert_eq!(view.position(worker), position);
                for child in view.children(worker) {
                    prop_assert_eq!(view.parent(child), Some(worker));
                }
                let back = |other| view.neighbours(other).any(|who| who == worker);
                prop_assert!(view.neighbours(worker).all(back));
            }
        }
    }

    #[test]
    fn in_a_ring_the_first_follows_the_last() {
        let mut view = View::new(4);
        view.remove(1);
        view.remove(3);
        let first = |worker| view.at(view.position_from(worker));
        assert_eq!([0, 1, 2, 3].map(first), [0, 2, 2, 0]);
    }

    #[test]
    fn when_the_root_dies_the_next_is_the_root() {
        let mut view = View::new(3);
        assert!(view.remove(0) && !view.remove(0) && !view.remove(3));
        assert_eq!((view.parent(1), view.parent(2), view.live()), (None, Some(1), 2));
    }
}
