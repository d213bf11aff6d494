//! Signed entries: who holds the cluster's keys speaks for itself, and for nobody else.

mod cluster;

use std::time::Duration;

use cluster::{Cluster, UNIT, address, config, member, name, node};
use tidings_gossip::signed::SIGNED_BYTES;
use tidings_gossip::{
    Config, ConfigError, EntryState, Event, Identities, Instant, Member, Node, NodeId,
    PayloadTooLong, Signer, Strategy,
};

fn signer(n: usize) -> Signer {
    Signer::from_bytes([n as u8 + 1; 32])
}

/// The public keys of `count` nodes.
fn identities(count: usize) -> Identities {
    let line = |n: usize| format!("{} {}\n", name(n), signer(n).public());
    Identities::parse(&(0..count).map(line).collect::<String>()).expect("a list")
}

fn signing() -> Config {
    let mut config = config(8);
    config.payload_bytes = 8 + SIGNED_BYTES;
    config.death_after = Some(Duration::from_millis(2_500));
    config
}

/// Node `n` in this life, which asks node 0; it signs as node `signs`, if any.
fn life(cluster: &Cluster, n: usize, life: u32, signs: Option<usize>) -> Node {
    let mut node = node(&signing(), n, &[], life, cluster.now);
    if let Some(signs) = signs {
        node.sign(signer(signs), Some(&identities(4))).expect("there is room");
    }
    node.publish(format!("{n} {life}").as_bytes()).expect("it fits");
    node.join(&[address(0), address(1)]);
    node
}

/// Four nodes by seeds that sign, and take nothing else.
fn signed() -> Cluster {
    let mut cluster = Cluster::of(vec![]);
    for n in 0..4 {
        let node = life(&cluster, n, 1, Some(n));
        cluster.start(n, node);
    }
    cluster.run(60);
    assert_eq!(cluster.known_min(), 4);
    cluster
}

fn unsigned(cluster: &mut Cluster, n: usize) -> u64 {
    cluster.node(n).counters().entries_unsigned
}

/// What node 0 holds of node `n`: life, state, and what it says.
fn held(cluster: &mut Cluster, n: usize) -> Option<(u32, EntryState, String)> {
    let now = cluster.now;
    let view = cluster.node(0).entry(&name(n), now)?;
    let says = view.payload.iter().take_while(|&&byte| byte != 0);
    let says = says.map(|&byte| char::from(byte)).collect();
    Some((view.incarnation, view.state, says))
}

#[test]
fn what_a_node_signs_is_taken_in_each_of_its_lives() {
    let mut cluster = signed();
    assert_eq!(held(&mut cluster, 3), Some((1, EntryState::Alive, "3 1".to_owned())));
    cluster.crash(3);
    cluster.run(4);
    let node = life(&cluster, 3, 2, Some(3));
    cluster.start(3, node);
    cluster.run(30);
    assert_eq!(held(&mut cluster, 3), Some((2, EntryState::Alive, "3 2".to_owned())));
    assert_eq!((0..4).map(|n| unsigned(&mut cluster, n)).sum::<u64>(), 0);
}

/// It has the cluster's keys and another's name, and is silent about its own.
#[test]
fn nobody_speaks_for_another() {
    for signs in [None, Some(2)] {
        let mut cluster = signed();
        while cluster.node(0).poll_event().is_some() {}
        let forger = life(&cluster, 3, 9, signs);
        cluster.start(5, forger);
        cluster.run(40);
        assert_eq!(held(&mut cluster, 3), Some((1, EntryState::Alive, "3 1".to_owned())));
        assert!(unsigned(&mut cluster, 0) > 0, "signed by {signs:?}");
        let event = std::iter::from_fn(|| cluster.node(0).poll_event()).next();
        let Some(Event::Unsigned(about, _)) = event else { panic!("{event:?}") };
        assert_eq!(about, name(3));
    }
}

#[test]
fn who_has_no_public_key_there_is_no_member() {
    let mut cluster = signed();
    let stranger = life(&cluster, 6, 1, Some(6));
    cluster.start(6, stranger);
    cluster.run(40);
    assert_eq!(held(&mut cluster, 6), None);
    assert!(unsigned(&mut cluster, 0) > 0);
}

/// A tombstone is made by others, who could say anything in it.
#[test]
fn the_dead_say_nothing_that_they_did_not_sign() {
    let mut cluster = signed();
    cluster.crash(3);
    // A forger that nobody but node 1 hears, which takes what is not signed, says more of it.
    cluster.node(1).sign(signer(1), None).expect("there is room");
    let forger = life(&cluster, 3, 9, None);
    cluster.start(5, forger);
    cluster.run(20);
    cluster.crash(5);
    cluster.run(60);
    let (_, state, says) = held(&mut cluster, 3).expect("a member");
    assert_eq!(state, EntryState::Dead);
    assert!(says.is_empty() || says == "3 1", "{says}");
}

/// What is verified in a unit is bounded; when the forger ends, all is as it was.
#[test]
fn a_flood_of_forgeries_ends_with_the_forger() {
    let mut cluster = signed();
    let now = cluster.now;
    for _ in 0..2_000 {
        let about = NodeId::of_name(&name(2), 0);
        cluster.node(1).speak_for(about, b"lie", now).expect("it fits");
    }
    assert!(unsigned(&mut cluster, 1) >= 2_000);
    cluster.run(20);
    assert_eq!(held(&mut cluster, 2), Some((1, EntryState::Alive, "2 1".to_owned())));
    let now = cluster.now;
    let ages = cluster.node(1).ages(now);
    assert!(ages.age_max < UNIT * 20, "{ages:?}");
}

#[test]
fn a_payload_has_room_for_what_is_said_and_a_signature() {
    let cluster = Cluster::of(vec![]);
    let mut node = life(&cluster, 0, 1, Some(0));
    assert_eq!(node.content_bytes(), 8);
    node.publish(&[7; 8]).expect("it fits");
    assert_eq!(node.publish(&[7; 9]), Err(PayloadTooLong { given: 9, room: 8 }));
    let refused = node.set_payload_bytes(SIGNED_BYTES - 1);
    assert!(matches!(refused, Err(ConfigError::OutOfRange { .. })), "{refused:?}");
    node.sign_nothing();
    node.publish(&[7; 74]).expect("it fits");
    let mut small = self::node(&config(8), 0, &[], 1, cluster.now);
    let refused = small.sign(signer(0), None);
    assert!(matches!(refused, Err(ConfigError::OutOfRange { .. })), "{refused:?}");
}

/// Who verifies takes nothing by bases, and is sent whole entries by those that do not.
#[test]
fn entries_go_whole_to_those_that_verify_where_others_send_changes() {
    const NODES: usize = 12;
    let roster: Vec<Member> = (0..NODES).map(member).collect();
    let mut config = config(NODES);
    (config.strategy, config.wire_version) = (Strategy::Grid, 3);
    config.payload_bytes = 8 + SIGNED_BYTES;
    config.datagram_bytes = 1452;
    let make = |n: usize| {
        let mut node = node(&config, n, &roster, 1, Instant::EPOCH);
        let verifies = n % 3 == 0;
        node.sign(signer(n), verifies.then_some(&identities(NODES))).expect("there is room");
        node
    };
    let mut cluster = Cluster::of((0..NODES).map(make).collect());
    for unit in 0..40u64 {
        for node in cluster.nodes.iter_mut().flatten() {
            node.publish(&(unit / 5).to_le_bytes()).expect("it fits");
        }
        cluster.run(1);
    }
    assert_eq!(cluster.known_min(), NODES as u32);
    assert!(cluster.ages().0 < 6.0, "{:?}", cluster.ages());
    for (n, node) in (0..).zip(cluster.up()) {
        let (counters, verifies) = (node.counters(), n % 3 == 0);
        assert_eq!(node.versions_read().highest, if verifies { 2 } else { 3 });
        assert_eq!(counters.bases_sent + counters.bases_taken > 0, !verifies, "{n} {counters:?}");
        assert_eq!(counters.entries_unsigned + counters.dropped_version, 0, "{n} {counters:?}");
    }
}
