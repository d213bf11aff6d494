//! Origins: which of its entries a node chooses as a base.
//!
//! A base has a price, since each other node has to receive it once; an old base is dear too, since
//! each entry then has to say all that changed since. That is the question whether to rent or to
//! buy, and the answer is the usual one: rent until the rent that a purchase would have saved is
//! its price (Karlin, Manasse, Rudolph and Sleator, Algorithmica 3, 1988). The price is what the
//! new base says otherwise than the present one, since who holds that is told it by a step. What it
//! would have saved is measured, not guessed: beside its base an origin keeps a *candidate*, the
//! entry that a receiver got before, and counts how much shorter changes by that one would be.
//! Readings that change all the time differ from both, so they are no reason for a base. Rent is
//! due when an entry is sent: where a receiver gets one every so many units (*pace*), a purchase
//! has to save so many times as much, and a candidate is so many units old.
//!
//! A receiver that missed two bases has to be told the third whole. So they are two paces apart at
//! least: one that gets an entry in each has every base or the one before. Where whole entries of
//! all nodes take many units, they are also a quarter of these apart: who has fallen behind all
//! others gets an entry in more than a pace, and would see whole ones for good.
//!
//! What is all new each unit differs as much from any base, so it keeps the one it has: that tells
//! whose an entry is and of which life, in fewer bits than a whole entry does.
//!
//! Invariant: an entry's base is of its incarnation and not later than it.

use super::bases::{Base, Name};
use super::change;
use crate::entry::{NodeId, Stamp};

/// The most units that an entry may be later than its base: four and a half hours at 256 ms. So a
/// distance has at most 31 bits, whatever order its group has.
pub const MAX_DISTANCE: u32 = 65_535;

/// Paces from one base to the next, at least.
const PACES_APART: i64 = 2;
/// And so large a part, at least, of the units that whole entries of all nodes take.
const SWEEP_PART: i64 = 4;

/// A node's own base.
#[derive(Clone, Debug)]
pub struct Origin {
    id: NodeId,
    /// The stamp and payload of its base; none before the first entry.
    base: Option<Stamp>,
    payload: Vec<u8>,
    /// What another base would say, how many units ago that was said, and the bits that it would
    /// have saved so far.
    candidate: Vec<u8>,
    age_units: i64,
    saved: i64,
    /// Units from one entry that a receiver gets to the next.
    pace: i64,
    /// Units from one base to the next, at least.
    apart: i64,
}

impl Origin {
    /// The node of this id, with payloads of so many bytes at most; it has no base yet.
    pub fn new(id: NodeId, payload_bytes: usize) -> Self {
        let [payload, candidate] = [(); 2].map(|()| Vec::with_capacity(payload_bytes));
        Self {
            id,
            base: None,
            payload,
            candidate,
            age_units: 0,
            saved: 0,
            pace: 1,
            apart: PACES_APART,
        }
    }

    /// A receiver gets an entry every so many units, one or more; whole entries of all nodes would
    /// take so many to come.
    pub fn set_pace(&mut self, units: u32, sweep_units: u32) {
        self.pace = i64::from(units.max(1));
        self.apart = (PACES_APART * self.pace).max(i64::from(sweep_units) / SWEEP_PART);
    }

    /// Takes the node's next entry; `true` if that is a base from now on.
    pub fn renew(&mut self, stamp: Stamp, payload: &[u8]) -> bool {
        if self.keeps(stamp, payload) {
            return false;
        }
        self.base = Some(stamp);
        payload.clone_into(&mut self.payload);
        self.saved = 0;
        self.propose(payload);
        true
    }

    /// What its entries are measured by.
    pub fn base(&self) -> Option<Base<'_>> {
        self.base.map(|stamp| Base {
            name: Name {
                id: self.id,
                incarnation: stamp.incarnation(),
                sequence: stamp.sequence(),
            },
            payload: &self.payload,
        })
    }

    /// Whether an entry is measured by the present base; counts what that takes.
    fn keeps(&mut self, stamp: Stamp, payload: &[u8]) -> bool {
        let Some(base) = self.base else { return false };
        let same_life = base.incarnation() == stamp.incarnation();
        let Some(distance) = stamp.sequence().checked_sub(base.sequence()) else { return false };
        if !same_life || distance > MAX_DISTANCE || stamp.is_last() {
            return false;
        }
        let (bits, whole) = (change::bits(&self.payload, payload), payload.len() * 8);
        let by_candidate = change::bits(&self.candidate, payload);
        self.saved = (self.saved + bits as i64 - by_candidate as i64).max(0);
        self.age_units += 1;
        // A candidate that nothing is like any more is none.
        if by_candidate > whole || self.age_units >= self.pace {
            self.propose(payload);
        }
        let is_young = i64::from(distance) < self.apart;
        bits == 1 || is_young || self.saved < self.pace * bits.min(whole) as i64
    }

    fn propose(&mut self, payload: &[u8]) {
        payload.clone_into(&mut self.candidate);
        self.age_units = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Incarnation;

    const LIFE: Incarnation = Incarnation::new(5);

    fn bases(payloads: impl Iterator<Item = [u8; 64]>) -> Vec<usize> {
        let mut origin = Origin::new(NodeId(1), 64);
        let stamps = (0..).map(|sequence| Stamp::new(LIFE, sequence));
        let made = stamps.zip(payloads).map(|(stamp, payload)| origin.renew(stamp, &payload));
        made.enumerate().filter(|(_, is_base)| *is_base).map(|(unit, _)| unit).collect()
    }

    #[test]
    fn a_node_whose_readings_stay_makes_one_base() {
        assert_eq!(bases((0..5_000).map(|_| [7; 64])), [0]);
    }

    #[test]
    fn a_reading_that_always_changes_is_no_reason_for_a_base_and_one_that_stays_away_is() {
        let busy = |unit: usize| {
            let mut payload = [0; 64];
            payload[26] = (unit % 2) as u8 + 1;
            payload
        };
        assert_eq!(bases((0..5_000).map(busy)), [0]);
        let moved = |unit: usize| {
            let mut payload = busy(unit);
            payload[..4].copy_from_slice(&((unit / 1_000) as u32 * 77).to_le_bytes());
            payload
        };
        let made = bases((0..5_000).map(moved));
        assert_eq!(made.len(), 5, "{made:?}");
        assert!(made.iter().all(|unit| unit % 1_000 < 120), "{made:?}");
    }

    #[test]
    fn who_is_heard_of_seldom_makes_fewer_bases() {
        let made = [(1, 0, 2), (8, 60, 16), (8, 80, 20)].map(|(pace, sweep, apart)| {
            let mut origin = Origin::new(NodeId(1), 64);
            origin.set_pace(pace, sweep);
            let say = |unit: u32| {
                let mut payload = [0; 64];
                payload[..4].copy_from_slice(&(unit / 5 * 77).to_le_bytes());
                origin.renew(Stamp::new(LIFE, unit), &payload)
            };
            let made: Vec<bool> = (0..10_000).map(say).collect();
            let units = |from: usize| made[from + 1..].iter().position(|is_base| *is_base);
            let least = (0..10_000).filter(|&unit| made[unit]).filter_map(units).min();
            assert!(least.is_some_and(|least| least + 1 >= apart), "{least:?}");
            made.into_iter().filter(|is_base| *is_base).count()
        });
        assert!(made[1] * 2 < made[0], "{made:?}");
    }

    #[test]
    fn readings_that_are_all_new_keep_their_base_until_they_stay() {
        let noise = |unit: usize| {
            let mut bits = unit as u64;
            core::array::from_fn(|_| {
                bits = tidings_primitives::chance::mix(bits);
                bits as u8
            })
        };
        assert_eq!(bases((0..500).map(noise)), [0]);
        let made = bases((0..500).map(|unit| noise(unit.min(300))));
        assert!(made.len() == 2 && made[1] < 320, "{made:?}");
    }

    #[test]
    fn a_later_life_and_a_farewell_have_bases_of_their_own() {
        let mut origin = Origin::new(NodeId(1), 4);
        assert!(origin.base().is_none());
        assert!(origin.renew(Stamp::new(LIFE, 7), b"same"));
        assert!(!origin.renew(Stamp::new(LIFE, 8), b"same"));
        let next = LIFE.next().expect("5 is not the last");
        assert!(origin.renew(Stamp::new(next, 9), b"same"));
        assert_eq!(origin.base().map(|base| base.name.sequence), Some(9));
        assert!(!origin.renew(Stamp::new(next, 9 + MAX_DISTANCE), b"same"));
        assert!(origin.renew(Stamp::new(next, 10 + MAX_DISTANCE), b"same"));
        assert!(origin.renew(Stamp::left(next), b"same"));
    }
}
