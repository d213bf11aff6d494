//! What a graph would run, as `--dry-run` shows it.

use super::graph::Node;
use crate::Failure;
use crate::output;

/// Prints a line for each task: its name, those that it waits for, and its command.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(nodes: &[Node]) -> Result<(), Failure> {
    for node in nodes {
        let inputs: Vec<&str> = node.inputs.iter().map(|at| nodes[*at].name.as_str()).collect();
        let behind = if inputs.is_empty() {
            String::new()
        } else {
            format!(" (after {})", inputs.join(", "))
        };
        output::print(&format!("{}{behind}: {}\n", node.name, node.command.join(" ")))?;
    }
    Ok(())
}
