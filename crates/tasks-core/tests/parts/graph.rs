//! Graphs whose tasks lie in several parts, and how each of them must end.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::Chance;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::message::Submission;
use tidings_tasks_core::retry::Retry;

/// A task of the graph.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) part: Part,
    pub(crate) inputs: Vec<TaskId>,
    /// Whether each try of it fails.
    pub(crate) fails: bool,
}

/// A graph, its tasks in an order in which inputs come first.
pub(crate) struct Graph {
    pub(crate) order: Vec<TaskId>,
    pub(crate) nodes: BTreeMap<TaskId, Node>,
}

impl Graph {
    pub(crate) fn new(chance: &mut Chance, parts: u16) -> Self {
        let count = 8 + chance.below(30);
        let order: Vec<TaskId> = (0..count as u64).map(|at| TaskId::of("t", at)).collect();
        let failing = [0.0, 0.03, 0.1][chance.below(3)];
        let mut nodes = BTreeMap::new();
        for (at, id) in order.iter().enumerate() {
            let mut inputs = BTreeSet::new();
            for _ in 0..chance.below(4).min(at) {
                inputs.insert(order[chance.below(at)]);
            }
            let part = Part(chance.below(usize::from(parts)) as u16);
            let (inputs, fails) = (inputs.into_iter().collect(), chance.happens(failing));
            nodes.insert(*id, Node { part, inputs, fails });
        }
        Self { order, nodes }
    }

    pub(crate) fn submission(&self, id: TaskId) -> Submission {
        let inputs = self.nodes[&id].inputs.clone();
        let retry = Retry { losses: 1_000, ..Retry::default() };
        Submission { inputs, retry, ..Submission::new(id, "q", [7; 10]) }
    }

    /// The oracle: whether a task is done in the end.
    pub(crate) fn is_done(&self, id: TaskId) -> bool {
        let node = &self.nodes[&id];
        !node.fails && node.inputs.iter().all(|input| self.is_done(*input))
    }

    /// The inputs of a task that are in other parts.
    pub(crate) fn across(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let node = &self.nodes[&id];
        let is_other = |input: &TaskId| self.nodes[input].part != node.part;
        node.inputs.iter().copied().filter(is_other)
    }
}
