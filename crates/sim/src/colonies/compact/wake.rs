//! What a member does when it wakes: pushes to its row, and a window to anybody now and then.

use tidings_gossip::colony::caller::MAX_REPEATS;
use tidings_gossip::dissemination::layout::{
    PULLS_AT_ONCE, STRAY_UNITS, next_look_micros, next_round_micros,
};

use super::run::CompactColony;
use crate::chance::{Chance, lateness};
use crate::row::{self, UNIT};

impl CompactColony<'_> {
    /// What a member does when it wakes: its round, a look in between, or what is due about doubts;
    /// when it wakes next.
    pub(super) fn wake(&mut self, now: i64, member: usize) -> i64 {
        let carried = self.record_traffic.charged(&self.layout, &self.budget);
        let unit_bytes = self.budget.unit_bytes() - carried;
        let node = &mut self.nodes[member];
        if now >= node.next_round {
            let late = now - node.next_round;
            node.round_start = if node.rounds == 0 { now } else { node.next_round };
            node.next_round = next_round_micros(now, UNIT);
            node.puller.earn(unit_bytes);
            let round = node.rounds;
            node.rounds += 1;
            self.round(now, member, (round, late));
            self.begin_calls(now, member);
        } else if now >= node.next_look {
            self.look(now, member);
        }
        self.look_at_doubts(now, member);
        let node = &mut self.nodes[member];
        let next = next_look_micros(self.looks, node.round_start, UNIT, now);
        let next = next.filter(|&at| at < node.next_round);
        node.next_look = next.unwrap_or(i64::MAX);
        let wanted = node.puller.wants_look() || !node.open.is_empty();
        let due = next.filter(|_| wanted).unwrap_or(node.next_round);
        let doubt = self.watch.as_ref().and_then(|watch| watch.due(member));
        let due = doubt.map_or(due, |doubt| due.min(doubt));
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
    fn round(&mut self, now: i64, member: usize, (round, late): (u32, i64)) {
        self.entries[member * self.members + member] = now as i32;
        self.look_for_silence(now, member, late);
        let first = self.first_of(member);
        let (row, node) = (self.row_of(member), &mut self.nodes[member]);
        let lives = |mate: usize| self.entries[row.start + mate] >= 0;
        let mates = node.pusher.round(&self.layout, member, lives);
        let mates: Vec<usize> = mates.filter(|&mate| lives(mate)).collect();
        node.puller.spend(mates.len() * self.budget.window_bytes(1));
        for mate in mates {
            self.sent(member, 1, self.budget.window_bytes(1 + first.len()));
            if !self.is_lost() && self.nodes[mate].up {
                self.take_one(now, mate, member, now as i32);
                self.take_first(now, member, mate, &first);
                self.hears_window(now, member, mate);
                self.received(now, member, mate, 1);
            }
        }
        if round % STRAY_UNITS == member as u32 % STRAY_UNITS {
            self.stray(now, member, &first);
        }
        self.watch_row(now, member);
    }

    /// Whose tombstones go first in the windows of a member's round.
    fn first_of(&self, member: usize) -> Vec<usize> {
        let watch = self.watch.as_ref();
        watch.map(|watch| watch.watchers[member].first.clone()).unwrap_or_default()
    }

    /// Takes what goes first in a window.
    fn take_first(&mut self, now: i64, from: usize, to: usize, first: &[usize]) -> usize {
        let mut news = 0;
        for &origin in first {
            let said = self.entries[self.row_of(from).start + origin];
            news += usize::from(said != 0 && self.take_one(now, to, origin, said));
        }
        news
    }

    /// A datagram of the newest entries to a random member.
    fn stray(&mut self, now: i64, member: usize, first: &[usize]) {
        let entries = self.budget.datagram_entries.min(self.budget.window_entries);
        let bytes = self.budget.window_bytes(entries);
        self.nodes[member].puller.spend(bytes);
        let row = self.row_of(member);
        let Some(to) = any(&mut self.chance, &self.entries[row], member) else { return };
        self.sent(member, 1, bytes);
        if self.is_lost() || !self.nodes[to].up {
            return;
        }
        let newest = self.row_of(member);
        let births = &self.entries[newest];
        let threshold = newest_from(births, now as i32, entries, &mut self.scratch);
        let mut news = self.take_first(now, member, to, first);
        news += self.take_entries(now, (member, to), 0..self.members, (threshold - 1, false));
        self.hears_window(now, member, to);
        self.received(now, member, to, news);
    }
}

/// Another member at random, among those that `member`, whose row this is, does not hold as dead;
/// `None` where nearly all are.
pub(super) fn any(chance: &mut Chance, births: &[i32], member: usize) -> Option<usize> {
    const DRAWS: usize = 64;
    let mut draws = (0..DRAWS).map(|_| chance.below(births.len() - 1));
    draws.find_map(|to| {
        let to = to + usize::from(to >= member);
        (births[to] >= 0).then_some(to)
    })
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
