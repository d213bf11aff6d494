//! Lists of tasks with costs, as iterative programs have them.
//!
//! A worker is given its part of the list. From one iteration to the next each cost changes at
//! random by some per cent, and drifts by another: what was measured is a good prediction, and not
//! a perfect one.

use tidings_applications::Application as _;
use tidings_applications::scf::{Basis, Fock, cost};
use tidings_applications::tce::Contraction;
use tidings_primitives::Chance;
use tidings_primitives::chance::mix;
use tidings_steal::{Done, Frame};

use super::Program;

/// What an integral takes, in nanoseconds.
const INTEGRAL_NS: u64 = 30;

/// A list of tasks.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What each takes, as the program predicts it.
    costs_ns: Vec<u64>,
    /// Who is given each, in ascending order of tasks for each worker.
    of_worker: Vec<Vec<u32>>,
    noise: f64,
    drift: f64,
}

impl Listed {
    /// Tasks of these costs, in blocks of the same number for each worker.
    pub fn in_blocks(costs_ns: Vec<u64>, workers: u32) -> Self {
        let (tasks, workers) = (costs_ns.len(), workers as usize);
        let block = |worker: usize| {
            (worker * tasks / workers) as u32..((worker + 1) * tasks / workers) as u32
        };
        let of_worker = (0..workers).map(|worker| block(worker).collect()).collect();
        Self { costs_ns, of_worker, noise: 0.0, drift: 0.0 }
    }

    /// The same tasks, given to these workers.
    #[must_use]
    pub fn assigned(mut self, to: &[u32]) -> Self {
        self.of_worker.iter_mut().for_each(Vec::clear);
        for (task, worker) in to.iter().enumerate() {
            self.of_worker[*worker as usize].push(task as u32);
        }
        self
    }

    /// The same, where each cost changes by up to `noise` of itself each time, and by up to `drift`
    /// of itself in one direction from one iteration to the next.
    #[must_use]
    pub fn changing(self, noise: f64, drift: f64) -> Self {
        Self { noise, drift, ..self }
    }

    /// The costs as predicted.
    pub fn costs_ns(&self) -> &[u64] {
        &self.costs_ns
    }

    /// Who is given each task.
    pub fn owners(&self) -> Vec<u32> {
        let mut owners = vec![0; self.costs_ns.len()];
        for (worker, tasks) in (0..).zip(&self.of_worker) {
            for task in tasks {
                owners[*task as usize] = worker;
            }
        }
        owners
    }

    /// The largest load over the mean.
    pub fn imbalance(&self) -> f64 {
        let loads = self
            .of_worker
            .iter()
            .map(|tasks| tasks.iter().map(|task| self.costs_ns[*task as usize]).sum::<u64>());
        let loads: Vec<u64> = loads.collect();
        let mean = loads.iter().sum::<u64>() as f64 / loads.len() as f64;
        loads.iter().max().map_or(0.0, |most| *most as f64 / mean)
    }
}

impl Program for Listed {
    fn tasks(&self, worker: u32, _iteration: u32) -> Vec<Frame> {
        let frame = |task: &u32| {
            let work_ns = self.costs_ns[*task as usize];
            Frame::new(0, work_ns, &task.to_le_bytes()).expect("four bytes fit any slot")
        };
        self.of_worker[worker as usize].iter().map(frame).collect()
    }

    fn cost_ns(&self, frame: &Frame, iteration: u32) -> i64 {
        let Some(task) = self.number(frame) else { return 0 };
        let share = |salt: u64| mix(salt ^ (task as u64) << 8) as f64 / u64::MAX as f64 - 0.5;
        let noise = 2.0 * self.noise * share(u64::from(iteration) + 1);
        let drift = 2.0 * self.drift * f64::from(iteration) * share(0);
        let cost = self.costs_ns[task] as f64 * (1.0 + noise + drift).max(0.0);
        (cost as i64).max(EMPTY_NS)
    }

    fn run(&mut self, _frame: &Frame, _spawn: &mut dyn FnMut(Frame)) -> Done {
        Done::Nothing
    }

    fn number(&self, frame: &Frame) -> Option<usize> {
        let bytes = frame.state.bytes().first_chunk()?;
        Some(u32::from_le_bytes(*bytes) as usize)
    }

    fn listed(&self) -> usize {
        self.costs_ns.len()
    }
}

/// What an empty task takes.
const EMPTY_NS: i64 = 1000;

/// The Fock matrix of atoms in a grid.
pub fn scf(sides: [usize; 3]) -> Vec<u64> {
    let costs = cost::of_all(Fock::new(Basis::grid(sides)).bounds());
    costs.into_iter().map(|integrals| INTEGRAL_NS * u64::from(integrals)).collect()
}

/// A contraction of block-sparse tensors, at four operations a nanosecond.
pub fn tce(empty: u16, occupied: u16, seed: u64) -> Vec<u64> {
    let contraction = Contraction::new(empty, occupied, seed);
    contraction.roots().map(|product| contraction.cost(&product) / 4).collect()
}

/// Tasks like those of SCF: 60 % are empty, the sizes of the others are those of sixteen atoms in
/// a line, and workers differ, the first of 1,024 by a factor of about five from the mean. With
/// 1,000 tasks a worker a mean of 4.4 ms makes a phase of 4.4 s.
pub fn like_scf(workers: u32, tasks: u32, mean_ns: u64, seed: u64) -> Vec<u64> {
    let mut sizes = scf([16, 1, 1]);
    sizes.retain(|size| *size > 0);
    sizes.sort_unstable();
    let mut chance = Chance::new(seed);
    let mut costs = Vec::with_capacity(workers as usize * tasks as usize);
    for _ in 0..workers {
        let heavy = chance.exponential(1.0).min(6.0);
        let full = (0.4 * (0.5 + 0.5 * heavy)).min(1.0);
        for _ in 0..tasks {
            let place = chance.real().powf(1.0 / (0.4 + heavy).max(0.1));
            let size = sizes[(place * sizes.len() as f64) as usize];
            costs.push(if chance.happens(full) { size } else { 0 });
        }
    }
    let mean = costs.iter().sum::<u64>() as f64 / costs.len() as f64;
    let scale = mean_ns as f64 / mean;
    let filled = costs.iter().filter(|cost| **cost > 0).count() as f64;
    let most = 8.4 * mean_ns as f64 * costs.len() as f64 / filled;
    costs.iter().map(|cost| (*cost as f64 * scale).min(most) as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_tasks_are_like_those_of_scf() {
        let costs = like_scf(1024, 1000, 4_400_000, 1);
        let empty = costs.iter().filter(|cost| **cost == 0).count() as f64 / costs.len() as f64;
        assert!((0.55..0.65).contains(&empty), "{empty}");
        let listed = Listed::in_blocks(costs, 1024);
        let imbalance = listed.imbalance();
        assert!((3.5..6.5).contains(&imbalance), "{imbalance}");
    }

    #[test]
    fn each_task_has_one_owner_and_costs_change_a_little() {
        let listed =
            Listed::in_blocks(vec![1_000_000; 10], 3).assigned(&[2, 1, 0, 2, 1, 0, 2, 1, 0, 2]);
        assert_eq!(listed.owners(), [2, 1, 0, 2, 1, 0, 2, 1, 0, 2]);
        let changing = listed.changing(0.1, 0.01);
        for frame in changing.tasks(2, 0) {
            let cost = changing.cost_ns(&frame, 4);
            assert!((850_000..1_150_000).contains(&cost), "{cost}");
        }
    }
}
