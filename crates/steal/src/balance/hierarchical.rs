//! Only what exceeds the average, up a tree of workers and down again.
//!
//! Each worker gives away its cheapest tasks until it has little more than the average. They go up
//! the tree. A worker hands what arrives from below, the most expensive first, to itself or the
//! subtrees below it that have least for their size, where it fits below the average, and passes on
//! the rest; the root deals out all that is left. What a subtree is handed goes down the
//! same way. Costs are looked at in bins, so nothing is sorted.
//!
//! A worker of position p has below it those of positions p · arity + 1 to p · arity + arity.

use std::collections::BTreeMap;

use super::{Move, Plan, heap_steps};

/// How it is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hierarchy {
    /// Workers directly below one.
    pub arity: usize,
    /// The width of a bin, in the unit of costs.
    pub bin: u64,
    /// The load up to which nothing is given away, and above which nothing is taken, in averages.
    pub threshold: f64,
}

impl Hierarchy {
    /// The paper's: eight below each, ten milliseconds a bin, half a percent above the average.
    pub const PAPER: Self = Self { arity: 8, bin: 10_000_000, threshold: 1.005 };
}

/// A task on its way, by the worker that has it.
#[derive(Clone, Copy, Debug)]
struct Given {
    cost: u64,
    from: u32,
    task: u32,
}

/// Tasks by the bins of their costs.
type Bins = BTreeMap<u64, Vec<Given>>;

/// A worker and those below it.
#[derive(Clone, Default, Debug)]
struct Subtree {
    /// What the worker keeps and gets.
    own: u64,
    /// With all below.
    load: u64,
    size: u64,
    /// What it is handed from above.
    handed: Vec<Given>,
    /// Steps until its part is done, with those that it waits for.
    steps: u64,
}

struct Balancing<'a> {
    hierarchy: &'a Hierarchy,
    average: f64,
    trees: Vec<Subtree>,
    moves: Vec<Move>,
}

/// Moves what exceeds the average.
///
/// # Panics
/// If the arity or the bin is 0.
pub fn hierarchical(costs: &[Vec<u64>], hierarchy: &Hierarchy) -> Plan {
    assert!(hierarchy.arity > 0 && hierarchy.bin > 0, "{hierarchy:?} has no tree or no bins");
    let sum: u64 = costs.iter().flatten().sum();
    let average = sum as f64 / costs.len().max(1) as f64;
    let trees = vec![Subtree::default(); costs.len()];
    let mut balancing = Balancing { hierarchy, average, trees, moves: Vec::new() };
    let mut above: Vec<Vec<Given>> = vec![Vec::new(); costs.len()];
    for worker in (0..costs.len()).rev() {
        let excess = balancing.keep(worker, &costs[worker]);
        above[worker].extend(excess);
        let arrived = core::mem::take(&mut above[worker]);
        let rest = balancing.hand_out(worker, arrived, worker == 0);
        if worker > 0 {
            above[(worker - 1) / hierarchy.arity].extend(rest);
        }
    }
    balancing.go_down();
    let steps = balancing.trees.iter().map(|tree| tree.steps).max().unwrap_or(0);
    let mut moves = balancing.moves;
    moves.sort_unstable();
    Plan { moves, steps, messages: 4 * (costs.len() as u64).saturating_sub(1) }
}

impl Balancing<'_> {
    fn below(&self, worker: usize) -> core::ops::Range<usize> {
        let first = worker * self.hierarchy.arity + 1;
        first.min(self.trees.len())..(first + self.hierarchy.arity).min(self.trees.len())
    }

    fn limit(&self, size: u64) -> f64 {
        self.hierarchy.threshold * self.average * size as f64
    }

    fn binned(&self, tasks: impl Iterator<Item = Given>) -> Bins {
        let mut bins = Bins::new();
        for given in tasks {
            bins.entry(given.cost / self.hierarchy.bin).or_default().push(given);
        }
        bins
    }

    /// What a worker gives away, and its subtree as it is then.
    fn keep(&mut self, worker: usize, costs: &[u64]) -> Vec<Given> {
        let from = worker as u32;
        let own = (0..).zip(costs).map(|(task, cost)| Given { cost: *cost, from, task });
        let mut load: u64 = costs.iter().sum();
        let limit = self.limit(1);
        let mut excess = Vec::new();
        if load as f64 > limit {
            // What costs nothing stays where it is.
            for given in self.binned(own.filter(|given| given.cost > 0)).into_values().flatten() {
                if load as f64 <= limit {
                    break;
                }
                load -= given.cost;
                excess.push(given);
            }
        }
        let below = self.below(worker);
        let trees = &self.trees[below];
        let waited = trees.iter().map(|tree| tree.steps).max().unwrap_or(0);
        let tree = Subtree {
            own: load,
            load: load + trees.iter().map(|tree| tree.load).sum::<u64>(),
            size: 1 + trees.iter().map(|tree| tree.size).sum::<u64>(),
            handed: Vec::new(),
            steps: waited + costs.len() as u64,
        };
        self.trees[worker] = tree;
        excess
    }

    /// Hands tasks to this worker and to the subtrees below it; what nobody is to have is returned.
    fn hand_out(&mut self, worker: usize, tasks: Vec<Given>, all: bool) -> Vec<Given> {
        let mut rest = Vec::new();
        let steps = tasks.len() as u64 * (2 + heap_steps(self.hierarchy.arity + 1));
        self.trees[worker].steps += steps;
        for given in self.binned(tasks.into_iter()).into_values().rev().flatten() {
            let (least, load) = self.least(worker);
            let size = if least == worker { 1 } else { self.trees[least].size };
            if !all && load * size as f64 + given.cost as f64 > self.limit(size) {
                rest.push(given);
                continue;
            }
            self.trees[worker].load += given.cost;
            if least == worker {
                self.take(worker, given);
            } else {
                self.trees[least].load += given.cost;
                self.trees[least].handed.push(given);
            }
        }
        rest
    }

    /// This worker, or the subtree below it, that has least for its size, and how much that is.
    fn least(&self, worker: usize) -> (usize, f64) {
        let own = (worker, self.trees[worker].own as f64);
        let share = |tree: &Subtree| tree.load as f64 / tree.size as f64;
        let below = self.below(worker).map(|below| (below, share(&self.trees[below])));
        below.fold(own, |least, other| if other.1 < least.1 { other } else { least })
    }

    fn take(&mut self, worker: usize, given: Given) {
        self.trees[worker].own += given.cost;
        if given.from as usize != worker {
            let to = worker as u32;
            self.moves.push(Move { from: given.from, task: given.task, to });
        }
    }

    /// What subtrees were handed goes down to workers.
    fn go_down(&mut self) {
        for worker in 1..self.trees.len() {
            let parent = (worker - 1) / self.hierarchy.arity;
            let waited = self.trees[parent].steps;
            let handed = core::mem::take(&mut self.trees[worker].handed);
            self.trees[worker].steps = waited;
            // It is counted as this subtree's already, and again when it is handed out.
            self.trees[worker].load -= handed.iter().map(|given| given.cost).sum::<u64>();
            self.hand_out(worker, handed, true);
        }
    }
}
