//! Reservations: what was just picked counts as taken until an entry can show it.
//!
//! Work that was sent to a node shows in its readings some time after it has arrived. Until then
//! the node looks as idle as before, to this caller and to all others on this machine. So a pick is
//! remembered, and what it takes is added to what the node has busy, until an entry comes that was
//! made late enough to show the work. Work that was never sent is forgotten after a time.

use std::collections::{HashMap, VecDeque};

use crate::candidate::{Candidate, Need};

/// Picks of one node that are remembered, at most; the oldest are dropped.
const MOST_OF_ONE: usize = 1_024;
/// Picks of all nodes that are remembered, at most; beyond that the node's oldest is dropped, or
/// the pick is not remembered.
const MOST_OF_ALL: usize = 65_536;
/// Nodes with picks, before those whose picks have all expired are removed.
const MANY: usize = 16_384;
/// An entry made this many seconds after a pick shows its work.
const SHOWS_S: f64 = 5.0;
/// A pick is forgotten after this many seconds, whatever the entries.
const KEPT_S: f64 = 60.0;

/// What was picked lately, by any caller on this machine.
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    /// By node, in the order of time.
    made: HashMap<String, VecDeque<Reservation>>,
    /// How many in total.
    count: usize,
    /// When all were last checked.
    swept_s: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Reservation {
    need: Need,
    at_s: f64,
}

impl Reservations {
    /// Remembers that `name` was picked at `now_s`, on any clock that does not go back.
    pub fn make(&mut self, name: &str, need: Need, now_s: f64) {
        let full = self.count >= MOST_OF_ALL && self.swept_s.is_none_or(|at_s| at_s + 1.0 <= now_s);
        if self.made.len() >= MANY || full {
            self.sweep(now_s);
        }
        if self.made.len() >= MANY && !self.made.contains_key(name) {
            return;
        }
        let made = self.made.entry(name.to_owned()).or_default();
        while made.len() >= MOST_OF_ONE || made.front().is_some_and(|one| !one.is_kept(now_s)) {
            made.pop_front();
            self.count -= 1;
        }
        if self.count >= MOST_OF_ALL && made.pop_front().is_some() {
            self.count -= 1;
        }
        if self.count < MOST_OF_ALL {
            made.push_back(Reservation { need, at_s: now_s });
            self.count += 1;
        }
    }

    /// Removes what has expired.
    fn sweep(&mut self, now_s: f64) {
        self.swept_s = Some(now_s);
        self.made.retain(|_, made| {
            made.retain(|one| one.is_kept(now_s));
            made.shrink_to_fit();
            !made.is_empty()
        });
        self.count = self.made.values().map(VecDeque::len).sum();
    }

    /// Takes what was reserved from what `candidate` has left, as far as its entry cannot show it.
    pub fn discount(&self, candidate: &mut Candidate, now_s: f64) {
        let made_s = now_s - candidate.age_s;
        let unknown = |one: &&Reservation| one.at_s + SHOWS_S > made_s && one.is_kept(now_s);
        for reservation in self.made.get(&candidate.name).into_iter().flatten().filter(unknown) {
            // Work that names no processors takes one, or it would not show.
            candidate.busy_cpus += reservation.need.cpus.max(1.0);
            let left = candidate.mem_free_bytes.saturating_sub(reservation.need.mem_bytes);
            candidate.mem_free_bytes = left;
        }
    }
}

impl Reservation {
    fn is_kept(&self, now_s: f64) -> bool {
        self.at_s + KEPT_S > now_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEED: Need = Need { cpus: 2.0, mem_bytes: 10 };

    #[test]
    fn a_reservation_counts_until_an_entry_shows_it_or_it_expires() {
        let mut reservations = Reservations::default();
        reservations.make("n1", NEED, 100.0);
        let busy = |now_s: f64, age_s: f64, name: &str| {
            let mut node = Candidate { age_s, ..Candidate::idle(name, 8.0, 64) };
            reservations.discount(&mut node, now_s);
            (node.busy_cpus > 0.0, node.mem_free_bytes)
        };
        assert_eq!(busy(101.0, 3.0, "n1"), (true, 54));
        assert_eq!(busy(101.0, 3.0, "n2"), (false, 64));
        assert_eq!(busy(104.0, 1.0, "n1"), (true, 54), "made since, but too early to show it");
        assert_eq!(busy(107.0, 1.0, "n1"), (false, 64));
        assert_eq!(busy(161.0, 61.0, "n1"), (false, 64), "the entry is old, and so is the pick");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut reservations = Reservations::default();
        (0..MOST_OF_ONE + 10).for_each(|_| reservations.make("n1", NEED, 1.0));
        assert_eq!(reservations.made["n1"].len(), MOST_OF_ONE);
        (0..MANY).for_each(|n| reservations.make(&format!("m{n}"), NEED, 1.0));
        reservations.make("n2", NEED, 100.0);
        assert_eq!(reservations.made.len(), 1, "all others are forgotten");
        for round in 0..20 {
            (0..8_192)
                .for_each(|n| reservations.make(&format!("m{n}"), NEED, 101.0 + f64::from(round)));
        }
        let counted = reservations.made.values().map(VecDeque::len).sum::<usize>();
        assert_eq!((reservations.count, counted), (MOST_OF_ALL, MOST_OF_ALL));
    }
}
