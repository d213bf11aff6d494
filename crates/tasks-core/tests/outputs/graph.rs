//! A graph, and what each of its tasks comes to.

use std::collections::BTreeMap;

use tidings_primitives::Chance;
use tidings_primitives::chance::mix;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Effect, Submission};
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::Retry;

/// A task of the graph.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) inputs: Vec<TaskId>,
    pub(crate) copies: u32,
    pub(crate) value: u64,
    has_child: bool,
}

/// All tasks, by id.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) tasks: BTreeMap<TaskId, Node>,
    order: Vec<TaskId>,
}

impl Graph {
    pub(crate) fn new(chance: &mut Chance) -> Self {
        let mut graph = Self::default();
        let most = [0, 1, 2, 4][chance.below(4)];
        for number in 0..6 + chance.below(24) as u64 {
            let id = TaskId::of("g", number);
            let mut inputs = Vec::new();
            for _ in 0..chance.below(most + 1) {
                // Those just before, mostly, so that chains are long.
                let most = if chance.happens(0.7) { 4 } else { 30 };
                let back = 1 + chance.below(most);
                let input = graph.order.len().checked_sub(back).map(|at| graph.order[at]);
                inputs.extend(input.filter(|input| !inputs.contains(input)));
            }
            let copies = [0, 1, 1, 1, 2, 3][chance.below(6)];
            let has_child = chance.happens(0.2);
            let value = graph.value(id, &inputs);
            graph.tasks.insert(id, Node { inputs, copies, value, has_child });
            graph.order.push(id);
        }
        graph
    }

    fn value(&self, id: TaskId, inputs: &[TaskId]) -> u64 {
        let own: u64 = id.to_string().bytes().map(u64::from).sum();
        combined(own, inputs.iter().map(|input| self.tasks[input].value))
    }

    pub(crate) fn submissions(&self) -> Vec<Submission> {
        let all = self.order.iter().map(|id| {
            let node = &self.tasks[id];
            let task = Submission::new(*id, "q", [1]);
            let retry = Retry { losses: 1_000, ..Retry::default() };
            let (inputs, copies) = (node.inputs.clone(), node.copies);
            Submission { need: Need::default(), retry, inputs, copies, ..task }
        });
        all.collect()
    }

    pub(crate) fn children(&self, id: TaskId) -> Vec<Submission> {
        let has_child = self.tasks.get(&id).is_some_and(|node| node.has_child);
        let retry = Retry { losses: 1_000, ..Retry::default() };
        let child = || Submission { retry, ..Submission::new(id.child(0), "q", [0]) };
        has_child.then(child).into_iter().collect()
    }

    pub(crate) fn effects(id: TaskId) -> Vec<Effect> {
        let (key, value) = (format!("of/{id}").into_bytes(), Some(vec![1].into()));
        vec![Effect { key, value, expect: None }]
    }

    pub(crate) fn inputs(&self, id: TaskId) -> Vec<TaskId> {
        self.tasks.get(&id).map_or_else(Vec::new, |node| node.inputs.clone())
    }

    /// A task, at random.
    pub(crate) fn pick(&self, chance: &mut Chance) -> TaskId {
        self.order[chance.below(self.order.len())]
    }
}

/// The value of a task that has read these.
pub(crate) fn combined(own: u64, inputs: impl Iterator<Item = u64>) -> u64 {
    inputs.fold(mix(own), |sum, input| mix(sum.rotate_left(9) ^ input))
}
