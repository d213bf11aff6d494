//! A member with the key that sends what it likes.

mod groups;

use super::*;
use tidings_gossip::Stamp;
use tidings_gossip::delta::{Base, Body, Item, Name};
use tidings_gossip::wire::header::{Header, Kind, cluster_hash};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::wire::window::{Format, Marks};

const FORMAT: Format = Format { schema: 1, payload_bytes: PAYLOAD_BYTES as u16 };

fn id(n: usize) -> NodeId {
    NodeId::of_name(&name(n), 0)
}

/// A datagram of version 3 from node 1.
fn sealed(kind: Kind, counter: u64, body: &[u8]) -> Vec<u8> {
    let cluster = settings(4, 3, PERCENT).cluster;
    let header = Header {
        version: 3,
        kind,
        cluster: cluster_hash(&cluster),
        sender: id(1),
        incarnation: Incarnation::new(1),
        key_id: 0,
        salt: 5,
        counter,
    };
    let mut datagram = [&header.to_bytes()[..], &[0], body, &[0; TAG_BYTES]].concat();
    KeyRing::open(&cluster).seal(&mut datagram);
    datagram
}

fn base(n: usize, life: u32, sequence: u32, payload: &[u8]) -> Base<'_> {
    Base { name: Name { id: id(n), incarnation: Incarnation::new(life), sequence }, payload }
}

fn item<'a>(base: Base<'a>, distance: u32, payload: &'a [u8]) -> Item<'a> {
    let stamp = Stamp::new(base.name.incarnation, base.name.sequence + distance);
    Item { stamp, age: 10, payload, base, from: None }
}

fn body(fill: impl FnOnce(&mut Body<'_>) -> usize) -> Vec<u8> {
    let mut buffer = vec![0; 1_000];
    let mut body = Body::begin(&mut buffer, FORMAT, Marks::NONE).expect("there is room");
    assert!(fill(&mut body) > 0);
    let bytes = body.finish();
    buffer.truncate(bytes);
    buffer
}

fn victim(version: u8) -> Node {
    let roster: Vec<Member> = (0..4).map(member).collect();
    node(&settings(4, version, PERCENT), 0, &roster, 1, Instant::EPOCH)
}

/// What the victim holds of node 2: incarnation, sequence and the first byte.
fn held(victim: &Node) -> Option<(u32, u32, u8)> {
    let view = victim.entry(&name(2), Instant::EPOCH + UNIT)?;
    let sequence = view.sequence.filter(|_| view.state == EntryState::Alive)?;
    Some((view.incarnation, sequence, view.payload[0]))
}

#[test]
fn what_is_told_by_a_base_that_was_never_sent_is_counted_and_not_taken() {
    let (mut victim, now) = (victim(3), Instant::EPOCH + UNIT);
    let (old, new) = ([7; PAYLOAD_BYTES], [8; PAYLOAD_BYTES]);
    let mut counter = 0;
    let mut receive = |victim: &mut Node, body: &[u8]| {
        counter += 1;
        victim.handle_datagram(now, address(1), &mut sealed(Kind::Window, counter, body));
    };
    let named = |life, sequence, along| {
        body(|body| body.named([(item(base(2, life, sequence, &old), 3, &new), along)].into_iter()))
    };
    receive(&mut victim, &named(1, 10, false));
    assert_eq!((held(&victim), victim.counters().entries_without_base), (None, 1));
    receive(&mut victim, &named(1, 10, true));
    assert_eq!((held(&victim), victim.counters().bases_taken), (Some((1, 13, 8)), 1));
    // By another base of it, earlier or later: none of them is held.
    receive(&mut victim, &named(1, 11, false));
    receive(&mut victim, &named(1, 9, false));
    assert_eq!(victim.counters().entries_without_base, 3);
    // An earlier one that comes along tells an entry that is no news, and takes no place.
    receive(&mut victim, &named(1, 9, true));
    assert_eq!((held(&victim), victim.counters().bases_taken), (Some((1, 13, 8)), 1));
    // It has restarted: of its next life nothing is known by the bases of the last.
    receive(&mut victim, &named(2, 10, false));
    assert_eq!((held(&victim), victim.counters().entries_without_base), (Some((1, 13, 8)), 4));
    let agreed = |life| {
        body(|body| body.agreed(id(2), [(item(base(2, life, 10, &old), 9, &new), 0)].into_iter()))
    };
    receive(&mut victim, &agreed(2));
    assert_eq!((held(&victim), victim.counters().entries_disagreed), (Some((1, 13, 8)), 1));
    receive(&mut victim, &agreed(1));
    assert_eq!(held(&victim), Some((1, 19, 8)));
    assert_eq!(victim.counters().dropped_malformed, 0);
}

#[test]
fn bodies_that_are_cut_or_go_on_are_dropped_as_a_whole() {
    let now = Instant::EPOCH + UNIT;
    let old = [7; PAYLOAD_BYTES];
    let whole = body(|body| {
        let entry = tidings_gossip::vector::Entry {
            id: id(2),
            stamp: Stamp::new(Incarnation::new(1), 4),
            birth: now,
            payload: &old,
        };
        let written = body.whole([entry].into_iter(), now, true);
        written + body.named([(item(base(3, 1, 4, &old), 1, &[8; 64]), true)].into_iter())
    });
    for cut in 0..whole.len() {
        let mut victim = victim(3);
        victim.handle_datagram(now, address(1), &mut sealed(Kind::Window, 1, &whole[..cut]));
        assert_eq!((victim.counters().dropped_malformed, held(&victim)), (1, None), "{cut}");
    }
    let mut victim = victim(3);
    let longer = [&whole[..], &[0]].concat();
    victim.handle_datagram(now, address(1), &mut sealed(Kind::Window, 1, &longer));
    assert_eq!((victim.counters().dropped_malformed, held(&victim)), (1, None));
    victim.handle_datagram(now, address(1), &mut sealed(Kind::Window, 2, &whole));
    assert_eq!((held(&victim), victim.counters().bases_taken), (Some((1, 4, 7)), 2));
}

#[test]
fn pulls_with_an_inventory_that_lies_are_answered_or_dropped() {
    let now = Instant::EPOCH + UNIT;
    let pull = [1, 0, 64, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0];
    let said: [(&[u8], bool); 5] = [
        (&[0], true),
        (&[4, 9, 1, 2, 3, 4, 5, 6, 7, 8], true),
        (&[65], false),
        (&[4, 9, 1, 2, 3, 4, 5], false),
        (&[], false),
    ];
    for (inventory, is_read) in said {
        let mut victim = victim(3);
        victim.handle_timeout(victim.poll_timeout());
        let body = [inventory, &pull].concat();
        victim.handle_datagram(now, address(1), &mut sealed(Kind::Pull, 1, &body));
        let counters = victim.counters();
        assert_eq!(counters.pulls_answered, u64::from(is_read), "{inventory:?}");
        assert_eq!(counters.dropped_malformed, u64::from(!is_read), "{inventory:?}");
    }
}

#[test]
fn a_node_that_writes_an_earlier_version_reads_no_changes() {
    for version in [1, 2] {
        let (mut victim, old) = (victim(version), [7; PAYLOAD_BYTES]);
        let body =
            body(|body| body.named([(item(base(2, 1, 4, &old), 0, &old), true)].into_iter()));
        let now = Instant::EPOCH + UNIT;
        victim.handle_datagram(now, address(1), &mut sealed(Kind::Window, 1, &body));
        assert_eq!((victim.counters().dropped_version, held(&victim)), (1, None));
        assert_eq!(victim.versions_read().highest, 2);
    }
}
