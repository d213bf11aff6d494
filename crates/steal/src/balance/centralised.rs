//! All tasks at one worker, the most expensive first to the least loaded.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Move, Plan, heap_steps};

/// Deals all tasks out anew. Of workers with equal loads the one that has the task gets it.
pub fn centralised(costs: &[Vec<u64>]) -> Plan {
    let mut tasks: Vec<(u64, u32, u32)> = Vec::new();
    for (worker, own) in (0..).zip(costs) {
        tasks.extend((0..).zip(own).map(|(task, cost)| (*cost, worker, task)));
    }
    tasks.sort_unstable_by_key(|(cost, worker, task)| (Reverse(*cost), *worker, *task));
    let mut loads: BinaryHeap<Reverse<(u64, u32)>> =
        (0..costs.len() as u32).map(|worker| Reverse((0, worker))).collect();
    let mut moves = Vec::new();
    for (cost, from, task) in &tasks {
        let Some(mut least) = loads.peek_mut() else { break };
        let Reverse((load, to)) = *least;
        *least = Reverse((load + cost, to));
        if to != *from {
            moves.push(Move { from: *from, task: *task, to });
        }
    }
    moves.sort_unstable();
    let each = 1 + heap_steps(tasks.len()) + heap_steps(costs.len());
    let messages = 2 * (costs.len() as u64).saturating_sub(1);
    Plan { moves, steps: tasks.len() as u64 * each, messages }
}
