//! Deaths as the nodes see them: who was declared dead, whether it was, and how soon all knew.
//!
//! The simulator knows who crashed and when. A node that learns of a death of a node that is up, or
//! merely stands still, has learnt something false; such deaths are counted once for each life that
//! was declared dead. Of true ones the times are kept at which the nodes that were up learnt of
//! them.

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

/// Writes down what happens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Obituaries {
    crashes: Vec<Crash>,
    false_lives: Vec<(usize, u32)>,
}

impl Obituaries {
    /// A node has crashed in this life; `lives` are those of the nodes that are left, else 0.
    pub(crate) fn crashed(&mut self, node: usize, life: u32, micros: i64, lives: Vec<u32>) {
        let learnt = vec![None; lives.len()];
        self.crashes.push(Crash { node, life, micros, learnt, lives });
    }

    /// `learner` holds this life of `node` as dead from now on.
    pub(crate) fn learnt(&mut self, learner: usize, (node, life): (usize, u32), micros: i64) {
        let crash = self.crashes.iter_mut().rfind(|crash| (crash.node, crash.life) == (node, life));
        match crash {
            Some(crash) => crash.learnt[learner] = crash.learnt[learner].or(Some(micros)),
            None if self.false_lives.contains(&(node, life)) => {}
            None => self.false_lives.push((node, life)),
        }
    }

    /// What it comes to, with the lives that nodes have in the end; those that had another, or
    /// none, at a crash need not know of it. Counts of the nodes' own are left at zero.
    pub(crate) fn sum(&self, lives: &[u32]) -> Deaths {
        let (mut half, mut all) = (Vec::new(), Vec::new());
        for crash in &self.crashes {
            let stayed = |&at: &usize| crash.lives[at] > 0 && crash.lives[at] == lives[at];
            let nodes: Vec<usize> = (0..lives.len()).filter(stayed).collect();
            let mut times: Vec<i64> = nodes.iter().filter_map(|&at| crash.learnt[at]).collect();
            times.sort_unstable();
            let ms = |micros: &i64| (micros - crash.micros) as f64 / 1e3;
            half.extend(times.get(nodes.len().div_ceil(2).saturating_sub(1)).map(ms));
            all.extend(times.get(nodes.len().saturating_sub(1)).map(ms));
        }
        Deaths {
            crashes: self.crashes.len() as u32,
            known_to_all: all.len() as u32,
            half_ms: median(&mut half),
            all_ms: median(&mut all),
            all_worst_ms: all.iter().copied().reduce(f64::max),
            mistaken: self.false_lives.len() as u32,
            ..Deaths::default()
        }
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
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
}
