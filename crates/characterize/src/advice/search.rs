//! The search for a placement: all orders are tried, and the best is improved by exchanging ranks.
//!
//! Orders are judged by the predicted times of all sizes, each beside that of the default, so that
//! a size counts as much as any other. Exchanges are judged by hops times sizes, which changes with
//! every exchange where the busiest link often does not; their result is kept if it is predicted to
//! be better. All is bounded and the same each time.

use std::collections::BTreeMap;

use super::loads::Loads;
use super::machine::Machine;
use super::orders::{self, Order};
use super::pattern::Pattern;
use super::prediction::exchange_s;

/// Links that all placements which are judged may take together; about a second.
const MOST_STEPS: usize = 200_000_000;
/// Exchanges of two ranks that are looked at, for each message that changes with one.
const MOST_EXCHANGES: usize = 2_000_000;
/// A message inside a node is worth this many hops less than one to a neighbour.
const INSIDE: f64 = 0.5;
/// A placement that is better by less than this is not.
const ALIKE: f64 = 1e-9;

/// A placement, by what it came from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The orders that gave it.
    pub order: String,
    /// The place of each rank.
    pub slots: Vec<u32>,
    /// Its score: the mean over all sizes of its time beside the default's.
    pub score: f64,
}

/// What is searched for.
#[derive(Debug)]
pub(super) struct Search<'a> {
    /// Where.
    pub machine: &'a Machine,
    /// What is exchanged.
    pub pattern: &'a Pattern,
    /// Bytes of messages.
    pub sizes: &'a [f64],
    /// Which nodes may be used; all if there are none.
    pub allowed: &'a [bool],
    /// The share of each node's bandwidth that is ours.
    pub free: &'a [f64],
}

impl Search<'_> {
    fn is_allowed(&self, slot: u32) -> bool {
        self.allowed.get(self.machine.node_of(slot as usize)).copied().unwrap_or(true)
    }

    /// Seconds of an exchange for each size.
    pub(super) fn times_s(&self, loads: &Loads) -> Vec<f64> {
        let time = |bytes: &f64| exchange_s(self.machine, loads, self.free, *bytes);
        self.sizes.iter().map(time).collect()
    }

    fn score(&self, slots: &[u32], default_s: &[f64]) -> f64 {
        let times = self.times_s(&Loads::of(self.machine, self.pattern, slots));
        let ratios = times.iter().zip(default_s).map(|(own, default)| own / default);
        ratios.sum::<f64>() / default_s.len().max(1) as f64
    }

    /// The best placement. `default_slots` is one of those that are tried, if it is allowed.
    pub(super) fn best(&self, default_slots: &[u32]) -> Found {
        let default_s = self.times_s(&Loads::of(self.machine, self.pattern, default_slots));
        let steps = self.pattern.messages.len().max(1) * self.farthest();
        let tries = (MOST_STEPS / steps).max(2);
        let places = orders::of_places(self.machine);
        let ranks = orders::of_ranks(self.pattern, self.machine.each);
        let pairs = ranks.iter().flat_map(|ranks| places.iter().map(move |own| (ranks, own)));
        // The best of each order of ranks: what is best now may not be after exchanges.
        let mut bests: BTreeMap<&str, Found> = BTreeMap::new();
        for (ranks, places) in pairs.take(tries) {
            let slots = self.placed(ranks, places);
            let score = self.score(&slots, &default_s);
            let before = bests.get(ranks.name.as_str());
            if before.is_none_or(|before| score < before.score - ALIKE) {
                let order = format!("{}, ranks {}", places.name, ranks.name);
                bests.insert(&ranks.name, Found { order, slots, score });
            }
        }
        let exchanged = |own: &Found| {
            let slots = self.exchanged(&own.slots);
            let score = self.score(&slots, &default_s);
            Found { order: format!("{}, then single ranks exchanged", own.order), slots, score }
        };
        let improved: Vec<Found> = bests.values().map(exchanged).collect();
        let all = bests.into_values().chain(improved);
        all.reduce(|best, own| if own.score < best.score - ALIKE { own } else { best })
            .expect("places have one order at least, and ranks too")
    }

    /// Ranks in their order at the places that are allowed, in theirs.
    fn placed(&self, ranks: &Order, places: &Order) -> Vec<u32> {
        let mut slots = vec![0; self.pattern.ranks];
        let allowed = places.sequence.iter().filter(|slot| self.is_allowed(**slot));
        for (rank, slot) in ranks.sequence.iter().zip(allowed) {
            slots[*rank as usize] = *slot;
        }
        slots
    }

    /// The most links that a message may take.
    fn farthest(&self) -> usize {
        self.machine.network.as_ref().map_or(1, |shape| shape.worst_hops().max(1) as usize)
    }

    /// Hops of a message between two places, of which those inside a node have less than none.
    fn distance(&self, one: u32, other: u32) -> f64 {
        let [from, to] = [one, other].map(|slot| self.machine.node_of(slot as usize));
        match &self.machine.network {
            _ if from == to => -INSIDE,
            Some(shape) => f64::from(shape.hops(from as u32, to as u32)),
            None => 1.0,
        }
    }

    /// A placement after exchanges of ranks that bring partners nearer, until none does.
    fn exchanged(&self, slots: &[u32]) -> Vec<u32> {
        let partners = self.pattern.partners();
        let mut slots = slots.to_vec();
        let cost = |slots: &[u32], rank: usize, other: usize| -> f64 {
            let own = partners[rank].iter().filter(|own| own.0 != other);
            own.map(|own| own.1 * self.distance(slots[rank], slots[own.0])).sum()
        };
        let mut left = MOST_EXCHANGES;
        loop {
            let mut is_better = false;
            for rank in 0..slots.len() {
                // To come nearer to a partner, change with another who is near to it.
                for at in 0..partners[rank].len() {
                    let beside = partners[rank][at].0;
                    for (other, _) in &partners[beside] {
                        let other = *other;
                        let price = partners[rank].len() + partners[other].len();
                        if other == rank || left < price {
                            continue;
                        }
                        left -= price;
                        let before = cost(&slots, rank, other) + cost(&slots, other, rank);
                        slots.swap(rank, other);
                        let after = cost(&slots, rank, other) + cost(&slots, other, rank);
                        if after < before - ALIKE {
                            is_better = true;
                        } else {
                            slots.swap(rank, other);
                        }
                    }
                }
            }
            if !is_better {
                return slots;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::orders::tests::machine;
    use super::super::pattern::Message;
    use super::*;

    fn found(machine: &Machine, pattern: &Pattern, sizes: &[f64]) -> (Found, Found) {
        let search = Search { machine, pattern, sizes, allowed: &[], free: &[] };
        let slots: Vec<u32> = (0..pattern.ranks as u32).collect();
        let default_s = search.times_s(&Loads::of(machine, pattern, &slots));
        let score = search.score(&slots, &default_s);
        (Found { order: String::new(), slots: slots.clone(), score }, search.best(&slots))
    }

    #[test]
    fn a_grid_whose_ranks_are_numbered_at_random_is_laid_on_the_torus_and_all_places_differ() {
        let machine = machine([4, 4, 2], 2);
        let grid = Pattern::of_grid("8x8", false).expect("a grid");
        let other = |rank: u32| (rank * 29 + 7) % 64;
        let line = |own: &Message| format!("{} {}\n", other(own.from), other(own.to));
        let text: String = grid.messages.iter().map(line).collect();
        let pattern = Pattern::of_text(&text, "f").expect("a pattern");
        let (default, best) = found(&machine, &pattern, &[8.0, 1e6]);
        assert!(best.score < 0.9 * default.score, "{default:?} {best:?}");
        let mut slots = best.slots.clone();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 64, "no place is taken twice");
    }

    #[test]
    fn partners_that_are_far_apart_by_number_come_together() {
        let machine = machine([6, 1, 1], 2);
        let text: Vec<String> = (0..6).map(|rank| format!("{rank} {}\n", rank + 6)).collect();
        let pattern = Pattern::of_text(&text.concat(), "f").expect("pairs");
        let (_, best) = found(&machine, &pattern, &[1e6]);
        let loads = Loads::of(&machine, &pattern, &best.slots);
        assert!(loads.hops < 1e-12, "each pair is on one node: {best:?}");
        assert_eq!(found(&machine, &pattern, &[1e6]).1, best, "the same each time");
    }

    #[test]
    fn nodes_that_are_not_allowed_have_no_rank() {
        let machine = machine([6, 1, 1], 1);
        let pattern = Pattern::of_grid("2x2", false).expect("a grid");
        let allowed = [true, false, true, true, true, false];
        let search = Search {
            machine: &machine,
            pattern: &pattern,
            sizes: &[1e3],
            allowed: &allowed,
            free: &[],
        };
        let best = search.best(&[0, 1, 2, 3]);
        assert!(best.slots.iter().all(|slot| allowed[*slot as usize]), "{best:?}");
    }
}
