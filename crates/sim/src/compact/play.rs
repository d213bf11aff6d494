//! The strategies in the compact mode, with what each keeps of the nodes.

use tidings_gossip::Strategy;
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::dissemination::timetable::{Agreement, Timetable};

use super::grid::Grid;
use crate::chance::Chance;
use crate::plan::Plan;
use crate::row::UNIT;
use crate::scenario::Scenario;

/// A strategy with what it keeps of every node.
pub(super) enum Play {
    Uniform,
    Spread { targets: usize },
    PushPull,
    Staggered(Staggered),
    Grid(Grid),
}

/// What strategy `staggered` keeps.
pub(super) struct Staggered {
    pub(super) table: Timetable,
    /// What each node's clock shows beyond the true time, in ticks.
    pub(super) offsets: Vec<i64>,
    pub(super) agreements: Vec<Agreement>,
    /// Each node's next round in the timetable, if the next one is by it.
    pub(super) rounds: Vec<Option<i64>>,
}

impl Play {
    pub(super) fn of(scenario: &Scenario, budget: &Budget, plan: &Plan) -> Self {
        let nodes = scenario.cluster.nodes as usize;
        let interval = scenario.cluster.interval.as_micros() as i64;
        let ticks =
            |micros: i64| (i128::from(micros) * i128::from(UNIT) / i128::from(interval)) as i64;
        let offsets = plan.clocks.iter().map(|clock| ticks(clock.offset_micros)).collect();
        match scenario.cluster.strategy {
            Strategy::Spread => {
                Self::Spread { targets: budget.window_entries.div_ceil(budget.datagram_entries) }
            }
            Strategy::PushPull => Self::PushPull,
            Strategy::Staggered => Self::Staggered(Staggered {
                table: Timetable::of(nodes, UNIT, scenario.seed),
                offsets,
                agreements: vec![Agreement::default(); nodes],
                rounds: vec![None; nodes],
            }),
            Strategy::Grid => Self::Grid(Grid::of(interval, budget, offsets)),
            // Strategies the core may get beside these are refused by the scenario's checks.
            _ => Self::Uniform,
        }
    }

    /// A node starts; its first round is at the tick `first`.
    pub(super) fn started(&mut self, node: usize, _first: i64, chance: &mut Chance) {
        match self {
            Self::Staggered(staggered) => {
                staggered.agreements[node] = Agreement::default();
                staggered.rounds[node] = None;
            }
            Self::Grid(grid) => grid.started(node, chance),
            _ => {}
        }
    }
}
