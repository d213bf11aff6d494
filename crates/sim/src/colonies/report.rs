//! The report of a run of colonies, as one object with units in its names.

use serde::Serialize;

use super::scenario::ColoniesScenario;
use super::tally::Outcome;
use super::world::World;

/// What a run of colonies gives. `None` where nothing was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ColoniesReport {
    /// Colonies there are.
    pub colonies: u32,
    /// Members of the smallest of them.
    pub colony_nodes: u32,
    /// Rows of members in a colony.
    pub rows: u32,
    /// Units from one pull of a row to the next, as planned.
    pub pull_units: f64,
    /// Mean age of an entry within its colony, over all pairs of nodes up and samples.
    pub age_avg_units: Option<f64>,
    /// The age that 99 % of them do not exceed.
    pub age_p99_units: Option<f64>,
    /// Age of a node's oldest entry: mean over nodes and samples.
    pub age_max_units: Option<f64>,
    /// Mean age of another colony's aggregate, over all nodes up, all other colonies and samples.
    pub aggregate_age_avg_units: Option<f64>,
    /// The age that 99 % of them do not exceed.
    pub aggregate_age_p99_units: Option<f64>,
    /// Age of a node's oldest aggregate: mean over nodes and samples.
    pub aggregate_age_max_units: Option<f64>,
    /// The greatest age of an aggregate anywhere.
    pub aggregate_age_highest_units: Option<f64>,
    /// Pairs of nodes of a colony at the last sample, the first without an entry of the second.
    pub never_heard_pairs: u64,
    /// Pairs of a node and another colony without an aggregate, at the last sample.
    pub lacking_aggregates: u64,
    /// Bytes of UDP payload that a node sent in a unit, on average.
    pub node_unit_bytes: Option<f64>,
    /// The same for the node that sent most.
    pub node_unit_bytes_most: f64,
    /// Datagrams that a node sent in a unit, on average.
    pub node_unit_datagrams: Option<f64>,
    /// Bytes that a node may send in a unit: those of its window.
    pub node_unit_bytes_allowed: u64,
    /// Calls of other colonies in the measured units.
    pub calls: u64,
    /// Those of them that were not answered.
    pub calls_failed: u64,
    /// Bytes of a colony's aggregate, on average.
    pub aggregate_bytes: Option<f64>,
    /// Bytes of memory that a real node takes.
    pub node_memory_bytes: u64,
    /// What became known of deaths, if nodes are declared dead.
    pub deaths: Option<DeathsReport>,
    /// Crashes in the whole run, in all colonies.
    pub crashes: u64,
    /// Colonies simulated: fewer than there are if the run was stopped.
    pub colonies_simulated: u32,
    /// Whether all were.
    pub complete: bool,
    /// Seconds the run took; set by the caller, since the simulator has no clock.
    pub wall_s: Option<f64>,
    /// One number for all that was delivered, in 16 hexadecimal digits.
    pub trace_hash: String,
    /// The scenario.
    pub parameters: ColoniesScenario,
}

/// How soon the members of a colony knew who of them had died, in units from the crash.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DeathsReport {
    /// Crashes in the measured units.
    pub crashes: u64,
    /// Until half of the colony knew: the mean over crashes.
    pub half_avg_units: Option<f64>,
    /// Until all of the colony knew: the mean.
    pub all_avg_units: Option<f64>,
    /// The same: the time that 99 % of the crashes do not exceed.
    pub all_p99_units: Option<f64>,
    /// The same: the greatest.
    pub all_highest_units: Option<f64>,
    /// Deaths that some did not know of when the node restarted.
    pub missed: u64,
    /// Deaths that some did not know of at the end.
    pub open: u64,
    /// How long before the end the first of those nodes crashed.
    pub open_longest_units: Option<f64>,
    /// Lives that were declared dead while their node was up, in the whole run.
    pub mistaken: u64,
    /// Members suspected, over all members, in the whole run.
    pub suspicions: u64,
    /// Probes sent, for others too, in the whole run.
    pub probes: u64,
}

impl DeathsReport {
    fn of(outcome: &Outcome) -> Self {
        let deaths = &outcome.deaths;
        Self {
            crashes: deaths.crashes,
            half_avg_units: deaths.half.average_units(),
            all_avg_units: deaths.all.average_units(),
            all_p99_units: deaths.all.quantile_units(0.99),
            all_highest_units: deaths.all.highest_units(),
            missed: deaths.missed,
            open: deaths.open,
            open_longest_units: deaths.open_longest_units(),
            mistaken: deaths.mistaken,
            suspicions: deaths.suspicions,
            probes: deaths.probes,
        }
    }
}

impl World {
    /// The report of what was simulated, in whatever order it was added up.
    pub fn report(&self, outcome: &Outcome) -> ColoniesReport {
        ColoniesReport::of(self, outcome)
    }
}

impl ColoniesReport {
    fn of(world: &World, outcome: &Outcome) -> Self {
        let members = world.nodes_of(0).len();
        let layout = world.layout(members);
        let scenario = world.scenario();
        let node_units = (outcome.node_units > 0).then_some(outcome.node_units as f64);
        let (bytes, aggregates) = outcome.aggregate_bytes;
        Self {
            colonies: world.colonies() as u32,
            colony_nodes: members as u32,
            rows: layout.rows() as u32,
            pull_units: layout.pull_units,
            age_avg_units: outcome.entries.average_units(),
            age_p99_units: outcome.entries.quantile_units(0.99),
            age_max_units: outcome.entries.oldest_units(),
            aggregate_age_avg_units: outcome.aggregates.average_units(),
            aggregate_age_p99_units: outcome.aggregates.quantile_units(0.99),
            aggregate_age_max_units: outcome.aggregates.oldest_units(),
            aggregate_age_highest_units: outcome.aggregates.highest_units(),
            never_heard_pairs: outcome.lacking_entries,
            lacking_aggregates: outcome.lacking_aggregates,
            node_unit_bytes: node_units.map(|units| outcome.traffic.bytes as f64 / units),
            node_unit_bytes_most: outcome.traffic.bytes_most as f64 / f64::from(scenario.units),
            node_unit_datagrams: node_units.map(|units| outcome.traffic.datagrams as f64 / units),
            node_unit_bytes_allowed: world.budget(members).unit_bytes() as u64,
            calls: outcome.traffic.calls,
            calls_failed: outcome.traffic.calls_failed,
            aggregate_bytes: (aggregates > 0).then(|| bytes as f64 / aggregates as f64),
            node_memory_bytes: world.node_memory_bytes(),
            deaths: scenario.death_after().map(|_| DeathsReport::of(outcome)),
            crashes: world.uptime.outages().len() as u64,
            colonies_simulated: outcome.colonies,
            complete: outcome.colonies as usize == world.colonies(),
            wall_s: None,
            trace_hash: format!("{:016x}", outcome.trace),
            parameters: scenario.clone(),
        }
    }
}
