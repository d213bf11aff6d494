//! A graph as people see it: at most some hundred nodes, of which each may stand for many tasks.
//!
//! A graph of more tasks is *folded*: tasks of one layer that are called the same but for a number
//! at the end, such as those of an array, are one node. What is still too much is left out, what
//! is on the critical path last, and counted.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::chains::Chains;
use super::vertex::Vertex;

/// The nodes that are shown, and the tasks that are not folded.
const MOST_NODES: usize = 500;

/// The edges that are shown beside those of the critical path.
const MOST_EDGES: usize = 4_000;

/// The hosts that are named of a node.
const MOST_HOSTS: usize = 8;

/// States, that which a node of several tasks is shown in first.
const STATES: [&str; 7] = ["failed", "running", "ready", "delayed", "waiting", "cancelled", "done"];

/// A graph, as JSON: docs/reference/tasks.md.
#[derive(Debug, PartialEq, Serialize)]
pub(in crate::tasks) struct GraphView {
    pub(super) queue: String,
    now_ms: u64,
    /// Tasks that were read.
    pub(super) tasks: usize,
    /// Whether there may be more of the queue.
    pub(super) more: bool,
    pub(super) layers: usize,
    pub(super) states: BTreeMap<&'static str, usize>,
    pub(super) nodes: Vec<NodeView>,
    pub(super) critical: PathView,
    pub(super) left_out: LeftOut,
}

/// A node: a task, or several of one layer.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct NodeView {
    pub(super) name: String,
    pub(super) layer: usize,
    pub(super) tasks: usize,
    /// The id, if it is one task.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    pub(super) state: &'static str,
    pub(super) states: BTreeMap<&'static str, usize>,
    /// The longest time that one of its tasks took, or has taken so far.
    pub(super) ms: u64,
    pub(super) critical: bool,
    /// Where its tasks run or were done.
    pub(super) hosts: Hosts,
    /// Which have outputs of it that stay on nodes.
    pub(super) lies: Hosts,
    /// How long these are.
    pub(super) bytes: u64,
    /// Tasks of it that were made again, or are.
    pub(super) again: usize,
    /// The nodes that it waits for, by their places.
    pub(super) inputs: Vec<usize>,
    /// Tasks that it waits for, of other queues, without records, or left out.
    inputs_elsewhere: usize,
}

/// Some hosts, of all that are meant.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Hosts {
    pub(super) names: Vec<String>,
    pub(super) total: usize,
}

/// The critical path.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct PathView {
    /// What its tasks took together, or have taken so far.
    pub(super) ms: u64,
    pub(super) tasks: Vec<StepView>,
}

/// A task of the critical path.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct StepView {
    task: String,
    pub(super) name: String,
    state: &'static str,
    ms: u64,
}

/// What is not shown.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct LeftOut {
    pub(super) nodes: usize,
    pub(super) tasks: usize,
    pub(super) edges: usize,
}

/// Tasks that are one node.
struct Node {
    members: Vec<usize>,
    critical: bool,
    inputs: BTreeSet<usize>,
}

/// The graph that these tasks of a queue are.
pub(super) fn of(queue: &str, now_ms: u64, all: &[Vertex], more: bool) -> GraphView {
    let chains = Chains::of(all);
    let (mut nodes, node_of) = nodes(all, &chains);
    let mut left_out = keep_most(&mut nodes);
    let places: BTreeMap<usize, usize> =
        nodes.iter().enumerate().map(|(place, (number, _))| (*number, place)).collect();
    let path: Vec<usize> = chains.critical.iter().map(|at| node_of[*at]).collect();
    let steps: BTreeSet<(usize, usize)> = path.windows(2).map(|pair| (pair[1], pair[0])).collect();
    let mut room = MOST_EDGES;
    let views = nodes.iter().map(|(number, node)| {
        let mut view = NodeView::of(node, all, &chains);
        for &input in &node.inputs {
            match places.get(&input) {
                None => view.inputs_elsewhere += 1,
                Some(place) if steps.contains(&(*number, input)) => view.inputs.push(*place),
                Some(place) if room > 0 => {
                    room -= 1;
                    view.inputs.push(*place);
                }
                Some(_) => left_out.edges += 1,
            }
        }
        view
    });
    let nodes = views.collect();
    let everything: Vec<usize> = (0..all.len()).collect();
    GraphView {
        queue: queue.to_owned(),
        now_ms,
        tasks: all.len(),
        more,
        layers: chains.layers(),
        states: states(&everything, all),
        nodes,
        critical: PathView::of(&chains.critical, all),
        left_out,
    }
}

/// The nodes, by layer and else as the tasks are ordered; and that of each task.
fn nodes(all: &[Vertex], chains: &Chains) -> (Vec<(usize, Node)>, Vec<usize>) {
    let is_folded = all.len() > MOST_NODES;
    let mut by_layer = chains.order.clone();
    by_layer.sort_by_key(|at| chains.layer[*at]);
    let (mut nodes, mut node_of) = (Vec::<(usize, Node)>::new(), vec![0; all.len()]);
    let mut known: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for at in by_layer {
        let new = nodes.len();
        let number = if is_folded {
            *known.entry((chains.layer[at], stem(&all[at].name))).or_insert(new)
        } else {
            new
        };
        if number == new {
            let (members, inputs) = (Vec::new(), BTreeSet::new());
            nodes.push((number, Node { members, critical: false, inputs }));
        }
        node_of[at] = number;
        let node = &mut nodes[number].1;
        node.members.push(at);
        // What it waits for is in earlier layers, so it has a node already.
        node.inputs.extend(chains.inputs[at].iter().map(|input| node_of[*input]));
    }
    for at in &chains.critical {
        nodes[node_of[*at]].1.critical = true;
    }
    (nodes, node_of)
}

/// A name without a number behind its last dot.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => stem,
        _ => name,
    }
}

/// Leaves out what is too much.
fn keep_most(nodes: &mut Vec<(usize, Node)>) -> LeftOut {
    if nodes.len() <= MOST_NODES {
        return LeftOut::default();
    }
    nodes.sort_unstable_by_key(|(number, node)| (!node.critical, *number));
    let rest = nodes.split_off(MOST_NODES);
    nodes.sort_unstable_by_key(|(number, _)| *number);
    let tasks = rest.iter().map(|(_, node)| node.members.len()).sum();
    LeftOut { nodes: rest.len(), tasks, edges: 0 }
}

fn states(members: &[usize], all: &[Vertex]) -> BTreeMap<&'static str, usize> {
    let mut states = BTreeMap::new();
    for at in members {
        *states.entry(all[*at].state).or_default() += 1;
    }
    states
}

impl NodeView {
    fn of(node: &Node, all: &[Vertex], chains: &Chains) -> Self {
        let first = node.members[0];
        let members = || node.members.iter().map(|at| &all[*at]);
        let is_one = node.members.len() == 1;
        let name = if is_one { &all[first].name } else { stem(&all[first].name) };
        let states = states(&node.members, all);
        Self {
            name: name.to_owned(),
            layer: chains.layer[first],
            tasks: node.members.len(),
            task: is_one.then(|| all[first].id.to_string()),
            state: STATES.into_iter().find(|state| states.contains_key(state)).unwrap_or_default(),
            states,
            ms: members().map(|one| one.ms).max().unwrap_or_default(),
            critical: node.critical,
            hosts: Hosts::of(members().filter_map(|one| one.host.as_deref())),
            lies: Hosts::of(members().flat_map(|one| &one.lies).map(String::as_str)),
            bytes: members().map(|one| one.bytes).fold(0, u64::saturating_add),
            again: members().filter(|one| one.is_again).count(),
            inputs: Vec::new(),
            inputs_elsewhere: node.members.iter().map(|at| chains.elsewhere[*at]).sum(),
        }
    }
}

impl Hosts {
    fn of<'h>(hosts: impl Iterator<Item = &'h str>) -> Self {
        let all: BTreeSet<&str> = hosts.collect();
        let names = all.iter().take(MOST_HOSTS).map(|name| (*name).to_owned());
        Self { names: names.collect(), total: all.len() }
    }
}

impl PathView {
    fn of(critical: &[usize], all: &[Vertex]) -> Self {
        let step = |at: &usize| StepView {
            task: all[*at].id.to_string(),
            name: all[*at].name.clone(),
            state: all[*at].state,
            ms: all[*at].ms,
        };
        let tasks: Vec<StepView> = critical.iter().map(step).collect();
        Self { ms: tasks.iter().map(|step| step.ms).fold(0, u64::saturating_add), tasks }
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::id::TaskId;

    use super::*;

    fn id(name: &str) -> TaskId {
        TaskId::of(name, 0)
    }

    fn vertex(name: &str, ms: u64, inputs: &[&str]) -> Vertex {
        let inputs = inputs.iter().copied().map(id).collect();
        Vertex { inputs, ..Vertex::plain(id(name), name, ms) }
    }

    /// A diamond: one side is longer; its output lies on two nodes, and was made again.
    fn diamond() -> Vec<Vertex> {
        let odd = Vertex {
            lies: vec!["n2".to_owned(), "n1".to_owned()],
            bytes: 70_000,
            is_again: true,
            ..vertex("odd", 900, &["all"])
        };
        let sum = Vertex { state: "waiting", host: None, ..vertex("sum", 0, &["odd", "even"]) };
        let even = Vertex { state: "running", ..vertex("even", 300, &["all", "of another queue"]) };
        vec![sum, odd, even, vertex("all", 100, &[])]
    }

    #[test]
    fn a_graph_is_written_as_before() {
        let view = of("run/g", 5_000, &diamond(), false);
        let written = serde_json::to_string_pretty(&view).unwrap() + "\n";
        assert_eq!(written, include_str!("graph.json"));
    }

    #[test]
    fn arrays_are_one_node_a_layer_in_a_large_graph() {
        let mut all = vec![vertex("first", 1, &[])];
        all.extend((1..=600).map(|at| vertex(&format!("fit.{at}"), at, &["first"])));
        all[17].state = "failed";
        all.push(vertex("last", 1, &["fit.3", "fit.600"]));
        let view = of("q", 0, &all, false);
        let nodes: Vec<_> = view.nodes.iter().map(|node| (&*node.name, node.tasks)).collect();
        assert_eq!(nodes, [("first", 1), ("fit", 600), ("last", 1)]);
        assert_eq!((view.nodes[1].state, view.nodes[1].ms), ("failed", 600));
        assert_eq!(view.nodes[2].inputs, [1]);
        assert!(view.nodes.iter().all(|node| node.critical));
        let path: Vec<&str> = view.critical.tasks.iter().map(|step| &*step.name).collect();
        assert_eq!((view.critical.ms, path), (602, vec!["first", "fit.600", "last"]));
        assert_eq!(view.left_out, LeftOut::default());
    }

    /// 2,000 tasks of different names in pairs, of which one chain is the longest.
    #[test]
    fn what_is_too_much_is_counted_and_the_critical_path_stays() {
        let name = |at: usize| format!("t{at}x");
        let all: Vec<Vertex> = (0..2_000)
            .map(|at| match at {
                0..400 if at > 0 => vertex(&name(at), 9, &[&name(at - 1)]),
                _ => vertex(&name(at), 9, &[]),
            })
            .collect();
        let view = of("q", 0, &all, true);
        assert_eq!((view.nodes.len(), view.critical.tasks.len(), view.layers), (500, 400, 400));
        assert_eq!(view.nodes.iter().filter(|node| node.critical).count(), 400);
        assert_eq!(view.left_out, LeftOut { nodes: 1_500, tasks: 1_500, edges: 0 });
    }

    #[test]
    fn edges_are_bounded_and_those_of_the_critical_path_stay() {
        let first: Vec<String> = (0..200).map(|at| format!("a{at}x")).collect();
        let inputs: Vec<&str> = first.iter().map(String::as_str).collect();
        let mut all: Vec<Vertex> = inputs.iter().map(|name| vertex(name, 1, &[])).collect();
        all.extend((0..100).map(|at| vertex(&format!("b{at}x"), at, &inputs)));
        let view = of("q", 0, &all, false);
        let shown: usize = view.nodes.iter().map(|node| node.inputs.len()).sum();
        assert_eq!(shown + view.left_out.edges, 20_000);
        let last = view.nodes.iter().find(|node| node.name == "b99x").unwrap();
        assert!(last.critical && last.inputs.len() == 1, "{last:?}");
        assert!(view.nodes[last.inputs[0]].critical);
    }

    #[test]
    fn a_number_behind_the_last_dot_is_no_part_of_a_stem() {
        assert_eq!([stem("fit.12"), stem("a.b"), stem("fit")], ["fit", "a.b", "fit"]);
    }
}
