//! Bad input, one kind a test: each is dropped, counted under its name, and changes nothing.

mod cluster;
mod pair;

use std::time::Duration;

use cluster::{Cluster, UNIT, address, config, member, name};
use pair::{NOW, Pair, answers, body, datagram_of, id, keys, make, pair, stamp};
use tidings_gossip::wire::header::{self, Header, Kind};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::{
    Capacity, Incarnation, Instant, KeyRing, Member, Node, NodeId, Stamp, Window,
};

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let mut pair = pair();
    let whole = datagram_of(&mut pair.sender);
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (counters, _) = pair.feed(&damaged);
        assert_eq!(counters.entries_received, 0, "bit {bit}");
    }
    for len in 0..whole.len() {
        pair.feed(&whole[..len]);
    }
    let mut longer = whole.clone();
    longer.push(0);
    pair.is_dropped(&longer, "dropped_corrupt");
    assert_eq!(pair.victim.counters().entries_received, 0);
    let (counters, _) = pair.feed(&whole);
    assert_eq!(counters.entries_news, 1, "the undamaged one is taken");
}

#[test]
fn oversized_and_foreign_datagrams() {
    let mut pair = pair();
    pair.is_dropped(&vec![0xFF; 65_507], "dropped_foreign");
    pair.is_dropped(&[], "dropped_foreign");
    pair.is_dropped(b"GET / HTTP/1.1\r\nHost: n0\r\n\r\n", "dropped_foreign");
}

#[test]
fn replayed_datagrams() {
    let mut pair = pair();
    let datagram = datagram_of(&mut pair.sender);
    pair.feed(&datagram);
    pair.is_dropped(&datagram, "dropped_replayed");
}

#[test]
fn datagrams_of_an_earlier_life() {
    let mut pair = pair();
    let config = config(3);
    let old = datagram_of(&mut make(&config, 1, keys(1), 1));
    let mut reborn = make(&config, 1, keys(1), 2);
    pair.feed(&datagram_of(&mut reborn));
    // The same seed gave both lives one salt; another would be refused before the counter is.
    let mut other_salt = old.clone();
    other_salt[16] ^= 1;
    pair.is_dropped(&other_salt, "dropped_stale_sender");
}

#[test]
fn another_cluster() {
    let mut pair = pair();
    let mut other = config(3);
    other.cluster = "another".to_owned();
    let datagram = datagram_of(&mut make(&other, 1, keys(1), 1));
    pair.is_dropped(&datagram, "dropped_cluster");
}

#[test]
fn another_key() {
    let mut pair = pair();
    let datagram = datagram_of(&mut make(&config(3), 1, keys(2), 1));
    pair.is_dropped(&datagram, "dropped_key");
    // The same key id does not help: the seal is what counts.
    let mut forged = datagram;
    forged[15] = datagram_of(&mut pair.sender)[15];
    pair.is_dropped(&forged, "dropped_corrupt");
}

#[test]
fn a_future_version_and_an_unknown_kind() {
    let mut pair = pair();
    let mut datagram = datagram_of(&mut pair.sender);
    for version in [0, header::HIGHEST_VERSION + 1, 255] {
        datagram[2] = version;
        pair.is_dropped(&datagram, "dropped_version");
    }
    datagram[2] = 2;
    pair.is_dropped(&datagram, "dropped_corrupt"); // the tag covers the version
    datagram[2] = 1;
    datagram[3] = 77;
    pair.is_dropped(&datagram, "dropped_version");
}

#[test]
fn senders_that_are_strangers_or_oneself() {
    let mut pair = pair();
    let body = body(&[(id(2), stamp(1, 1), 0)]);
    let stranger = pair.sealed(&body, |head| head.sender = NodeId(99));
    pair.is_dropped(&stranger, "dropped_unknown_sender");
    let own = pair.sealed(&body, |head| head.sender = NodeId(id(0)));
    pair.is_dropped(&own, "dropped_own_id");
}

#[test]
fn bodies_that_contradict_themselves() {
    let mut pair = pair();
    let good = body(&[(id(2), stamp(1, 1), 0)]);
    for len in 0..good.len() {
        let datagram = pair.sealed(&good[..len], |head| head.counter = len as u64 + 1);
        pair.is_dropped(&datagram, "dropped_malformed");
    }
    let mut counts_more = good.clone();
    counts_more[4..6].copy_from_slice(&u16::MAX.to_le_bytes());
    let datagram = pair.sealed(&counts_more, |head| head.counter = 100);
    pair.is_dropped(&datagram, "dropped_malformed");
    let mut other_schema = good.clone();
    other_schema[0] = 2;
    let datagram = pair.sealed(&other_schema, |head| head.counter = 101);
    pair.is_dropped(&datagram, "dropped_schema");
    let datagram = pair.sealed(&good, |head| head.counter = 102);
    assert_eq!(pair.feed(&datagram).0.entries_news, 1);
}

#[test]
fn entries_with_impossible_ages_unknown_and_double_origins() {
    let mut pair = pair();
    // The largest age there is: over two years.
    let old = pair.sealed(&body(&[(id(2), stamp(1, 1), u16::MAX)]), |_| {});
    pair.is_dropped(&old, "entries_impossible_age");
    let unknown = pair.sealed(&body(&[(12345, stamp(1, 1), 0)]), |head| head.counter = 2);
    pair.is_dropped(&unknown, "entries_unknown_origin");
    let twice = body(&[(id(2), stamp(1, 5), 9), (id(2), stamp(1, 6), 9), (id(2), stamp(1, 4), 9)]);
    let twice = pair.sealed(&twice, |head| head.counter = 3);
    let (counters, known) = pair.feed(&twice);
    assert_eq!((counters.entries_news, counters.entries_duplicate_origin), (1, 2));
    assert!(known.contains(&(NodeId(id(2)), 1, Some(5))));
    let lower = pair.sealed(&body(&[(id(2), stamp(1, 2), 0)]), |head| head.counter = 4);
    pair.is_dropped(&lower, "entries_stale");
}

#[test]
fn news_of_oneself_from_the_future_is_overtaken() {
    let mut pair = pair();
    let forged = pair.sealed(&body(&[(id(0), stamp(7, 3), 0)]), |_| {});
    let (counters, _) = pair.feed(&forged);
    assert_eq!((counters.refutations, pair.victim.incarnation().get()), (1, 8));
    let last = pair.sealed(&body(&[(id(0), stamp(0x00FF_FFFF, 3), 0)]), |head| head.counter = 2);
    pair.feed(&last);
    assert_eq!(pair.victim.incarnation().get(), 8, "there is nothing beyond the last incarnation");
}

#[test]
fn asks_and_answers_that_are_nonsense() {
    let mut pair = pair();
    let mut counter = 0;
    for kind in [Kind::Ask, Kind::Answer] {
        for body in [&[][..], &[0xFF; 40], &[0, 1, 8, 0, 0xFF, 0xFF], &[1, 1, 8, 0, 0, 0, 0]] {
            counter += 1;
            let datagram = pair.sealed(body, |head| (head.kind, head.counter) = (kind, counter));
            pair.is_dropped(&datagram, "dropped_malformed");
        }
    }
}

/// A sender never has more owed to it than a fixed number of answers, and none is larger than what
/// was asked.
#[test]
fn asks_are_answered_in_bounded_number_and_size() {
    let mut config = config(40);
    config.datagram_bytes = 1452;
    let mut cluster = Cluster::with_roster(&config, 40);
    cluster.run(30);
    let own = body(&[(id(1), stamp(1, 1), 0)]).split_off(6);
    let mut ask = vec![0, 1, 8, 0];
    ask.extend_from_slice(&own);
    ask.extend_from_slice(&[0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0]);
    ask.resize(1452 - header::BYTES - TAG_BYTES, 0);
    let keys = KeyRing::open("tidings");
    let now = cluster.now;
    let victim = cluster.node(0);
    for counter in 0..100 {
        let head = Header {
            version: 1,
            kind: Kind::Ask,
            cluster: header::cluster_hash("tidings"),
            sender: NodeId(id(1)),
            incarnation: Incarnation::new(2),
            key_id: 0,
            salt: 5,
            counter: counter + 1,
        };
        let mut datagram = head.to_bytes().to_vec();
        datagram.extend_from_slice(&ask);
        datagram.resize(datagram.len() + TAG_BYTES, 0);
        keys.seal(&mut datagram);
        assert_eq!(datagram.len(), 1452);
        victim.handle_datagram(now, address(1), &mut datagram);
    }
    let mut buffer = vec![0; 65_507];
    let mut answers = 0;
    while let Some(out) = victim.poll_transmit(now, &mut buffer) {
        assert!(out.segment_bytes <= 1452);
        answers += 1;
    }
    assert_eq!(answers, 16);
    // Of a member's share of 64 at once.
    assert_eq!(victim.counters().dropped_answers, 64 - 16);
    assert_eq!(victim.counters().dropped_excess, 100 - 64);
}

/// An ask as node 1 would make it, naming nobody; with the card of node 1 or without.
fn ask(own: Stamp, with_card: bool, range: [u32; 2], ids: &[u32]) -> Vec<u8> {
    let mut ask = vec![u8::from(with_card), 1, 8, 0];
    if with_card {
        ask.push(name(1).len() as u8);
        ask.extend_from_slice(name(1).as_bytes());
        ask.push(4);
        ask.extend_from_slice(address(1).as_bytes());
    }
    ask.extend_from_slice(&body(&[(id(1), own, 0)])[6..]);
    ask.extend(range.iter().flat_map(|end| end.to_le_bytes()));
    ask.extend_from_slice(&(ids.len() as u16).to_le_bytes());
    ask.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    ask
}

/// Whoever recorded an ask of an earlier life can send it again: nothing is taken from it, and it
/// is answered only while that helps a node that has restarted.
#[test]
fn replayed_asks_of_an_earlier_life() {
    let mut pair = pair();
    let past = pair.sealed(&ask(stamp(1, 9), false, [0, u32::MAX], &[]), |head| {
        (head.kind, head.salt) = (Kind::Ask, 5);
    });
    let present = body(&[(id(1), stamp(2, 1), 0)]);
    let present = pair.sealed(&present, |head| head.incarnation = Incarnation::new(2));
    pair.feed(&present);
    for _ in 0..3 {
        pair.feed(&past);
        assert_eq!(answers(&mut pair.victim, NOW), 1, "the later life is reported");
    }
    assert_eq!(pair.victim.counters().entries_received, 1, "nothing is taken from them");
    // An hour later the member is forgotten, and is not brought back.
    let later = NOW + Duration::from_secs(3601);
    pair.victim.handle_timeout(later);
    let held = |victim: &Node| victim.entry(&name(1), later).expect("a member").age;
    assert_eq!(held(&pair.victim), None);
    for datagram in [&past, &present] {
        pair.victim.handle_datagram(later, address(1), &mut datagram.clone());
        assert_eq!(held(&pair.victim), None);
    }
}

/// An entry that was forgotten does not come back by one who remembers it as younger, or as older
/// news; a later one does.
#[test]
fn what_was_forgotten_is_not_taken_again() {
    let mut pair = pair();
    let mut counter = 0;
    let mut window = |pair: &Pair, sequence| {
        counter += 1;
        pair.sealed(&body(&[(id(2), stamp(1, sequence), 0)]), |head| head.counter = counter)
    };
    let first = window(&pair, 5);
    pair.feed(&first);
    let later = NOW + Duration::from_secs(3601);
    pair.victim.handle_timeout(later);
    assert_eq!(pair.victim.counters().members_forgotten, 1);
    for (sequence, known) in [(5, false), (4, false), (6, true)] {
        let mut datagram = window(&pair, sequence);
        pair.victim.handle_datagram(later, address(1), &mut datagram);
        let view = pair.victim.entry(&name(2), later).expect("a member");
        assert_eq!(view.age.is_some(), known, "sequence {sequence}");
    }
    assert_eq!(pair.victim.counters().entries_stale, 2);
}

#[test]
fn the_first_ask_of_a_newcomer_counts_once() {
    let mut config = config(8);
    config.datagram_bytes = 1452;
    let life = Incarnation::new(1);
    let mut victim = Node::new(config, keys(1), member(0), &[], life, 0, Instant::EPOCH)
        .expect("the configuration is valid");
    let ask = pair().sealed(&ask(stamp(1, 1), true, [0, u32::MAX], &[]), |head| {
        head.kind = Kind::Ask;
    });
    for _ in 0..3 {
        victim.handle_datagram(NOW, address(1), &mut ask.clone());
    }
    assert_eq!(answers(&mut victim, NOW), 1);
    assert_eq!(victim.counters().dropped_replayed, 2);
}

/// Ranges upside down, ids in any order, twice or of nobody: an answer of no more than there is.
#[test]
fn asks_about_senseless_ranges() {
    let mut pair = pair();
    let unsorted = [u32::MAX, id(2), 0, id(2), id(0), 7];
    let ranges = [[0, u32::MAX], [u32::MAX, 0], [5, 5], [u32::MAX, u32::MAX], [id(0), id(0)]];
    for (at, range) in ranges.into_iter().enumerate() {
        let ask = ask(stamp(1, at as u32 + 1), false, range, &unsorted);
        let datagram =
            pair.sealed(&ask, |head| (head.kind, head.counter) = (Kind::Ask, at as u64 + 1));
        let (counters, _) = pair.feed(&datagram);
        assert_eq!(counters.entries_news, at as u64 + 1);
        assert_eq!(answers(&mut pair.victim, NOW), 1);
    }
}

/// What is malformed anywhere is of no use anywhere.
#[test]
fn an_answer_with_one_bad_entry() {
    let mut pair = pair();
    let good = body(&[(id(2), stamp(1, 1), 0)]).split_off(6);
    let mut answer = vec![0, 1, 8, 0, 2, 0];
    answer.extend_from_slice(&good);
    answer.extend_from_slice(&good[..good.len() - 1]);
    let datagram = pair.sealed(&answer, |head| head.kind = Kind::Answer);
    pair.is_dropped(&datagram, "dropped_malformed");
    assert_eq!(pair.victim.counters().entries_received, 0);
}

#[test]
fn a_counter_that_no_sender_begins_with() {
    let mut pair = pair();
    let body = body(&[(id(2), stamp(1, 1), 0)]);
    let datagram = pair.sealed(&body, |head| head.counter = 0);
    pair.is_dropped(&datagram, "dropped_replayed");
}

/// An answer that introduces node 1, as it was at an address, by an entry with that stamp.
fn introduced(pair: &Pair, counter: u64, own: Stamp, age: u16, at: usize) -> Vec<u8> {
    let mut answer = vec![1, 1, 8, 0, 1, 0, name(1).len() as u8];
    answer.extend_from_slice(name(1).as_bytes());
    answer.push(4);
    answer.extend_from_slice(address(at).as_bytes());
    answer.extend_from_slice(&body(&[(id(1), own, age)])[6..]);
    pair.sealed(&answer, |head| {
        (head.kind, head.counter, head.sender) = (Kind::Answer, counter, NodeId(id(2)));
    })
}

/// Only a later life moves a member, and only one that lives becomes one.
#[test]
fn cards_that_lie_about_where_a_member_is() {
    let life = Incarnation::new(1);
    let mut victim = Node::new(config(8), keys(1), member(0), &[], life, 0, Instant::EPOCH)
        .expect("the configuration is valid");
    let pair = pair();
    let mut counter = 0;
    let mut place_after = |own, age, at| {
        counter += 1;
        victim.handle_datagram(NOW, address(2), &mut introduced(&pair, counter, own, age, at));
        victim.entry(&name(1), NOW).map(|view| view.address)
    };
    let life = Incarnation::new(4);
    assert_eq!(place_after(Stamp::left(life), 0, 1), None, "nobody joins by a farewell");
    assert_eq!(place_after(stamp(4, 1), u16::MAX, 1), None, "nor by news too old");
    assert_eq!(place_after(stamp(4, 1), 0, 1), Some(address(1)));
    assert_eq!(place_after(stamp(4, 9), 0, 66), Some(address(1)), "the life is the same");
    assert_eq!(place_after(stamp(3, 9), 0, 66), Some(address(1)), "it is over");
    assert_eq!(place_after(stamp(5, 0), 0, 7), Some(address(7)));
}

#[test]
fn news_of_oneself_after_the_farewell() {
    let mut pair = pair();
    pair.victim.leave(NOW);
    let forged = pair.sealed(&body(&[(id(0), stamp(7, 3), 0)]), |_| {});
    let (counters, _) = pair.feed(&forged);
    assert_eq!((counters.refutations, pair.victim.incarnation().get()), (0, 1));
}

/// Impossible for others, it may still be what this node once said: it must overtake it.
#[test]
fn news_of_oneself_of_any_age_is_overtaken() {
    let mut pair = pair();
    let old = pair.sealed(&body(&[(id(0), stamp(7, 3), u16::MAX)]), |_| {});
    assert_eq!(pair.feed(&old).0.refutations, 1);
}

/// Every received entry is counted under one name.
#[test]
fn entries_add_up() {
    let mut cluster = Cluster::with_seed(&config(30), 30);
    cluster.run(20);
    cluster.leave(3);
    cluster.run(40);
    for node in cluster.up() {
        let c = node.counters();
        let refused = c.entries_impossible_age + c.entries_unknown_origin + c.entries_too_old;
        let known = c.entries_news + c.entries_stale + c.entries_duplicate_origin + c.refutations;
        assert_eq!(c.entries_received, known + refused, "{c:?}");
    }
}

/// Entries come and go in a bounded vector, old news and new in any order, with any age: what was
/// once known of an origin is the least that is ever shown again.
#[test]
fn a_bounded_vector_does_not_go_back_either() {
    let mut config = config(12);
    (config.window, config.capacity) = (Window::Entries(2), Capacity::Bounded(4));
    let roster: Vec<Member> = (0..12).map(member).collect();
    let life = Incarnation::new(1);
    let mut victim = Node::new(config, keys(1), member(0), &roster, life, 0, Instant::EPOCH)
        .expect("the configuration is valid");
    let pair = pair();
    let mut chance = 1u32;
    let mut below = |n: u32| {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (chance >> 16) % n
    };
    let mut known = std::collections::BTreeMap::new();
    for counter in 1..3000 {
        let mut entry = || {
            (
                id(1 + below(11) as usize),
                stamp(1, counter as u32 / 8 + below(60)),
                below(15_000) as u16,
            )
        };
        let entries = [entry(), entry(), entry()];
        let mut datagram = pair.sealed(&body(&entries), |head| head.counter = counter);
        let now = NOW + UNIT / 4 * counter as u32;
        victim.handle_timeout(now);
        victim.handle_datagram(now, address(1), &mut datagram);
        for view in victim.entries(now).filter(|view| view.age.is_some()) {
            let before = known.insert(view.id, view.sequence).unwrap_or_default();
            assert!(view.sequence >= before, "{}: {before:?} before, now {view:?}", view.name);
        }
    }
    assert!(victim.counters().entries_evicted > 20, "{:?}", victim.counters());
}
