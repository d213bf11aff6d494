//! What a graph would run, as `--dry-run` shows it.

use super::graph::Graph;
use crate::Failure;
use crate::output;

/// Prints a line for each task: its name, those that it waits for, and its command.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(graph: &Graph) -> Result<(), Failure> {
    for node in (0..graph.len()).map(|place| graph.node(place)) {
        let inputs: Vec<String> = node.inputs.iter().map(|at| graph.name(*at)).collect();
        let behind = if inputs.is_empty() {
            String::new()
        } else {
            format!(" (after {})", inputs.join(", "))
        };
        output::print(&format!("{}{behind}: {}\n", node.name, node.command.join(" ")))?;
    }
    Ok(())
}
