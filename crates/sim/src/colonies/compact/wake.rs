//! What a member does when it wakes: pushes to its row, and a window to anybody now and then.

use tidings_gossip::colony::caller::MAX_REPEATS;
use tidings_gossip::dissemination::layout::{
    PULLS_AT_ONCE, STRAY_UNITS, next_look_micros, next_round_micros,
};

use super::pulls::take;
use super::run::CompactColony;
use crate::chance::lateness;
use crate::row::{self, UNIT};

impl CompactColony<'_> {
    /// What a member does when it wakes: its round, or a look in between; when it wakes next.
    pub(super) fn wake(&mut self, now: i64, member: usize) -> i64 {
        let unit_bytes = self.budget.unit_bytes();
        let node = &mut self.nodes[member];
        if now >= node.next_round {
            node.round_start = if node.rounds == 0 { now } else { node.next_round };
            node.next_round = next_round_micros(now, UNIT);
            node.puller.earn(unit_bytes);
            let round = node.rounds;
            node.rounds += 1;
            self.round(now, member, round);
            self.begin_calls(now, member);
        } else {
            self.look(now, member);
        }
        let node = &self.nodes[member];
        let next = next_look_micros(self.looks, node.round_start, UNIT, now);
        let next = next.filter(|&at| at < node.next_round);
        let wanted = node.puller.wants_look() || !node.open.is_empty();
        let due = next.filter(|_| wanted).unwrap_or(node.next_round);
        due + lateness(self.first_node + member, due, UNIT)
    }

    /// Pulls, and repeats what was not answered.
    fn look(&mut self, now: i64, member: usize) {
        let mut answers = Vec::new();
        for _ in 0..PULLS_AT_ONCE {
            let Some(pull) = self.nodes[member].puller.next_pull() else { break };
            answers.extend(self.pull(now, member, pull));
        }
        let puller = &mut self.nodes[member].puller;
        puller.looked();
        // A member has sent all its requests before the first answer comes; of an answer of several
        // datagrams the first answers, the rest is spent.
        for (relay, first, rest) in answers {
            puller.answered(relay, first, now);
            puller.spend(rest);
        }
        let open = core::mem::take(&mut self.nodes[member].open);
        for (place, repeats) in open {
            if repeats < MAX_REPEATS {
                self.call(now, member, place, repeats + 1);
            }
        }
    }

    /// Pushes to the own row and, now and then, a window to anybody.
    fn round(&mut self, now: i64, member: usize, round: u32) {
        self.entries[member * self.members + member] = now as i32;
        let node = &mut self.nodes[member];
        let mates: Vec<usize> = node.pusher.round(&self.layout, member).collect();
        let bytes = self.budget.window_bytes(1);
        node.puller.spend(mates.len() * bytes);
        for mate in mates {
            self.sent(member, 1, bytes);
            if !self.is_lost() && self.nodes[mate].up {
                let held = &mut self.entries[mate * self.members + member];
                *held = (*held).max(now as i32);
                self.received(now, member, mate, 1);
            }
        }
        if round % STRAY_UNITS == member as u32 % STRAY_UNITS {
            self.stray(now, member);
        }
    }

    /// A datagram of the newest entries to a random member.
    fn stray(&mut self, now: i64, member: usize) {
        let entries = self.budget.datagram_entries.min(self.budget.window_entries);
        let bytes = self.budget.window_bytes(entries);
        self.nodes[member].puller.spend(bytes);
        self.sent(member, 1, bytes);
        let to = self.chance.below(self.members - 1);
        let to = to + usize::from(to >= member);
        if self.is_lost() || !self.nodes[to].up {
            return;
        }
        let newest = self.row_of(member);
        let births = &self.entries[newest.clone()];
        let threshold = newest_from(births, now as i32, entries, &mut self.scratch);
        let into = to * self.members..(to + 1) * self.members;
        let news = take(&mut self.entries, newest, into, threshold - 1);
        self.received(now, member, to, news);
    }
}

/// The birth from which on a row's newest `window` births lie; 1 if there are no more than that.
fn newest_from(births: &[i32], now: i32, window: usize, scratch: &mut Vec<i32>) -> i32 {
    let mut span = UNIT as i32 / 8;
    while row::count_from(births, (now - span).max(1)) < window {
        if span >= now {
            return 1;
        }
        span = span.saturating_mul(2);
    }
    let from = (now - span).max(1);
    scratch.clear();
    scratch.extend(births.iter().filter(|&&birth| birth >= from));
    *scratch.select_nth_unstable_by(window - 1, |a, b| b.cmp(a)).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Purpose, stream};

    #[test]
    fn the_newest_births_are_those_a_sort_finds() {
        let mut chance = stream(3, Purpose::Network);
        let now = 40 * UNIT as i32;
        for _ in 0..500 {
            let births: Vec<i32> =
                (0..=chance.below(90)).map(|_| chance.below(now as usize) as i32).collect();
            let window = 1 + chance.below(20);
            let mut known: Vec<i32> = births.iter().copied().filter(|&birth| birth > 0).collect();
            known.sort_unstable_by(|a, b| b.cmp(a));
            let expected = known.get(window - 1).copied().unwrap_or(1);
            assert_eq!(newest_from(&births, now, window, &mut Vec::new()), expected);
        }
    }
}
