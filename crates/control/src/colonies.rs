//! What an agent answers about colonies: what each is like as a whole, and all together.
//!
//! A reading that no node of a colony has is left out, never a zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What every colony is like, as one node sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_field_names,
    reason = "the JSON name of the list, `.colonies[]` to its readers"
)]
pub struct Colonies {
    /// The cluster's name.
    pub cluster: String,
    /// The name of the node whose picture this is.
    pub observer: String,
    /// Its colony; `None` in a cluster without colonies, which is then the only line.
    pub colony: Option<u32>,
    /// One unit of time, in milliseconds.
    pub interval_ms: f64,
    /// One report a colony known, the observer's own included, in the order of their numbers.
    pub colonies: Vec<ColonyReport>,
    /// Colonies in the total: those whose aggregate is younger than the agent's `forget_after`.
    pub total_colonies: usize,
    /// All of these together.
    pub total: AggregateReport,
}

/// What is known of one colony.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ColonyReport {
    /// Its number; `None` for a cluster without colonies.
    pub colony: Option<u32>,
    /// How long ago the aggregate was made, in milliseconds; 0 for the observer's own colony,
    /// `None` while there is none.
    pub age_ms: Option<f64>,
    /// What it is like; `None` while nothing has been heard of it.
    pub aggregate: Option<AggregateReport>,
}

/// What a set of nodes is like as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AggregateReport {
    /// Nodes, whatever their state.
    pub nodes: u32,
    /// Alive, with an entry younger than 64 units: only these count below.
    pub fresh: u32,
    /// Alive, with an older entry.
    pub stale: u32,
    /// Nodes that left.
    pub left: u32,
    /// Nodes that were declared dead; a colony whose nodes run version 0.1 counts them in `left`.
    pub dead: u32,
    /// Nodes of which no entry has come.
    pub unheard: u32,
    /// Average age of the entries when the aggregate was made, in milliseconds.
    pub age_avg_ms: Option<f64>,
    /// Age of the oldest entry then, in milliseconds.
    pub age_max_ms: Option<f64>,
    /// Readings by name, each in the unit that its name ends with; those that no node has are left
    /// out.
    pub readings: BTreeMap<String, ReadingReport>,
}

/// One reading over the fresh nodes that have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadingReport {
    /// Nodes that have it.
    pub nodes: u32,
    /// The sum over these nodes, exact.
    pub sum: f64,
    /// The smallest, exact.
    pub min: f64,
    /// The mean, exact.
    pub mean: f64,
    /// An estimate of the median: off by at most a sixteenth of the bins' codes.
    pub p50: f64,
    /// The same of the 90th percentile.
    pub p90: f64,
    /// The same of the 99th percentile.
    pub p99: f64,
    /// The largest, exact.
    pub max: f64,
    /// Nodes by value, in at most 32 bins in ascending order; only in a total.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<BinReport>,
}

/// How many readings lie from one value to another, both included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BinReport {
    /// The smallest value it can hold.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Nodes in it.
    pub nodes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_null_and_a_histogram_only_where_there_is_one() {
        let reading = ReadingReport { nodes: 2, sum: 3.0, ..Default::default() };
        let readings = [("load1".to_owned(), reading)].into();
        let aggregate = Some(AggregateReport { nodes: 2, readings, ..Default::default() });
        let known = ColonyReport { colony: Some(3), age_ms: Some(20.0), aggregate };
        let text = serde_json::to_string(&known).expect("serialises");
        assert!(text.contains(r#""age_avg_ms":null"#) && !text.contains("histogram"), "{text}");
        assert_eq!(serde_json::from_str::<ColonyReport>(&text).expect("parses"), known);
        let unheard = serde_json::to_string(&ColonyReport::default()).expect("serialises");
        assert_eq!(unheard, r#"{"colony":null,"age_ms":null,"aggregate":null}"#);
    }
}
