//! What a node does when it wakes, by its strategy.

use super::play::Play;
use super::run::Compact;
use crate::row::UNIT;

impl Compact {
    /// What a node does when it wakes; returns when it wakes next.
    pub(super) fn wake(&mut self, now: i64, node: usize) -> i64 {
        match &self.play {
            Play::Uniform => {
                self.renew(now, node);
                let to = self.other(node);
                self.push(now, node, &[to], self.budget.window_entries);
                now + UNIT
            }
            &Play::Spread { targets } => {
                self.renew(now, node);
                let to: Vec<usize> = (0..targets).map(|_| self.other(node)).collect();
                self.push(now, node, &to, self.budget.window_entries.div_ceil(targets));
                now + UNIT
            }
            Play::PushPull => {
                self.renew(now, node);
                let (to, half) = (self.other(node), self.budget.window_entries.div_ceil(2));
                if self.push(now, node, &[to], half) {
                    self.push(now, to, &[node], half);
                }
                now + UNIT
            }
            Play::Staggered(_) => self.staggered_round(now, node),
            Play::Grid(_) => self.grid_wake(now, node),
        }
    }

    /// The node's own entry is made again.
    pub(super) fn renew(&mut self, now: i64, node: usize) {
        self.rows[node][node] = now as i32;
    }
}
