//! Strategy `grid` in the compact mode: births pushed within rows and pulled from other rows.

use core::ops::Range;

use tidings_gossip::dissemination::layout::{
    PULLS_AT_ONCE, STRAY_UNITS, next_look_micros, next_round_micros,
};
use tidings_gossip::dissemination::puller::{MARGIN_UNITS, Pull, pick_relay};

use super::play::Play;
use super::run::Compact;
use crate::chance::lateness;
use crate::row::UNIT;

impl Compact {
    /// What a node does when it wakes: its round, or a look in between; when it wakes next.
    pub(super) fn grid_wake(&mut self, now: i64, node: usize) -> i64 {
        let Play::Grid(grid) = &mut self.play else { return now + UNIT };
        let (own, offset) = (&mut grid.nodes[node], grid.offsets[node]);
        if now >= own.next_round {
            own.round_start = if own.rounds == 0 { now } else { own.next_round };
            own.next_round = next_round_micros(now + offset, UNIT) - offset;
            own.puller.earn(self.budget.unit_bytes());
            let round = own.rounds;
            own.rounds += 1;
            self.grid_round(now, node, round);
        } else {
            let mut answers = Vec::new();
            for _ in 0..PULLS_AT_ONCE {
                let Some(pull) = self.next_pull(node) else { break };
                answers.extend(self.pull(now, node, pull));
            }
            if let Play::Grid(grid) = &mut self.play {
                let puller = &mut grid.nodes[node].puller;
                puller.looked();
                // A node has sent all its requests before the first answer comes.
                for (relay, bytes) in answers {
                    puller.answered(relay, bytes, now);
                }
            }
        }
        self.next_look(now, node)
    }

    /// When a node looks next in this round, or has its next one.
    fn next_look(&self, now: i64, node: usize) -> i64 {
        let Play::Grid(grid) = &self.play else { return now + UNIT };
        let own = &grid.nodes[node];
        let next = next_look_micros(grid.looks, own.round_start, UNIT, now);
        let next = next.filter(|&at| at < own.next_round);
        let due = next.filter(|_| own.puller.wants_look()).unwrap_or(own.next_round);
        due + lateness(node, due, UNIT)
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
        let mates: Vec<usize> = own.pusher.round(&grid.layout, node, |_| true).collect();
        own.puller.spend(mates.len() * self.budget.push_bytes());
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

    /// Asks a member of a row, and takes what it answers: who it was, and the bytes of it.
    fn pull(&mut self, now: i64, node: usize, pull: Pull) -> Option<(u32, usize)> {
        let Play::Grid(grid) = &mut self.play else { return None };
        let row = grid.layout.members_of(pull.row);
        let (start, fresh) = (row.start, now - grid.fresh);
        let births = &self.rows[node][row.clone()];
        let is_fresh = |at: usize| start + at != node && i64::from(births[at]) > fresh;
        let chance = &mut self.chances[node];
        let relay = start + pick_relay(row.len(), is_fresh, |n| chance.below(n));
        if relay == node {
            return None;
        }
        let puller = &mut grid.nodes[node].puller;
        puller.asked(pull, relay as u32);
        let since = puller.last_answer(pull.row).map_or(0, |at| at - MARGIN_UNITS * UNIT);
        self.totals.messages += 1;
        self.totals.datagrams += 1;
        self.totals.bytes += self.budget.pull_bytes(row.len()) as u64;
        if !self.arrives(node, relay) {
            return None;
        }
        let since = since.max(0) as i32;
        let entries = self.rows[relay][row.clone()].iter().filter(|&&birth| birth > since).count();
        self.sent(entries);
        if !self.arrives(relay, node) {
            return None;
        }
        let news = self.merge_row(relay, node, row, since);
        self.received(now, (relay, node), entries, news);
        Some((relay as u32, self.budget.answer(entries).0))
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
