//! What strategy `grid` keeps of each node in the compact mode.

use tidings_gossip::dissemination::layout::{Budget, Layout, looks_in};
use tidings_gossip::dissemination::puller::Puller;
use tidings_gossip::dissemination::pusher::Pusher;

use crate::chance::Chance;
use crate::row::UNIT;

/// What strategy `grid` keeps.
pub(super) struct Grid {
    pub(super) layout: Layout,
    pub(super) nodes: Vec<GridNode>,
    pub(super) costs: (usize, usize),
    /// The age in ticks up to which an entry counts as fresh.
    pub(super) fresh: i64,
    /// When in a unit nodes look, in sixteenths.
    pub(super) looks: &'static [u8],
    /// What each node's clock shows beyond the true time, in ticks.
    pub(super) offsets: Vec<i64>,
}

/// What it keeps of one node.
#[derive(Clone, Default)]
pub(super) struct GridNode {
    pub(super) puller: Puller,
    pub(super) pusher: Pusher,
    pub(super) rounds: u32,
    pub(super) round_start: i64,
    pub(super) next_round: i64,
}

impl Grid {
    pub(super) fn of(unit_micros: i64, budget: &Budget, offsets: Vec<i64>) -> Self {
        let nodes = offsets.len();
        let layout = Layout::of(nodes, budget);
        let entries = nodes.div_ceil(layout.rows());
        let costs = (budget.pull_bytes(entries), budget.answer(entries).0);
        let fresh = (layout.fresh_units() * UNIT as f64) as i64;
        let looks = looks_in(unit_micros);
        Self { layout, nodes: vec![GridNode::default(); nodes], costs, fresh, looks, offsets }
    }

    pub(super) fn started(&mut self, node: usize, chance: &mut Chance) {
        let rows = self.layout.rows();
        let first = chance.below(rows);
        self.nodes[node] = GridNode::default();
        self.nodes[node].puller.restart(rows, first, self.costs);
    }
}
