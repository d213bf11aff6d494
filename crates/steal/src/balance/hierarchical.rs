//! Only what exceeds the average, up a tree of workers and down again: all of it at one place.
//!
//! Ranks do each their own part ([`Branch`]); here a plan says where all tasks would go, and what
//! finding it would take.

use super::{Branch, Given, Hierarchy, Move, Plan, Risen};

/// Moves what exceeds the average.
///
/// # Panics
/// If the arity or the bin is 0.
pub fn hierarchical(costs: &[Vec<u64>], hierarchy: &Hierarchy) -> Plan {
    let sum: u64 = costs.iter().flatten().sum();
    let average = sum as f64 / costs.len().max(1) as f64;
    let workers = costs.len() as u32;
    let mut branches: Vec<Branch<u32>> =
        (0..workers).map(|worker| Branch::new(hierarchy, worker, average)).collect();
    let risen = go_up(&mut branches, costs, hierarchy);
    let steps = go_down(&mut branches, &risen, hierarchy);
    let mut moves: Vec<Move> = (0..).zip(branches).flat_map(|(to, own)| moves(to, own)).collect();
    moves.sort_unstable();
    Plan { moves, steps, messages: 4 * u64::from(workers).saturating_sub(1) }
}

/// What has come to a worker.
fn moves(to: u32, branch: Branch<u32>) -> impl Iterator<Item = Move> {
    let comes = branch.held().into_iter().filter(move |given| given.from != to);
    comes.map(move |given| Move { from: given.from, task: given.task, to })
}

/// All have said what they have; the steps until each has, with those that it waits for.
fn go_up(branches: &mut [Branch<u32>], costs: &[Vec<u64>], hierarchy: &Hierarchy) -> Vec<u64> {
    let workers = branches.len() as u32;
    let mut risen: Vec<Option<Risen<u32>>> = costs.iter().map(|_| None).collect();
    let mut steps = vec![0; costs.len()];
    for worker in (0..workers).rev() {
        let costs = &costs[worker as usize];
        let below = hierarchy.below(worker, workers);
        let waited = below.clone().map(|below| steps[below as usize]).max().unwrap_or(0);
        let from_below = below.filter_map(|below| risen[below as usize].take()).collect();
        let task = |(task, cost): (u32, &u64)| Given { cost: *cost, from: worker, task };
        let branch = &mut branches[worker as usize];
        risen[worker as usize] =
            Some(branch.rise((0..).zip(costs).map(task).collect(), from_below));
        steps[worker as usize] = waited + branch.steps();
    }
    steps
}

/// All have what they are to have; the steps until the last one has.
fn go_down(branches: &mut [Branch<u32>], risen: &[u64], hierarchy: &Hierarchy) -> u64 {
    let workers = branches.len() as u32;
    let mut handed: Vec<Vec<Given<u32>>> = branches.iter().map(|_| Vec::new()).collect();
    let mut steps = risen.to_vec();
    for worker in 0..branches.len() {
        let branch = &mut branches[worker];
        let before = branch.steps();
        let down = branch.fall(core::mem::take(&mut handed[worker]));
        steps[worker] += branch.steps() - before;
        for (below, tasks) in hierarchy.below(worker as u32, workers).zip(down) {
            handed[below as usize] = tasks;
            steps[below as usize] = steps[worker];
        }
    }
    steps.into_iter().max().unwrap_or(0)
}
