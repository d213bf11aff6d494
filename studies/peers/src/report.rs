//! What each program prints: one JSON object on one line.

use serde::{Deserialize, Serialize};

/// The outcome of one run. CPU and memory include the harness.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The peer.
    pub peer: String,
    /// How it was set.
    pub variant: String,
    /// Nodes in the process.
    pub nodes: usize,
    /// The unit of time, in milliseconds.
    pub interval_ms: f64,
    /// Seconds before measuring began.
    pub warmup_s: f64,
    /// Seconds measured.
    pub measured_s: f64,
    /// Pairs looked at, times looks.
    pub looks: u64,
    /// Share of pairs of which nothing was known.
    pub missing_share: f64,
    /// Average age over ordered pairs of distinct nodes, in units.
    pub age_avg_units: f64,
    /// The age that 99 % of them stay under, in units.
    pub age_p99_units: f64,
    /// The oldest seen, in units.
    pub age_max_units: f64,
    /// Bytes of UDP payload that a node sends in a second.
    pub bytes_per_node_s: f64,
    /// Datagrams that a node sends in a second.
    pub datagrams_per_node_s: f64,
    /// CPU seconds in a second, a node.
    pub cpu_s_per_node_s: f64,
    /// How many of these seconds went into looking at the pictures.
    pub looking_s_per_node_s: f64,
    /// Resident memory that the nodes added, in KiB a node.
    pub resident_kib_per_node: f64,
    /// The machine's load of the minute before.
    pub load_1m: f64,
}
