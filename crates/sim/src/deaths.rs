//! Deaths as the nodes see them: who was declared dead, whether it was, and how soon all knew.
//!
//! The simulator knows who crashed and when. A node that learns of a death of a node that is up, or
//! merely stands still, has learnt something false; such deaths are counted once for each life that
//! was declared dead. Of true ones the times are kept at which the nodes that were up learnt of
//! them, until the node restarts: then they are summed up, so that a long run with many crashes
//! takes little more memory than a short one.

use std::collections::BTreeMap;

use serde::Serialize;

/// What became known of deaths in a run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Deaths {
    /// Nodes that crashed.
    pub crashes: u32,
    /// Those of which all nodes know that have been up since.
    pub known_to_all: u32,
    /// Time from the crash until half of them knew: the median over crashes, in milliseconds.
    pub half_ms: Option<f64>,
    /// Until all of them knew: the median.
    pub all_ms: Option<f64>,
    /// The same: what one in a hundred exceeds.
    pub all_p99_ms: Option<f64>,
    /// The same: the longest.
    pub all_worst_ms: Option<f64>,
    /// Lives that were declared dead while their node was up or stood still.
    pub mistaken: u32,
    /// Members suspected, over all nodes.
    pub suspicions: u64,
    /// Suspected members that gave proof of life.
    pub suspicions_cleared: u64,
    /// Probes sent, for others too.
    pub probes: u64,
}

/// One crash.
#[derive(Clone, Debug)]
struct Crash {
    node: usize,
    life: u32,
    micros: i64,
    /// When each node that was up learnt of it; `None` where one has not, or was down.
    learnt: Vec<Option<i64>>,
    /// Which life each node had; 0 where it was down.
    lives: Vec<u32>,
}

/// How long after a crash half of the nodes that stayed knew of it, and all of them, in
/// microseconds or other ticks; `None` where they never did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// When it was.
    pub(crate) crash: i64,
    pub(crate) half: Option<i64>,
    pub(crate) all: Option<i64>,
    /// Whether the node has restarted since.
    pub(crate) is_closed: bool,
}

/// Writes down what happens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Obituaries {
    /// Crashes of nodes that are down.
    open: Vec<Crash>,
    /// Those of nodes that have restarted.
    closed: Vec<Spread>,
    /// The last life of each node that has crashed at all.
    ended: BTreeMap<usize, u32>,
    false_lives: Vec<(usize, u32)>,
}

impl Obituaries {
    /// For a run with so many crashes.
    pub(crate) fn with_room(crashes: usize) -> Self {
        Self { closed: Vec::with_capacity(crashes), ..Self::default() }
    }

    /// A node has crashed in this life; `lives` are those of the nodes that are left, else 0.
    pub(crate) fn crashed(&mut self, node: usize, life: u32, micros: i64, lives: Vec<u32>) {
        let learnt = vec![None; lives.len()];
        self.open.push(Crash { node, life, micros, learnt, lives });
        self.ended.insert(node, life);
    }

    /// A node is about to restart, while nodes have these lives: a node that does not know of its
    /// death by now learns of its return instead.
    pub(crate) fn restarts(&mut self, node: usize, lives: &[u32]) {
        let closed = self.open.iter().filter(|crash| crash.node == node);
        self.closed.extend(closed.map(|crash| crash.spread(lives, true)));
        self.open.retain(|crash| crash.node != node);
    }

    /// `learner` holds this life of `node` as dead from now on.
    pub(crate) fn learnt(&mut self, learner: usize, (node, life): (usize, u32), micros: i64) {
        let crash = self.open.iter_mut().rfind(|crash| (crash.node, crash.life) == (node, life));
        match crash {
            Some(crash) => crash.learnt[learner] = crash.learnt[learner].or(Some(micros)),
            None if self.ended.get(&node).is_some_and(|&ended| life <= ended) => {}
            None if self.false_lives.contains(&(node, life)) => {}
            None => self.false_lives.push((node, life)),
        }
    }

    /// What it comes to, with the lives that nodes have in the end; those that had another, or
    /// none, at a crash need not know of it. Counts of the nodes' own are left at zero.
    pub(crate) fn sum(&self, lives: &[u32]) -> Deaths {
        let spreads = self.spreads(lives);
        let ms = |micros: i64| micros as f64 / 1e3;
        let mut half: Vec<f64> = spreads.iter().filter_map(|s| s.half).map(ms).collect();
        let mut all: Vec<f64> = spreads.iter().filter_map(|s| s.all).map(ms).collect();
        Deaths {
            crashes: spreads.len() as u32,
            known_to_all: all.len() as u32,
            half_ms: quantile(&mut half, 0.5),
            all_ms: quantile(&mut all, 0.5),
            all_p99_ms: quantile(&mut all, 0.99),
            all_worst_ms: all.iter().copied().reduce(f64::max),
            mistaken: self.mistaken() as u32,
            ..Deaths::default()
        }
    }

    /// Of each crash how soon it was known, with the lives that nodes have in the end.
    pub(crate) fn spreads(&self, lives: &[u32]) -> Vec<Spread> {
        let open = self.open.iter().map(|crash| crash.spread(lives, false));
        self.closed.iter().copied().chain(open).collect()
    }

    /// Lives that were declared dead while their node was up.
    pub(crate) fn mistaken(&self) -> usize {
        self.false_lives.len()
    }
}

impl Crash {
    /// When it was known, among the nodes that had these lives then and have them still.
    fn spread(&self, lives: &[u32], is_closed: bool) -> Spread {
        let stayed = |&at: &usize| self.lives[at] > 0 && self.lives[at] == lives[at];
        let nodes: Vec<usize> = (0..lives.len()).filter(stayed).collect();
        let mut times: Vec<i64> = nodes.iter().filter_map(|&at| self.learnt[at]).collect();
        times.sort_unstable();
        let after = |place: usize| times.get(place).map(|micros| micros - self.micros);
        Spread {
            crash: self.micros,
            half: after(nodes.len().div_ceil(2).saturating_sub(1)),
            all: after(nodes.len().saturating_sub(1)),
            is_closed,
        }
    }
}

/// The value that this share of them does not reach.
fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get((values.len() as f64 * share) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_learn_says_when_all_know() {
        let mut obituaries = Obituaries::default();
        obituaries.crashed(0, 1, 1_000_000, vec![0, 1, 1, 1, 0]);
        for (learner, ms) in [(1, 1_100), (3, 1_300), (2, 1_200), (2, 1_900)] {
            obituaries.learnt(learner, (0, 1), ms * 1_000);
        }
        obituaries.learnt(1, (2, 1), 5);
        obituaries.learnt(3, (2, 1), 6);
        let deaths = obituaries.sum(&[1; 5]);
        assert_eq!((deaths.crashes, deaths.known_to_all, deaths.mistaken), (1, 1, 1));
        assert_eq!((deaths.half_ms, deaths.all_ms), (Some(200.0), Some(300.0)));
        assert_eq!(Obituaries::default().sum(&[]).all_worst_ms, None);
    }

    #[test]
    fn quantiles_are_of_the_sorted_values() {
        let mut values: Vec<f64> = (0..200).rev().map(f64::from).collect();
        let quantiles = [0.0, 0.5, 0.99].map(|share| quantile(&mut values, share));
        assert_eq!(quantiles, [Some(0.0), Some(100.0), Some(198.0)]);
        assert_eq!(quantile(&mut [], 0.99), None);
    }

    #[test]
    fn a_crash_is_summed_up_when_its_node_restarts() {
        let mut obituaries = Obituaries::with_room(2);
        obituaries.crashed(0, 1, 1_000, vec![0, 1, 1]);
        obituaries.learnt(1, (0, 1), 3_000);
        obituaries.restarts(0, &[0, 1, 2]);
        obituaries.learnt(2, (0, 1), 9_000);
        let deaths = obituaries.sum(&[2, 9, 9]);
        assert_eq!((deaths.crashes, deaths.known_to_all, deaths.mistaken), (1, 1, 0));
        assert_eq!(deaths.all_ms, Some(2.0), "the third node had another life by then");
        obituaries.learnt(2, (0, 2), 9_000);
        assert_eq!(obituaries.sum(&[2, 9, 9]).mistaken, 1, "it lives its second life");
    }
}
