//! What was picked for work, or why nothing was.

use serde::{Deserialize, Serialize};

/// Nodes for work, the best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Picked {
    /// The policy that picked them.
    pub policy: String,
    /// Nodes that were considered: those that are alive, and not named in `avoid`.
    pub considered: usize,
    /// Names to avoid that no node has, at most 1,024: perhaps they are mistyped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub avoid_unknown: Vec<String>,
    /// The nodes.
    pub nodes: Vec<PickedNode>,
}

/// A node that was picked, as it was known before the pick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PickedNode {
    /// Its name.
    pub name: String,
    /// The age of its entry, in milliseconds.
    pub age_ms: f64,
    /// Its processors.
    pub cpus: f64,
    /// Those that were free, earlier picks taken off.
    pub free_cpus: f64,
    /// Memory that was free, earlier picks taken off, in bytes.
    pub mem_free_bytes: u64,
}

/// Why too few nodes could be picked, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shortfall {
    /// Nodes that were wanted.
    pub wanted: usize,
    /// Nodes that have what is needed.
    pub found: usize,
    /// Nodes that were considered.
    pub considered: usize,
    /// The needs that fail on some of them; none if there are simply too few nodes.
    pub lacks: Vec<Lack>,
}

/// A need that some nodes do not meet. A node may lack several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lack {
    /// The need: `cpus` or `mem_bytes`, as in the request.
    pub need: String,
    /// What was asked of each node.
    pub asked: f64,
    /// The most that any of the nodes with less has free.
    pub best: f64,
    /// By how much that node falls short: `asked` less `best`.
    pub short: f64,
    /// Nodes that have less than asked.
    pub nodes: usize,
}
