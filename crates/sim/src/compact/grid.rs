//! Strategy `grid` in the compact mode: births pushed within rows and pulled from other rows.

use core::ops::Range;

use tidings_gossip::dissemination::layout::{Budget, Layout, STRAY_UNITS, looks_in};
use tidings_gossip::dissemination::puller::{MARGIN_UNITS, Pull, Puller, pick_relay};
use tidings_gossip::dissemination::pusher::Pusher;

use super::play::Play;
use super::{Compact, UNIT};
use crate::chance::Chance;

/// What strategy `grid` keeps.
pub(super) struct Grid {
    layout: Layout,
    nodes: Vec<GridNode>,
    costs: (usize, usize),
    /// The age in ticks up to which an entry counts as fresh.
    fresh: i64,
    /// Looks in a unit.
    looks: u32,
}

/// What it keeps of one node.
#[derive(Clone, Default)]
struct GridNode {
    puller: Puller,
    pusher: Pusher,
    looks: u32,
}

impl Grid {
    pub(super) fn of(nodes: usize, unit_micros: i64, budget: &Budget) -> Self {
        let layout = Layout::of(nodes, budget);
        let costs = (budget.pull_bytes(), budget.window_bytes(nodes.div_ceil(layout.rows())));
        let fresh = (layout.fresh_units() * UNIT as f64) as i64;
        Self {
            layout,
            nodes: vec![GridNode::default(); nodes],
            costs,
            fresh,
            looks: looks_in(unit_micros),
        }
    }

    pub(super) fn started(&mut self, node: usize, chance: &mut Chance) {
        let rows = self.layout.rows();
        let first = chance.below(rows);
        self.nodes[node] = GridNode::default();
        self.nodes[node].puller.restart(rows, self.layout.row_of(node), first, self.costs);
    }
}

impl Compact {
    /// One look of a node: every so many are a round.
    pub(super) fn grid_look(&mut self, now: i64, node: usize) -> i64 {
        let Play::Grid(grid) = &mut self.play else { return now + UNIT };
        let in_unit = grid.looks;
        let own = &mut grid.nodes[node];
        let looks = own.looks;
        own.looks += 1;
        let unit_bytes = self.budget.unit_bytes();
        own.puller.earn(unit_bytes / in_unit as usize, unit_bytes);
        if looks % in_unit == 0 {
            self.grid_round(now, node, looks / in_unit);
        }
        while let Some(pull) = self.next_pull(node) {
            self.pull(now, node, pull);
        }
        if let Play::Grid(grid) = &mut self.play {
            grid.nodes[node].puller.looked();
        }
        now + UNIT / i64::from(in_unit)
    }

    fn next_pull(&mut self, node: usize) -> Option<Pull> {
        let Play::Grid(grid) = &mut self.play else { return None };
        grid.nodes[node].puller.next_pull()
    }

    /// Pushes to the own row and, now and then, a window to anybody.
    fn grid_round(&mut self, now: i64, node: usize, round: u32) {
        self.renew(now, node);
        let Play::Grid(grid) = &mut self.play else { return };
        let own = &mut grid.nodes[node];
        let mates: Vec<usize> = own.pusher.round(&grid.layout, node).collect();
        own.puller.spend(mates.len() * self.budget.window_bytes(1));
        let stray = round % STRAY_UNITS == node as u32 % STRAY_UNITS;
        let entries = self.budget.datagram_entries.min(self.budget.window_entries);
        if stray {
            own.puller.spend(self.budget.window_bytes(entries));
        }
        for to in mates {
            self.sent(1);
            if self.arrives(node, to) {
                let held = &mut self.rows[to][node];
                let news = usize::from((now as i32) > *held);
                *held = (*held).max(now as i32);
                self.received(now, (node, to), 1, news);
            }
        }
        if stray {
            let to = self.other(node);
            self.push(now, node, &[to], entries);
        }
    }

    /// Asks a member of a row, and takes what it answers.
    fn pull(&mut self, now: i64, node: usize, pull: Pull) {
        let Play::Grid(grid) = &mut self.play else { return };
        let row = grid.layout.members_of(pull.row);
        let (start, fresh) = (row.start, now - grid.fresh);
        let births = &self.rows[node][row.clone()];
        let is_fresh = |at: usize| i64::from(births[at]) > fresh;
        let chance = &mut self.chances[node];
        let relay = start + pick_relay(row.len(), is_fresh, |n| chance.below(n));
        let puller = &mut grid.nodes[node].puller;
        puller.asked(pull, relay as u32);
        let since = puller.last_answer(pull.row).map_or(0, |at| at - MARGIN_UNITS * UNIT);
        self.totals.messages += 1;
        self.totals.datagrams += 1;
        self.totals.bytes += self.budget.pull_bytes() as u64;
        if !self.arrives(node, relay) {
            return;
        }
        let since = since.max(0) as i32;
        let entries = self.rows[relay][row.clone()].iter().filter(|&&birth| birth > since).count();
        self.sent(entries);
        if self.arrives(relay, node) {
            let news = self.merge_row(relay, node, row, since);
            self.received(now, (relay, node), entries, news);
            let bytes = self.budget.window_bytes(entries);
            if let Play::Grid(grid) = &mut self.play {
                grid.nodes[node].puller.answered(relay as u32, bytes, now);
            }
        }
    }

    /// Takes the births of a row after `since` from one node to another; how many were news.
    fn merge_row(&mut self, from: usize, to: usize, row: Range<usize>, since: i32) -> usize {
        let sender = core::mem::take(&mut self.rows[from]);
        let mut news = 0;
        let held = &mut self.rows[to][row.clone()];
        for (held, &sent) in held.iter_mut().zip(&sender[row]) {
            if sent > since && sent > *held {
                *held = sent;
                news += 1;
            }
        }
        self.rows[from] = sender;
        news
    }
}
