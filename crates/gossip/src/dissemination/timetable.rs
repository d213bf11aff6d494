//! The timetable of strategy `staggered`: who sends when and to whom, if all clocks agree.
//!
//! In each round, a unit of time by the wall clock, the members stand in a pseudo-random order.
//! The node at place *o* of *n* sends at the part *o/n* of the unit, to the node at the place a
//! little later ([`LEAD`] of all places), which so has the news just before it sends itself. News
//! runs through a whole chain of nodes within one unit instead of waiting half a unit at each, and
//! each node hears one other a unit, not a random number of them.
//!
//! Nodes need to agree on the round and on the members, and cannot ask anybody whether they do. So
//! each watches what arrives: a window that was sent by the timetable says so, and its receiver
//! checks it against its own timetable and clock ([`Agreement`]). When most of them do not fit, the
//! node sends at its own regular times to random members, as `uniform` does, and by the timetable
//! only now and then, so that agreement is noticed when it comes back.

use super::permutation::Permutation;

/// How far ahead in the order a node sends, as a part of all places and so of the unit of time:
/// less brings news on faster, more forgives clocks that differ more (decision record 0007).
pub const LEAD: f64 = 1.0 / 64.0;
/// How far from its time in the timetable a window may arrive and still fit, in parts of a unit.
const TOLERANCE: f64 = 1.0 / 8.0;

/// The rounds of a cluster of nodes whose clocks agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timetable {
    members: usize,
    unit_micros: i64,
    key: u64,
}

impl Timetable {
    /// The timetable of `members` nodes. `key` stands for the cluster: others have another order.
    pub fn of(members: usize, unit_micros: i64, key: u64) -> Self {
        Self { members: members.max(2), unit_micros: unit_micros.max(1), key }
    }

    /// The time on the wall clock, in microseconds, at which the member numbered `index` sends in
    /// `round`.
    pub fn departure_micros(&self, round: i64, index: usize) -> i64 {
        let place = self.order(round).place(index) as i128;
        let within = place * i128::from(self.unit_micros) / self.members as i128;
        round.saturating_mul(self.unit_micros).saturating_add(within as i64)
    }

    /// The round that is under way at `wall_micros`.
    pub fn round_at(&self, wall_micros: i64) -> i64 {
        wall_micros.div_euclid(self.unit_micros)
    }

    /// The first departure of `index` after `wall_micros`, as its round and its time.
    pub fn next_departure(&self, wall_micros: i64, index: usize) -> (i64, i64) {
        let round = self.round_at(wall_micros);
        let at = self.departure_micros(round, index);
        if at > wall_micros {
            (round, at)
        } else {
            (round + 1, self.departure_micros(round + 1, index))
        }
    }

    /// Whom `index` sends to in `round`; never itself.
    pub fn target(&self, round: i64, index: usize) -> usize {
        let place = self.order(round).place(index) + self.lead();
        let target = self.at(round, place);
        if target == index { self.at(round, place + 1) } else { target }
    }

    /// Whether a window that `sender` sent by its timetable, and that arrived at `wall_micros` at
    /// `receiver`, was meant for it and came in time.
    pub fn fits(&self, wall_micros: i64, sender: usize, receiver: usize) -> bool {
        let now = self.round_at(wall_micros);
        (now - 1..=now + 1).any(|round| {
            let off = self.departure_micros(round, sender).abs_diff(wall_micros);
            off as f64 <= TOLERANCE * self.unit_micros as f64
                && self.target(round, sender) == receiver
        })
    }

    /// Places between a sender and its target.
    fn lead(&self) -> usize {
        ((self.members as f64 * LEAD) as usize).max(1)
    }

    /// Who stands at a place of a round's order; places from n on are the next round's.
    fn at(&self, round: i64, place: usize) -> usize {
        let (round, place) = match place.checked_sub(self.members) {
            Some(beyond) => (round + 1, beyond),
            None => (round, place),
        };
        self.order(round).index(place)
    }

    fn order(&self, round: i64) -> Permutation {
        Permutation::of(self.members, self.key ^ (round as u64))
    }
}

/// Whether this node's timetable is the others' too, by what arrived lately.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Agreement {
    /// Of the windows sent by timetable, the share that fitted; the later ones count more.
    share: f64,
}

/// What one window counts.
const WEIGHT: f64 = 1.0 / 8.0;
/// Every how many rounds a node without agreement sends by the timetable, to find out.
const PROBE_ROUNDS: i64 = 16;

impl Default for Agreement {
    fn default() -> Self {
        Self { share: 1.0 }
    }
}

impl Agreement {
    /// Notes whether a window sent by timetable fitted.
    pub fn note(&mut self, fitted: bool) {
        self.share += WEIGHT * (f64::from(u8::from(fitted)) - self.share);
    }

    /// Whether to go by the timetable.
    pub fn holds(self) -> bool {
        self.share >= 0.5
    }

    /// The round and the time at which the member numbered `index` sends next by the timetable,
    /// after `wall_micros`; `None` if it sends a unit later, to anybody.
    pub fn next_departure(
        self,
        table: &Timetable,
        wall_micros: i64,
        index: usize,
    ) -> Option<(i64, i64)> {
        if self.holds() {
            return Some(table.next_departure(wall_micros, index));
        }
        // Half a unit of pause at least, one on average: a probe costs no message more.
        let departure = table.next_departure(wall_micros + table.unit_micros / 2, index);
        (departure.0.rem_euclid(PROBE_ROUNDS) == 0).then_some(departure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT: i64 = 256_000;

    proptest! {
        /// From one departure to the next of all nodes each is sent to once, but where a node
        /// would send to itself.
        #[test]
        fn targets_are_a_permutation(
            n in 2usize..300, round in 0i64..1_000_000, key in any::<u64>(),
        ) {
            let table = Timetable::of(n, UNIT, key);
            let mut hits = vec![0u32; n];
            for place in 0..n {
                let index = table.at(round, place);
                let target = table.target(round, index);
                prop_assert_ne!(target, index);
                // Count only targets of this round's order; the rest belong to the next.
                if place + table.lead() < n {
                    hits[target] += 1;
                }
            }
            prop_assert!(hits.iter().all(|&hit| hit <= 1));
        }

        #[test]
        fn what_is_sent_by_the_timetable_fits_and_little_else(
            n in 32usize..300, round in 1i64..1_000_000,
            index in 0usize..32, late in 0i64..UNIT / 8,
        ) {
            let table = Timetable::of(n, UNIT, 5);
            let (target, at) = (table.target(round, index), table.departure_micros(round, index));
            prop_assert!(table.fits(at + late, index, target));
            let other = (target + 1) % n;
            let elsewhere = [-1, 0, 1].map(|near| table.target(round + near, index));
            prop_assert!(elsewhere.contains(&other) || !table.fits(at, index, other));
        }
    }

    #[test]
    fn departures_are_spread_over_the_unit_and_follow_each_other() {
        let table = Timetable::of(100, UNIT, 1);
        let mut times: Vec<i64> = (0..100).map(|index| table.departure_micros(7, index)).collect();
        times.sort_unstable();
        let expected: Vec<i64> = (0..100).map(|place| 7 * UNIT + place * UNIT / 100).collect();
        assert_eq!(times, expected);
        let (round, at) = table.next_departure(7 * UNIT - 1, 3);
        assert_eq!(table.next_departure(at, 3).0, round + 1);
    }

    #[test]
    fn agreement_is_lost_and_found() {
        let mut agreement = Agreement::default();
        assert!(agreement.holds());
        (0..6).for_each(|_| agreement.note(false));
        let table = Timetable::of(10, UNIT, 3);
        let rounds = |agreement: Agreement| {
            let departures = (0..64).filter_map(|n| agreement.next_departure(&table, n * UNIT, 2));
            departures.map(|(round, _)| round).collect::<Vec<_>>()
        };
        let probes = rounds(agreement);
        assert!(!agreement.holds() && probes.iter().all(|round| round % PROBE_ROUNDS == 0));
        assert!((3..=8).contains(&probes.len()), "{probes:?}");
        (0..6).for_each(|_| agreement.note(true));
        assert!(agreement.holds() && rounds(agreement).len() == 64);
    }
}
