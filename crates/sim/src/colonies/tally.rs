//! What a colony adds to the figures: ages and traffic, in whole numbers.
//!
//! Whole numbers give the same sum in any order, so colonies can be added up as they are finished.

use super::ages::Ages;
use super::death_times::DeathTimes;
use crate::chance::mix;

/// What was sent in the measured units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Datagrams of all kinds.
    pub datagrams: u64,
    /// Bytes of UDP payload.
    pub bytes: u64,
    /// Calls of other colonies.
    pub calls: u64,
    /// Calls that were not answered.
    pub calls_failed: u64,
    /// The most bytes that one node sent, over all measured units.
    pub bytes_most: u64,
}

/// What a piece of a run ends with, or several added up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Colonies simulated.
    pub colonies: u32,
    /// Entries within colonies.
    pub entries: Ages,
    /// Aggregates of other colonies, at all nodes.
    pub aggregates: Ages,
    /// What was sent.
    pub traffic: Traffic,
    /// What became known of deaths.
    pub deaths: DeathTimes,
    /// Nodes up times samples.
    pub node_units: u64,
    /// Pairs of nodes of a colony at the last sample, the first without an entry of the second.
    pub lacking_entries: u64,
    /// Pairs of a node and another colony at the last sample without an aggregate.
    pub lacking_aggregates: u64,
    /// Bytes of the aggregates that were looked at, and their number.
    pub aggregate_bytes: (u64, u64),
    /// Order of the pieces does not matter in it.
    pub trace: u64,
}

impl Outcome {
    /// Adds another piece, whose number is `piece`.
    pub fn merge(&mut self, other: &Self, piece: usize) {
        self.colonies += other.colonies;
        self.entries.merge(&other.entries);
        self.aggregates.merge(&other.aggregates);
        let (all, more) = (&mut self.traffic, other.traffic);
        all.datagrams += more.datagrams;
        all.bytes += more.bytes;
        all.calls += more.calls;
        all.calls_failed += more.calls_failed;
        all.bytes_most = all.bytes_most.max(more.bytes_most);
        self.deaths.merge(&other.deaths);
        self.node_units += other.node_units;
        self.lacking_entries += other.lacking_entries;
        self.lacking_aggregates += other.lacking_aggregates;
        self.aggregate_bytes.0 += other.aggregate_bytes.0;
        self.aggregate_bytes.1 += other.aggregate_bytes.1;
        self.trace = self.trace.wrapping_add(mix(other.trace ^ mix(piece as u64)));
    }
}
