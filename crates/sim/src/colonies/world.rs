//! The world: a checked scenario with all that was drawn before the run.

use core::ops::Range;

use tidings_gossip::colony::RECORD_BYTES;
use tidings_gossip::colony::table::RECORD_MEMORY_BYTES;
use tidings_gossip::dissemination::layout::{Budget, Layout, RecordTraffic};

use super::scenario::ColoniesScenario;
use super::state;
use super::uptime::Uptime;
use crate::scenario::ScenarioError;

/// Bytes a node holds of a member of its colony, beside the payload.
const MEMBER_BYTES: u64 = 252;
/// Bytes of a cell in each of the two tables from id to place.
const TABLE_CELLS_BYTES: u64 = 16;
/// Bytes of a node beside members and colonies, of its events, calls, datagrams, orders, ciphers.
const NODE_BYTES: u64 = 54 << 10;

/// A checked scenario with all that was drawn before the run.
#[derive(Debug)]
pub struct World {
    pub(crate) scenario: ColoniesScenario,
    pub(crate) uptime: Uptime,
    colonies: usize,
    /// Bytes of a colony's aggregate, as its nodes' readings were drawn.
    pub(crate) aggregate_bytes: usize,
}

impl World {
    /// Checks a scenario and draws who fails when.
    ///
    /// # Errors
    /// The first thing that stands in the way; see [`ScenarioError`].
    pub fn of(scenario: &ColoniesScenario) -> Result<Self, ScenarioError> {
        let mut scenario = scenario.clone();
        scenario.check()?;
        if scenario.colony_nodes == 0 {
            scenario.colony_nodes = scenario.best_colony_nodes();
        }
        let colonies = scenario.colonies();
        let uptime = Uptime::draw(&scenario);
        let members = scenario.nodes as usize / colonies;
        let aggregate_bytes = state::aggregate_bytes(members, scenario.seed);
        Ok(Self { scenario, uptime, colonies, aggregate_bytes })
    }

    /// The scenario, with the colonies' size if it was left open.
    pub fn scenario(&self) -> &ColoniesScenario {
        &self.scenario
    }

    /// Who is up when, as it was drawn.
    pub fn uptime(&self) -> &Uptime {
        &self.uptime
    }

    /// How many colonies there are.
    pub fn colonies(&self) -> usize {
        self.colonies
    }

    /// The nodes of a colony, by their numbers.
    pub(crate) fn nodes_of(&self, colony: usize) -> Range<usize> {
        let (nodes, colonies) = (self.scenario.nodes as usize, self.colonies);
        let start = |colony: usize| colony * nodes / colonies;
        start(colony)..start(colony + 1)
    }

    /// What a member of a colony of so many may send.
    pub(crate) fn budget(&self, members: usize) -> Budget {
        self.scenario.budget(members)
    }

    /// What rides along, as members plan it.
    pub(crate) fn record_traffic(&self) -> RecordTraffic {
        self.scenario.record_traffic(self.colonies - 1, RECORD_BYTES)
    }

    /// The layout of a colony of so many members.
    pub fn layout(&self, members: usize) -> Layout {
        Layout::of_colony(members, &self.budget(members), &self.record_traffic())
    }

    /// Bytes of memory that one real node takes at most, with room for its colony and all others:
    /// vector, members with names of 8 bytes, two hash tables that are at most half full, its
    /// colony table, and what it takes whatever the size of the cluster. `tests/memory.rs` measures
    /// it.
    pub fn node_memory_bytes(&self) -> u64 {
        let members = u64::from(self.scenario.nodes).div_ceil(self.colonies as u64);
        let vector = members * (MEMBER_BYTES + u64::from(self.scenario.payload_bytes));
        let tables = TABLE_CELLS_BYTES * (2 * members).next_power_of_two();
        let records = (self.colonies as u64 - 1) * RECORD_MEMORY_BYTES as u64;
        vector + tables + records + NODE_BYTES
    }
}
