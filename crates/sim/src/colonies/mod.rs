//! Colonies in the simulator: up to a million nodes, one colony at a time.
//!
//! An aggregate is born when a call is answered, by whoever is called, so colonies depend on each
//! other through nothing but who is up. That is drawn for all nodes before the run
//! ([`uptime`]). Then each colony is simulated on its own, in any order and on any processor
//! (`compact.rs`), and what comes out is added up in whole numbers: the report does not depend on
//! how many threads there are, and memory is that of the colonies under way.
//!
//! The full mode (`full.rs`) has a real node of the core for each, all in one world, and shows that
//! the compact mode gives the same.

mod compact;
mod full;
pub mod report;
pub mod scenario;
mod state;
pub mod tally;
pub mod uptime;

use core::ops::ControlFlow;
use core::ops::Range;

use tidings_gossip::colony::RECORD_BYTES;
use tidings_gossip::colony::outlook::RECORD_MEMORY_BYTES;
use tidings_gossip::dissemination::layout::{Budget, Freight, Layout};
use tidings_gossip::wire::OVERHEAD_BYTES;

use crate::scenario::{Mode, ScenarioError};
use report::ColoniesReport;
use scenario::ColoniesScenario;
use tally::Outcome;
use uptime::Uptime;

/// Ticks in a unit of time.
pub(crate) const UNIT: i64 = 1 << crate::row::UNIT_SHIFT;
/// The tick at which a run starts: above 0, which stands for what is unknown.
pub(crate) const START: i64 = UNIT;

/// Bytes a node holds of a member of its colony, beside the payload.
const MEMBER_BYTES: u64 = 244;
/// Bytes of a cell in each of the two tables from id to place.
const TABLE_CELLS_BYTES: u64 = 16;
/// Bytes of a node beside members and colonies, of its events, calls and datagrams.
const NODE_BYTES: u64 = 44 << 10;

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

    /// Pieces of work that are independent: colonies, or all of them in full mode.
    pub fn pieces(&self) -> usize {
        match self.scenario.mode {
            Mode::Compact => self.colonies,
            Mode::Full => 1,
        }
    }

    /// Simulates one piece; `go_on` is asked once a unit.
    ///
    /// # Errors
    /// If the core refuses the configuration.
    pub fn simulate(
        &self,
        piece: usize,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Outcome>, ScenarioError> {
        match self.scenario.mode {
            Mode::Compact => Ok(compact::CompactColony::of(self, piece).run(go_on)),
            Mode::Full => full::FullColonies::of(self)
                .and_then(|run| run.run(go_on))
                .map_err(|error| ScenarioError::Cluster(error.to_string())),
        }
    }

    /// The report of what was simulated, in whatever order it was added up.
    pub fn report(&self, outcome: &Outcome) -> ColoniesReport {
        ColoniesReport::of(self, outcome)
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
    pub(crate) fn freight(&self) -> Freight {
        self.scenario.freight(self.colonies - 1, RECORD_BYTES)
    }

    /// The layout of a colony of so many members.
    pub fn layout(&self, members: usize) -> Layout {
        Layout::of_colony(members, &self.budget(members), &self.freight())
    }

    /// Bytes of memory that one real node takes at most, with room for its colony and all others:
    /// vector, members with names of 8 bytes, two hash tables that are at most half full, its
    /// outlook, and what it takes whatever the size of the cluster. `tests/memory.rs` measures it.
    pub fn node_memory_bytes(&self) -> u64 {
        let members = u64::from(self.scenario.nodes).div_ceil(self.colonies as u64);
        let vector = members * (MEMBER_BYTES + u64::from(self.scenario.payload_bytes));
        let tables = TABLE_CELLS_BYTES * (2 * members).next_power_of_two();
        let outlook = (self.colonies as u64 - 1) * RECORD_MEMORY_BYTES as u64;
        vector + tables + outlook + NODE_BYTES
    }
}

impl ColoniesScenario {
    /// What a member of a colony of so many may send.
    pub(crate) fn budget(&self, members: usize) -> Budget {
        let entry_bytes =
            usize::from(self.payload_bytes) + tidings_gossip::wire::ENTRY_OVERHEAD_BYTES;
        Budget {
            entry_bytes,
            frame_bytes: OVERHEAD_BYTES,
            datagram_entries: (self.room_bytes() / entry_bytes).max(1),
            window_entries: self.window.entries(members),
        }
    }

    /// Records that ride along.
    pub(crate) fn freight(&self, colonies: usize, record_bytes: usize) -> Freight {
        Freight { colonies, record_bytes, room_bytes: self.room_bytes() }
    }

    fn room_bytes(&self) -> usize {
        usize::from(self.datagram_bytes()) - OVERHEAD_BYTES
    }

    /// The size of colonies that makes aggregates youngest: the smaller colonies are, the more of
    /// them there are, and the larger, the more entries go with each aggregate.
    pub fn best_colony_nodes(&self) -> u32 {
        let nodes = self.nodes as usize;
        let age = |&members: &usize| {
            let freight = self.freight(nodes.div_ceil(members) - 1, RECORD_BYTES);
            let budget = self.budget(members);
            let layout = Layout::of_colony(members, &budget, &freight);
            freight.age_units(&layout, &budget).unwrap_or(f64::INFINITY)
        };
        let most = (nodes / 2).min(scenario::MOST_COLONY_NODES);
        let next = |&members: &usize| Some((members + 1).max(members * 21 / 20));
        let sizes = core::iter::successors(Some(scenario::LEAST_COLONY_NODES), next);
        let sizes = sizes.take_while(|&members| members <= most);
        let best = sizes.min_by(|a, b| age(a).total_cmp(&age(b)));
        best.unwrap_or(nodes / 2) as u32
    }
}
