//! Windows in the compact mode: the newest births of one row, merged into others.

use super::play::Play;
use super::run::Compact;
use crate::chance::lateness;
use crate::row::{self, UNIT};

/// A window of less than one in so many entries of a row is small.
const FEW: usize = 16;

impl Compact {
    /// Sends the `entries` newest of a node to each of `targets`; whether the last one got them.
    pub(super) fn push(
        &mut self,
        now: i64,
        from: usize,
        targets: &[usize],
        entries: usize,
    ) -> bool {
        let threshold = self.selector.threshold(&self.rows[from], now as i32, entries);
        // A small window to several: its origins are looked up once, not in a pass for each.
        let few = targets.len() > 1 && threshold.entries * FEW < self.rows[from].len();
        let origins = few.then(|| row::origins_from(&self.rows[from], threshold.birth));
        let mut arrived = false;
        for &to in targets {
            self.sent(threshold.entries);
            arrived = self.arrives(from, to);
            if !arrived || from == to {
                continue;
            }
            let sender = core::mem::take(&mut self.rows[from]);
            let news = match &origins {
                Some(origins) => row::merge_origins(&mut self.rows[to], &sender, origins),
                None => row::merge(&mut self.rows[to], &sender, threshold.birth),
            };
            self.rows[from] = sender;
            self.received(now, (from, to), threshold.entries, news);
        }
        arrived
    }

    /// A round of strategy `staggered`: by the timetable, or as in `uniform`.
    pub(super) fn staggered_round(&mut self, now: i64, node: usize) -> i64 {
        self.renew(now, node);
        let Play::Staggered(staggered) = &mut self.play else { return now + UNIT };
        let round = staggered.rounds[node];
        let to = match round {
            Some(round) => staggered.table.target(round, node),
            None => self.other(node),
        };
        if self.push(now, node, &[to], self.budget.window_entries) && round.is_some() {
            self.note_fit(now, node, to);
        }
        self.next_staggered(now, node)
    }

    /// The receiver of a window sent by timetable compares it with its own.
    fn note_fit(&mut self, now: i64, from: usize, to: usize) {
        if let Play::Staggered(staggered) = &mut self.play {
            let fitted = staggered.table.fits(now + staggered.offsets[to], from, to);
            staggered.agreements[to].note(fitted);
        }
    }

    /// When the next round is: by the timetable if the node goes by it, else a unit later.
    fn next_staggered(&mut self, now: i64, node: usize) -> i64 {
        let Play::Staggered(staggered) = &mut self.play else { return now + UNIT };
        let offset = staggered.offsets[node];
        let agreement = staggered.agreements[node];
        let departure = agreement.next_departure(&staggered.table, now + offset, node);
        staggered.rounds[node] = departure.map(|(round, _)| round);
        departure.map_or(now + UNIT, |(_, at)| at - offset + lateness(node, at, UNIT))
    }
}
