//! The oracle: it knows the graph, where everything lies and who has read what, and says which
//! tasks have to be done again.

use std::collections::BTreeSet;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::record::{Finished, State};

use crate::checked::Checked;
use crate::graph::Graph;
use crate::node::Node;

/// Whether no node that is up has an output.
pub(crate) fn is_lost(nodes: &[Node], id: TaskId, finished: &Finished) -> bool {
    let Some(kept) = &finished.kept else { return false };
    let has = |node: &&Node| node.is_up && node.content.contains_key(&id);
    !nodes.iter().filter(has).any(|node| kept.depots.contains(&node.depot()))
}

/// Whether a task that has not ended has still to read an output.
pub(crate) fn is_needed(store: &Checked, graph: &Graph, nodes: &[Node], id: TaskId) -> bool {
    let reads = |reader: &&TaskId| graph.tasks[*reader].inputs.contains(&id);
    graph.tasks.keys().filter(reads).any(|reader| {
        let Some(task) = store.live(*reader) else { return false };
        let State::Running(running) = &task.state else { return true };
        let by = nodes.iter().find(|node| node.is_up && node.name == running.worker);
        let hand = by.and_then(|node| node.hand.get(&(*reader, task.attempt)));
        let at = task.inputs.iter().position(|input| *input == id);
        hand.is_none_or(|hand| at.is_some_and(|at| at >= hand.read.len()))
    })
}

/// The tasks that are done and have to be done again.
pub(crate) fn all(store: &Checked, graph: &Graph, nodes: &[Node]) -> BTreeSet<TaskId> {
    let lost =
        |id: &TaskId| store.finished(*id).is_some_and(|finished| is_lost(nodes, *id, &finished));
    let mut again = BTreeSet::new();
    let mut next: Vec<TaskId> = graph.tasks.keys().copied().filter(lost).collect();
    next.retain(|id| is_needed(store, graph, nodes, *id));
    while let Some(id) = next.pop() {
        if again.insert(id) {
            next.extend(graph.tasks[&id].inputs.iter().copied().filter(lost));
        }
    }
    again
}
