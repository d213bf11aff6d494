//! A graph on a terminal: a row a node, layer by layer, and the critical path.

use tidings_nodes::units::Unit;

use super::view::{GraphView, Hosts, NodeView};
use crate::table::{self, Align};

/// The names that are listed of the inputs of a node, and of the critical path.
const MOST_INPUTS: usize = 4;
const MOST_STEPS: usize = 40;

/// The graph as lines.
pub(in crate::tasks) fn of(graph: &GraphView) -> String {
    let headings = [
        ("", Align::Left),
        ("layer", Align::Right),
        ("task", Align::Left),
        ("state", Align::Left),
        ("time", Align::Right),
        ("ran on", Align::Left),
        ("output on", Align::Left),
        ("waits for", Align::Left),
    ];
    let rows: Vec<Vec<String>> = graph.nodes.iter().map(|node| row(node, graph)).collect();
    let head = format!(
        "{}: {} tasks in {} layers: {}\n",
        table::one_line(&graph.queue),
        graph.tasks,
        graph.layers,
        counts(graph.states.iter())
    );
    format!("{head}{}{}{}", table::render(&headings, &rows), path(graph), left_out(graph))
}

fn row(node: &NodeView, graph: &GraphView) -> Vec<String> {
    let (name, state) = match node.tasks {
        1 => (node.name.clone(), node.state.to_owned()),
        tasks => (format!("{} ({tasks} tasks)", node.name), counts(node.states.iter())),
    };
    let again = match node.again {
        0 => String::new(),
        _ if node.tasks == 1 => " (made again)".to_owned(),
        again => format!(" ({again} made again)"),
    };
    let lies = match node.bytes {
        0 => "-".to_owned(),
        bytes => format!("{} ({})", hosts(&node.lies), Unit::Bytes.humanise(bytes as f64)),
    };
    let inputs = node.inputs.iter().map(|at| graph.nodes[*at].name.as_str());
    vec![
        if node.critical { "*" } else { "" }.to_owned(),
        node.layer.to_string(),
        name,
        format!("{state}{again}"),
        if node.ms == 0 { "-".to_owned() } else { time(node.ms) },
        hosts(&node.hosts),
        lies,
        some(inputs, MOST_INPUTS, ", "),
    ]
}

fn time(ms: u64) -> String {
    Unit::Milliseconds.humanise(ms as f64)
}

fn counts<'s>(states: impl Iterator<Item = (&'s &'static str, &'s usize)>) -> String {
    states.map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

fn hosts(hosts: &Hosts) -> String {
    match hosts.total - hosts.names.len() {
        _ if hosts.total == 0 => "-".to_owned(),
        0 => hosts.names.join(", "),
        more => format!("{} and {more} more", hosts.names.join(", ")),
    }
}

/// The first of some names.
fn some<'n>(names: impl Iterator<Item = &'n str>, most: usize, between: &str) -> String {
    let names: Vec<&str> = names.collect();
    let (first, rest) = names.split_at(names.len().min(most));
    match rest.len() {
        _ if names.is_empty() => "-".to_owned(),
        0 => first.join(between),
        more => format!("{}{between}… and {more} more", first.join(between)),
    }
}

fn path(graph: &GraphView) -> String {
    let steps = graph.critical.tasks.iter().map(|step| step.name.as_str());
    let names = table::one_line(&some(steps, MOST_STEPS, " > "));
    let (ms, tasks) = (graph.critical.ms, graph.critical.tasks.len());
    format!("* critical path, {} in {tasks} tasks: {names}\n", time(ms))
}

fn left_out(graph: &GraphView) -> String {
    let left = &graph.left_out;
    let more = graph
        .more
        .then(|| format!("Only the first {} tasks were read: others are left out.\n", graph.tasks));
    let nodes = (left.nodes > 0)
        .then(|| format!("Left out: {} nodes with {} tasks.\n", left.nodes, left.tasks));
    let edges =
        (left.edges > 0).then(|| format!("Left out: {} of what nodes wait for.\n", left.edges));
    [more, nodes, edges].into_iter().flatten().collect()
}
