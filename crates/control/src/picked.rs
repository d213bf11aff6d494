//! What was picked for work.

use serde::{Deserialize, Serialize};

/// Nodes for work, the best first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Picked {
    /// By which policy.
    pub policy: String,
    /// Nodes that were considered: those that are alive, and not to be avoided.
    pub considered: usize,
    /// The nodes.
    pub nodes: Vec<PickedNode>,
}

/// A node that was picked, as it was known before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PickedNode {
    /// Its name.
    pub name: String,
    /// How old the news of it is, in milliseconds.
    pub age_ms: f64,
    /// Its processors.
    pub cpus: f64,
    /// Those that were free, earlier picks taken off.
    pub free_cpus: f64,
    /// Memory that was free, earlier picks taken off, in bytes.
    pub mem_free_bytes: u64,
}
