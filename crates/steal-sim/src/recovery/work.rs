//! Work whose results are known: tasks with costs, and to which blocks each adds.
//!
//! What a task adds is integers that follow from its number, its output and the element, so sums
//! are exact in any order, and a contribution that is missing, or counted twice, shows in each
//! element of its block.

use std::collections::BTreeMap;

use tidings_applications::Application as _;
use tidings_applications::tce::Contraction;
use tidings_primitives::Chance;
use tidings_primitives::chance::mix;
use tidings_recovery::{Array, Contribution, Kind, Loss, Mark, Place, Plan};

use crate::programs::listed::scf;

/// What an empty task takes.
const EMPTY_NS: u64 = 1000;

/// Words of a block as they are simulated; what a block weighs in messages is another matter.
const WORDS: u32 = 2;

/// Tasks with costs and outputs.
#[derive(Clone, Debug)]
pub struct Work {
    costs_ns: Vec<u64>,
    outputs: Vec<Vec<u32>>,
    contributors: Vec<Vec<Mark>>,
}

impl Work {
    /// Tasks of these costs that add to these blocks.
    pub fn new(costs_ns: Vec<u64>, outputs: Vec<Vec<u32>>) -> Self {
        let blocks = outputs.iter().flatten().max().map_or(0, |most| *most as usize + 1);
        let mut contributors = vec![Vec::new(); blocks];
        for (task, outputs) in (0..).zip(&outputs) {
            for (output, block) in (0..).zip(outputs) {
                contributors[*block as usize].push(Mark { task, output });
            }
        }
        Self { costs_ns, outputs, contributors }
    }

    /// A Fock matrix of atoms in a grid: each task that is not empty adds to two blocks.
    pub fn scf(sides: [usize; 3]) -> Self {
        let costs = scf(sides);
        let side = (costs.len() as f64).powf(0.25).round() as u64;
        let outputs = |task: u64| {
            let digit = |place: u32| (task / side.pow(place) % side) as u32;
            let (i, j, k) = (digit(0), digit(1), digit(2));
            vec![i * side as u32 + j, i * side as u32 + k]
        };
        let is_empty = |task: u64| costs[task as usize] == 0;
        let all = 0..costs.len() as u64;
        let outputs =
            all.map(|task| if is_empty(task) { Vec::new() } else { outputs(task) }).collect();
        Self::new(costs, outputs)
    }

    /// A contraction of block-sparse tensors: each task adds to one block.
    pub fn tce(empty: u16, occupied: u16, seed: u64) -> Self {
        let contraction = Contraction::new(empty, occupied, seed);
        let (mut costs, mut outputs) = (Vec::new(), Vec::new());
        let mut blocks = BTreeMap::new();
        for product in contraction.roots() {
            costs.push(contraction.cost(&product) / 4);
            let next = blocks.len() as u32;
            outputs.push(vec![*blocks.entry((product.ab, product.ij)).or_insert(next)]);
        }
        Self::new(costs, outputs)
    }

    /// Tasks that add to up to three blocks at random, with costs of this mean.
    pub fn random(tasks: usize, blocks: u32, mean_ns: f64, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let costs = (0..tasks).map(|_| chance.exponential(mean_ns) as u64).collect();
        let mut some = |_| {
            let count = chance.below(4);
            (0..count).map(|_| chance.below(blocks as usize) as u32).collect()
        };
        Self::new(costs, (0..tasks).map(&mut some).collect())
    }

    /// The same tasks, each of which takes so many times as long.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        for cost in &mut self.costs_ns {
            *cost = (*cost as f64 * factor) as u64;
        }
        self
    }

    /// The array to which the tasks add.
    pub fn array(&self, copied: bool, loss: Loss) -> Array {
        let (name, blocks) = ("sums".to_owned(), self.contributors.len() as u32);
        Array { name, blocks, words: WORDS, kind: Kind::Integers, copied, loss }
    }

    /// Blocks of the array.
    pub fn blocks(&self) -> u32 {
        self.contributors.len() as u32
    }

    /// What tasks are predicted to take.
    pub fn costs_ns(&self) -> &[u64] {
        &self.costs_ns
    }

    /// What a task takes.
    pub fn cost_ns(&self, task: u64) -> i64 {
        self.costs_ns[task as usize].max(EMPTY_NS) as i64
    }

    /// What all tasks take.
    pub fn all_ns(&self) -> i64 {
        (0..self.tasks()).map(|task| self.cost_ns(task)).sum()
    }

    /// What a task adds.
    pub fn contributions(&self, task: u64) -> Vec<Contribution> {
        let outputs = (0..).zip(&self.outputs[task as usize]);
        let added = |(output, block): (u8, &u32)| Contribution {
            place: Place { array: 0, block: *block },
            words: words(Mark { task, output }),
        };
        outputs.map(added).collect()
    }

    /// What is in a block when each contribution to it was added so often.
    pub fn sum(&self, block: u32, times: u64) -> Vec<u64> {
        let mut sum = vec![0u64; WORDS as usize];
        for mark in &self.contributors[block as usize] {
            for (sum, word) in sum.iter_mut().zip(words(*mark)) {
                *sum = sum.wrapping_add(word.wrapping_mul(times));
            }
        }
        sum
    }
}

fn words(mark: Mark) -> Vec<u64> {
    let begin = mix(mark.task ^ mix(u64::from(mark.output)));
    (0..u64::from(WORDS)).map(|at| mix(begin ^ at)).collect()
}

impl Plan for Work {
    fn tasks(&self) -> u64 {
        self.costs_ns.len() as u64
    }

    fn outputs(&self, task: u64) -> Vec<Place> {
        let place = |block: &u32| Place { array: 0, block: *block };
        self.outputs[task as usize].iter().map(place).collect()
    }

    fn work_ns(&self, task: u64) -> u64 {
        self.costs_ns[task as usize]
    }

    fn contributors(&self, place: Place) -> Vec<Mark> {
        self.contributors.get(place.block as usize).cloned().unwrap_or_default()
    }
}
