//! The laws of merging, by property: a vector is the join of all it was given.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tidings_gossip::merge::{Arrival, Merged};
use tidings_gossip::vector::Vector;
use tidings_gossip::{Incarnation, Instant, NodeId, Stamp};

const UNIT: u64 = 256_000;
const OWN: NodeId = NodeId(u32::MAX);

/// News of one origin: the payload follows from origin and stamp, as it does in life.
#[derive(Clone, Copy, Debug)]
struct News {
    origin: u32,
    life: u32,
    sequence: u32,
    age_micros: u64,
}

impl News {
    fn stamp(&self) -> Stamp {
        Stamp::new(Incarnation::new(self.life), self.sequence)
    }

    fn payload(&self) -> [u8; 4] {
        (self.origin * 31 + self.life * 7 + self.sequence).to_le_bytes()
    }
}

fn news() -> impl Strategy<Value = News> {
    (0u32..12, 0u32..3, 0u32..20, 0..30 * UNIT).prop_map(|(origin, life, sequence, age_micros)| {
        News { origin, life, sequence, age_micros }
    })
}

fn empty(capacity: usize) -> Vector {
    let own = (OWN, Stamp::new(Incarnation::new(1), 0));
    let mut vector = Vector::new(capacity, 4, UNIT, own, Instant::EPOCH);
    vector.advance(Instant::from_micros(1_000_000_000));
    vector
}

/// Merges each as a datagram of its own, the first of which has the number `first`.
fn merge_from(first: u32, vector: &mut Vector, all: &[News]) -> Vec<Merged> {
    let now = vector.advance(Instant::EPOCH);
    let one = |(at, news): (usize, &News)| {
        let arrival = Arrival {
            datagram: at as u32 + first,
            id: NodeId(news.origin),
            stamp: news.stamp(),
            birth: now.before(news.age_micros),
            payload: &news.payload(),
        };
        vector.merge(&arrival, |_| true).0
    };
    all.iter().enumerate().map(one).collect()
}

fn merge_all(vector: &mut Vector, all: &[News]) -> Vec<Merged> {
    merge_from(1, vector, all)
}

/// What a vector knows of others, without ages, which follow the copy that came first.
fn knowledge(vector: &Vector) -> BTreeMap<NodeId, (Stamp, Vec<u8>)> {
    let others = vector.iter().filter(|entry| entry.id != OWN);
    others.map(|entry| (entry.id, (entry.stamp, entry.payload.to_vec()))).collect()
}

/// The same by a reference that sorts.
fn join(all: &[News]) -> BTreeMap<NodeId, (Stamp, Vec<u8>)> {
    let mut newest = BTreeMap::new();
    for news in all {
        let held = newest.entry(NodeId(news.origin)).or_insert((Stamp::default(), Vec::new()));
        if held.1.is_empty() || news.stamp() > held.0 {
            *held = (news.stamp(), news.payload().to_vec());
        }
    }
    newest
}

proptest! {
    /// Whatever the order, the vector holds the newest news of each origin.
    #[test]
    fn merging_is_the_join(all in prop::collection::vec(news(), 0..80)) {
        let mut vector = empty(64);
        merge_all(&mut vector, &all);
        prop_assert_eq!(knowledge(&vector), join(&all));
    }

    #[test]
    fn merging_is_commutative_and_idempotent(
        (all, shuffled) in prop::collection::vec(news(), 0..60)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let (mut one, mut other) = (empty(64), empty(64));
        merge_all(&mut one, &all);
        merge_all(&mut other, &shuffled);
        prop_assert_eq!(knowledge(&one), knowledge(&other));
        let again = merge_from(1000, &mut one, &all);
        prop_assert!(again.iter().all(|merged| *merged == Merged::Stale), "{again:?}");
        prop_assert_eq!(knowledge(&one), knowledge(&other));
    }

    /// No step lowers a stamp, in a bounded vector neither while the entry is held.
    #[test]
    fn merging_is_monotone(all in prop::collection::vec(news(), 0..80), capacity in 3usize..20) {
        let mut vector = empty(capacity);
        for (at, news) in all.into_iter().enumerate() {
            let before = knowledge(&vector);
            merge_from(at as u32 + 1, &mut vector, &[news]);
            for (id, (stamp, _)) in knowledge(&vector) {
                let held = before.get(&id).map_or(Stamp::default(), |held| held.0);
                prop_assert!(stamp >= held);
            }
        }
    }

    /// A bounded vector holds the newest by age of all that were the newest of their origin.
    #[test]
    fn a_bounded_vector_keeps_the_newest(
        ages in prop::collection::btree_map(0u32..200, 0..60 * UNIT, 1..100),
        capacity in 2usize..50,
    ) {
        let mut vector = empty(capacity);
        vector.renew_own(Stamp::new(Incarnation::new(1), 1), &[]);
        let all: Vec<News> = ages
            .iter()
            .map(|(&origin, &age_micros)| News { origin, life: 1, sequence: 1, age_micros })
            .collect();
        merge_all(&mut vector, &all);
        let mut sorted: Vec<u64> = ages.values().copied().collect();
        sorted.sort_unstable();
        sorted.truncate(capacity - 1);
        let now = vector.advance(Instant::EPOCH);
        let mut held: Vec<u64> = vector
            .iter()
            .filter(|entry| entry.id != OWN)
            .map(|entry| now.saturating_since(entry.birth).as_micros() as u64)
            .collect();
        held.sort_unstable();
        prop_assert_eq!(held, sorted);
        prop_assert!(vector.get(OWN).is_some());
    }
}

#[test]
fn an_origin_that_occurs_twice_in_a_datagram_counts_once() {
    let mut vector = empty(8);
    let now = vector.advance(Instant::EPOCH);
    let mut merge = |datagram, sequence| {
        let stamp = Stamp::new(Incarnation::new(1), sequence);
        let arrival = Arrival { datagram, id: NodeId(5), stamp, birth: now, payload: &[0; 4] };
        vector.merge(&arrival, |_| true).0
    };
    assert_eq!(merge(1, 1), Merged::First);
    assert_eq!(merge(2, 2), Merged::News(Stamp::new(Incarnation::new(1), 1)));
    assert_eq!(merge(2, 3), Merged::Repeated);
    assert_eq!(merge(3, 3), Merged::News(Stamp::new(Incarnation::new(1), 2)));
}

#[test]
fn origins_that_are_no_members_are_not_taken() {
    let mut vector = empty(8);
    let (stamp, birth) = (Stamp::default(), Instant::EPOCH);
    let arrival = Arrival { datagram: 1, id: NodeId(5), stamp, birth, payload: &[0; 4] };
    assert_eq!(vector.merge(&arrival, |_| false).0, Merged::Unknown);
    assert_eq!(vector.len(), 1);
}
