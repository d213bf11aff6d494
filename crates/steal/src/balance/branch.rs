//! One worker's part in a hierarchical balancing: what arrives goes in, what is to be sent comes
//! out, so it is the same where ranks exchange it and where a plan is made at one place.
//!
//! A worker gives away its cheapest tasks until it has little more than the average ([`rise`]).
//! With what arrives from below they are handed, the most expensive first, to whichever of the
//! worker and the subtrees below it has least for its size, where they fit below the average; the
//! rest goes up. What comes from above is handed out the same way ([`fall`]), all of it. Costs are
//! looked at in bins, so nothing is sorted.
//!
//! A worker of position p has below it those of positions p · arity + 1 to p · arity + arity.
//!
//! Invariant: each task that went in comes out once, at this worker ([`held`]) or in what is sent.
//!
//! [`rise`]: Branch::rise
//! [`fall`]: Branch::fall
//! [`held`]: Branch::held

use std::collections::BTreeMap;

use super::{Hierarchy, heap_steps};

/// A task that may go elsewhere, with the worker that has it now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given<T> {
    /// What it costs.
    pub cost: u64,
    /// The worker that has it.
    pub from: u32,
    /// What it is.
    pub task: T,
}

/// What goes up: how much a subtree keeps, and what it does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Risen<T> {
    /// What it keeps.
    pub load: u64,
    /// Its workers.
    pub size: u64,
    /// The tasks that are to go elsewhere.
    pub rest: Vec<Given<T>>,
}

/// Tasks by the bins of their costs.
type Bins<T> = BTreeMap<u64, Vec<Given<T>>>;

/// A subtree below.
#[derive(Debug)]
struct Below<T> {
    load: u64,
    size: u64,
    handed: Vec<Given<T>>,
}

/// One worker and what it knows of those below it.
#[derive(Debug)]
pub struct Branch<T> {
    hierarchy: Hierarchy,
    average: f64,
    me: u32,
    own: u64,
    held: Vec<Given<T>>,
    below: Vec<Below<T>>,
    steps: u64,
}

impl<T> Branch<T> {
    /// The part of worker `me`, where all tasks of all workers cost `average` a worker.
    ///
    /// # Panics
    /// If the arity or the bin is 0.
    pub fn new(hierarchy: &Hierarchy, me: u32, average: f64) -> Self {
        assert!(hierarchy.arity > 0 && hierarchy.bin > 0, "{hierarchy:?} has no tree or no bins");
        let hierarchy = *hierarchy;
        Self { hierarchy, average, me, own: 0, held: Vec::new(), below: Vec::new(), steps: 0 }
    }

    /// The worker's own tasks, and what the subtrees below it have sent, in their order; what goes
    /// up. At the root nothing is left of it.
    pub fn rise(&mut self, own: Vec<Given<T>>, below: Vec<Risen<T>>) -> Risen<T> {
        self.steps += own.len() as u64;
        let mut arrived = Vec::new();
        for Risen { load, size, rest } in below {
            self.below.push(Below { load, size, handed: Vec::new() });
            arrived.extend(rest);
        }
        arrived.extend(self.keep(own));
        let rest = self.hand_out(arrived, self.me == 0);
        let load = self.own + self.below.iter().map(|below| below.load).sum::<u64>();
        let size = 1 + self.below.iter().map(|below| below.size).sum::<u64>();
        Risen { load, size, rest }
    }

    /// What is handed down to this worker; what goes to each subtree below it, in their order, with
    /// what it was handed before. At the root nothing comes.
    pub fn fall(&mut self, handed: Vec<Given<T>>) -> Vec<Vec<Given<T>>> {
        let rest = self.hand_out(handed, true);
        debug_assert!(rest.is_empty(), "all of it is handed out");
        self.below.iter_mut().map(|below| core::mem::take(&mut below.handed)).collect()
    }

    /// What the worker has in the end.
    pub fn held(self) -> Vec<Given<T>> {
        self.held
    }

    /// Records that it has looked at, and comparisons that it has made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn limit(&self, size: u64) -> f64 {
        self.hierarchy.threshold * self.average * size as f64
    }

    fn binned(&self, tasks: impl IntoIterator<Item = Given<T>>) -> Bins<T> {
        let mut bins = Bins::new();
        for given in tasks {
            bins.entry(given.cost / self.hierarchy.bin).or_default().push(given);
        }
        bins
    }

    /// Keeps what does not exceed the average; what does.
    fn keep(&mut self, own: Vec<Given<T>>) -> Vec<Given<T>> {
        self.own = own.iter().map(|given| given.cost).sum();
        let limit = self.limit(1);
        // What costs nothing stays where it is.
        let (free, paid): (Vec<_>, Vec<_>) = own.into_iter().partition(|given| given.cost == 0);
        self.held.extend(free);
        let mut excess = Vec::new();
        if self.own as f64 <= limit {
            self.held.extend(paid);
            return excess;
        }
        for given in self.binned(paid).into_values().flatten() {
            if self.own as f64 > limit {
                self.own -= given.cost;
                excess.push(given);
            } else {
                self.held.push(given);
            }
        }
        excess
    }

    /// Hands tasks to this worker and to the subtrees below it; what nobody is to have is returned.
    fn hand_out(&mut self, tasks: Vec<Given<T>>, all: bool) -> Vec<Given<T>> {
        let mut rest = Vec::new();
        self.steps += tasks.len() as u64 * (2 + heap_steps(self.hierarchy.arity + 1));
        for given in self.binned(tasks).into_values().rev().flatten() {
            let (least, share) = self.least();
            let size = least.map_or(1, |below| self.below[below].size);
            if !all && share * size as f64 + given.cost as f64 > self.limit(size) {
                rest.push(given);
            } else if let Some(below) = least {
                self.below[below].load += given.cost;
                self.below[below].handed.push(given);
            } else {
                self.own += given.cost;
                self.held.push(given);
            }
        }
        rest
    }

    /// The subtree below that has least for its size, `None` if this worker has; and how much.
    fn least(&self) -> (Option<usize>, f64) {
        let mut least = (None, self.own as f64);
        for (at, below) in self.below.iter().enumerate() {
            let share = below.load as f64 / below.size as f64;
            if share < least.1 {
                least = (Some(at), share);
            }
        }
        least
    }
}
