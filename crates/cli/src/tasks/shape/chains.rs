//! Layers of a graph, and its critical path.
//!
//! The layer of a task is one more than the last of those that it waits for, so each edge goes from
//! an earlier to a later one. The *critical path* is the chain of tasks, each waiting for the one
//! before, whose times add up to the most: no number of workers makes the graph faster than that.
//! Of chains that are equal in time, such as before anything has run, it is one of most tasks.
//!
//! Source: J. E. Kelley and M. R. Walker, Critical-path planning and scheduling, 1959.

use std::collections::BTreeMap;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::topology;

use super::vertex::Vertex;

/// What waits for what, by places in the list of tasks.
pub(super) struct Chains {
    /// Each place, behind those that it waits for.
    pub(super) order: Vec<usize>,
    pub(super) inputs: Vec<Vec<usize>>,
    /// How many more inputs each has, that are not in the list.
    pub(super) elsewhere: Vec<usize>,
    pub(super) layer: Vec<usize>,
    /// The places of the critical path, the first task first.
    pub(super) critical: Vec<usize>,
}

/// What a chain up to a task comes to.
#[derive(Clone, Copy, Default)]
struct Chain {
    ms: u64,
    tasks: u64,
    /// The task before.
    from: Option<usize>,
}

impl Chains {
    pub(super) fn of(all: &[Vertex]) -> Self {
        let places: BTreeMap<TaskId, usize> =
            all.iter().enumerate().map(|(at, vertex)| (vertex.id, at)).collect();
        let known = |vertex: &Vertex| {
            vertex.inputs.iter().filter_map(|id| places.get(id).copied()).collect()
        };
        let mut inputs: Vec<Vec<usize>> = all.iter().map(known).collect();
        let order = loop {
            match topology::order(all.len(), |at| inputs[at].iter().copied()) {
                Ok(order) => break order,
                // No coordinator adds a circle; a store that has one is shown without it.
                Err(circle) => circle.into_iter().for_each(|at| inputs[at].clear()),
            }
        };
        let elsewhere =
            all.iter().zip(&inputs).map(|(vertex, own)| vertex.inputs.len() - own.len());
        let elsewhere = elsewhere.collect();
        let mut layer = vec![0; all.len()];
        let mut chain = vec![Chain::default(); all.len()];
        for &at in &order {
            layer[at] = inputs[at].iter().map(|input| layer[*input] + 1).max().unwrap_or(0);
            chain[at] = chain_to(all[at].ms, &inputs[at], &chain);
        }
        let critical = critical(&order, &chain);
        Self { order, inputs, elsewhere, layer, critical }
    }

    pub(super) fn layers(&self) -> usize {
        self.layer.iter().max().map_or(0, |last| last + 1)
    }
}

/// The longest chain that ends with a task which takes so long, of those of its inputs.
fn chain_to(ms: u64, inputs: &[usize], chain: &[Chain]) -> Chain {
    let weight = |at: &&usize| (chain[**at].ms, chain[**at].tasks);
    let from = inputs.iter().rev().max_by_key(weight).copied();
    let before = from.map(|at| chain[at]).unwrap_or_default();
    Chain { ms: before.ms.saturating_add(ms), tasks: before.tasks + 1, from }
}

fn critical(order: &[usize], chain: &[Chain]) -> Vec<usize> {
    let weight = |at: &&usize| (chain[**at].ms, chain[**at].tasks);
    let last = order.iter().rev().max_by_key(weight).copied();
    let mut path: Vec<usize> = core::iter::successors(last, |at: &usize| chain[*at].from).collect();
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Tasks that take so long and wait for those of smaller number, in any order in the list.
    fn all(tasks: &[(u64, Vec<usize>)]) -> Vec<Vertex> {
        let id = |at: usize| TaskId::of(&at.to_string(), 0);
        let vertex = |(at, (ms, inputs)): (usize, &(u64, Vec<usize>))| Vertex {
            inputs: inputs.iter().map(|input| id(*input)).collect(),
            ..Vertex::plain(id(at), &at.to_string(), *ms)
        };
        tasks.iter().enumerate().map(vertex).collect()
    }

    /// The longest chain up to a task, by looking at all of them.
    fn longest(tasks: &[(u64, Vec<usize>)], at: usize) -> (u64, u64) {
        let (ms, inputs) = &tasks[at];
        let before = inputs.iter().map(|input| longest(tasks, *input)).max();
        let (ms_before, tasks_before) = before.unwrap_or_default();
        (ms + ms_before, 1 + tasks_before)
    }

    proptest! {
        #[test]
        fn the_critical_path_is_the_longest_chain(
            drawn in vec((0..50_u64, vec(any::<usize>(), 0..4)), 1..10)
        ) {
            let task = |(at, (ms, raw)): (usize, (u64, Vec<usize>))| {
                let before = raw.into_iter().filter(|_| at > 0);
                (ms, before.map(|one| one % at).collect())
            };
            let tasks: Vec<(u64, Vec<usize>)> =
                drawn.into_iter().enumerate().map(task).collect();
            let chains = Chains::of(&all(&tasks));
            let path = &chains.critical;
            prop_assert!(path.windows(2).all(|pair| tasks[pair[1]].1.contains(&pair[0])));
            let ms: u64 = path.iter().map(|at| tasks[*at].0).sum();
            let most = (0..tasks.len()).map(|at| longest(&tasks, at)).max().unwrap();
            prop_assert_eq!((ms, path.len() as u64), most);
            for (at, (_, inputs)) in tasks.iter().enumerate() {
                prop_assert!(inputs.iter().all(|input| chains.layer[*input] < chains.layer[at]));
            }
        }
    }

    #[test]
    fn a_circle_is_left_out_and_inputs_elsewhere_are_counted() {
        let mut circle = all(&[(1, vec![1]), (1, vec![0]), (1, vec![0, 7])]);
        let chains = Chains::of(&circle);
        assert_eq!((chains.order.len(), chains.elsewhere), (3, vec![1, 1, 1]));
        circle.clear();
        assert_eq!(Chains::of(&circle).layers(), 0);
    }
}
