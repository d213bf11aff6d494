//! Persistence: iterations that begin with what the hierarchical balancer makes of the costs of the
//! last.

use crate::programs::Program;
use crate::programs::listed::Listed;
use crate::{Iteration as Report, Setting, run};
use tidings_steal::balance::{Hierarchy, hierarchical};
use tidings_steal::{Done, Frame};

/// Costs are in nanoseconds: a millisecond a bin.
const HIERARCHY: Hierarchy = Hierarchy { bin: 1_000_000, ..Hierarchy::PAPER };

/// A list in one of its iterations.
struct Iteration<'a> {
    list: &'a mut Listed,
    number: u32,
}

impl Program for Iteration<'_> {
    fn tasks(&self, worker: u32, _iteration: u32) -> Vec<Frame> {
        self.list.tasks(worker, self.number)
    }

    fn cost_ns(&self, frame: &Frame, _iteration: u32) -> i64 {
        self.list.cost_ns(frame, self.number)
    }

    fn run(&mut self, frame: &Frame, spawn: &mut dyn FnMut(Frame)) -> Done {
        self.list.run(frame, spawn)
    }

    fn number(&self, frame: &Frame) -> Option<usize> {
        self.list.number(frame)
    }

    fn listed(&self) -> usize {
        self.list.listed()
    }
}

/// The list with tasks assigned by what they took in an iteration, and how many move.
fn balanced(list: Listed, iteration: u32, workers: u32) -> (Listed, usize) {
    let lists: Vec<Vec<Frame>> = (0..workers).map(|own| list.tasks(own, iteration)).collect();
    let cost = |frame: &Frame| list.cost_ns(frame, iteration) as u64;
    let costs: Vec<Vec<u64>> = lists.iter().map(|own| own.iter().map(cost).collect()).collect();
    let plan = hierarchical(&costs, &HIERARCHY);
    let mut owners = list.owners();
    for step in &plan.moves {
        let frame = &lists[step.from as usize][step.task as usize];
        let task = list.number(frame).expect("all tasks are those of the list");
        owners[task] = step.to;
    }
    (list.assigned(&owners), plan.moves.len())
}

/// All iterations, each with how many tasks were moved before it: the first begins with what the
/// program gives.
pub fn iterations(setting: &Setting, list: Listed) -> Vec<(Report, usize)> {
    let (mut list, mut rows) = (list, Vec::new());
    for number in 0..setting.iterations {
        let mut balanced_tasks = 0;
        if number > 0 {
            (list, balanced_tasks) = balanced(list, number - 1, setting.workers);
        }
        let one = Setting { iterations: 1, ..setting.clone() };
        let mut program = Iteration { list: &mut list, number };
        let iteration = run(&one, &mut program).remove(0);
        rows.push((iteration, balanced_tasks));
    }
    rows
}
