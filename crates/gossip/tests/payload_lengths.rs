//! The length of payloads in a cluster that changes it, node by node, and what is read meanwhile.

mod cluster;

use cluster::{Cluster, UNIT, address, config, name, node};
use tidings_gossip::{Config, EntryState, Instant, Strategy};

const NODES: usize = 24;
const SHORT: u16 = 64;
const LONG: u16 = 256;

/// Payloads that may become longer.
fn roomy(strategy: Strategy) -> Config {
    let mut config = config(NODES);
    (config.payload_bytes, config.payload_bytes_most) = (SHORT, LONG);
    (config.strategy, config.datagram_bytes) = (strategy, 1452);
    config.death_after = Some(UNIT * 10);
    config
}

/// What node `n` says: as many bytes as its payloads have, none of them zero.
fn text(n: usize, bytes: u16) -> Vec<u8> {
    vec![b'A' + n as u8; usize::from(bytes)]
}

/// Every node holds of every other one the payload that it published, and nobody is missed.
fn all_is_read(cluster: &mut Cluster, long: impl Fn(usize) -> bool) {
    let now = cluster.now;
    for reader in 0..NODES {
        let node = cluster.node(reader);
        assert_eq!(node.counters().dropped_schema, 0, "{reader}");
        assert_eq!(node.counters().deaths_declared, 0, "{reader}");
        for n in 0..NODES {
            let view = node.entry(&name(n), now).expect("a member");
            let mut said = text(n, if long(n) { LONG } else { SHORT });
            said.resize(LONG.into(), 0);
            assert_eq!((view.state, view.payload), (EntryState::Alive, &said[..]), "{reader} {n}");
            assert!(view.age < Some(UNIT * 24), "{reader} of {n}: {:?}", view.age);
        }
    }
}

fn set(cluster: &mut Cluster, n: usize, bytes: u16) {
    let node = cluster.node(n);
    node.set_payload_bytes(bytes).expect("there is room");
    node.publish(&text(n, bytes)).expect("as long as it may be");
}

#[test]
fn a_cluster_goes_over_to_longer_payloads_and_back_node_by_node() {
    for strategy in [Strategy::Grid, Strategy::Uniform] {
        let mut cluster = Cluster::with_seed(&roomy(strategy), NODES);
        (0..NODES).for_each(|n| set(&mut cluster, n, SHORT));
        cluster.run(60);
        all_is_read(&mut cluster, |_| false);
        for n in 0..NODES {
            set(&mut cluster, n, LONG);
            cluster.run(24);
            all_is_read(&mut cluster, |other| other <= n);
        }
        for n in 0..NODES {
            set(&mut cluster, n, SHORT);
            cluster.run(24);
            all_is_read(&mut cluster, |other| other > n);
        }
        cluster.run(60);
        for node in cluster.up() {
            assert_eq!(node.payload_bytes_sent(), SHORT, "what is not needed is not sent");
        }
    }
}

/// Until a node is told so, all datagrams are those of a cluster of one length: nodes that read no
/// other one, as those of 0.1.0, are in it.
#[test]
fn room_alone_changes_nothing_for_nodes_without() {
    let mut strict = roomy(Strategy::Grid);
    strict.payload_bytes_most = 0;
    let configs = [roomy(Strategy::Grid), strict];
    let make = |n: usize| {
        let mut node = node(&configs[n % 2], n, &[], 1, Instant::EPOCH);
        node.join(&[address(0)]);
        node
    };
    let mut cluster = Cluster::of((0..NODES).map(make).collect());
    cluster.run(60);
    assert_eq!(cluster.known_min(), NODES as u32);
    assert!(cluster.up().all(|node| node.counters().dropped_schema == 0));
    // One that goes over too early is not understood by those, and they say so.
    set(&mut cluster, 2, LONG);
    cluster.run(8);
    assert!(cluster.node(1).counters().dropped_schema > 0);
    let now = cluster.now;
    assert!(cluster.node(1).mismatches(now).next().is_some());
}

#[test]
fn a_length_without_room_is_refused() {
    let mut roomy = node(&roomy(Strategy::Grid), 0, &[], 1, Instant::EPOCH);
    let refused = roomy.set_payload_bytes(LONG + 1).expect_err("too long");
    assert!(refused.to_string().contains("0 to 256"), "{refused}");
    roomy.publish(&text(0, SHORT)).expect("it fits");
    assert!(roomy.publish(&text(0, LONG)).is_err(), "not before it is set");
    let mut strict = node(&config(2), 0, &[], 1, Instant::EPOCH);
    let refused = strict.set_payload_bytes(16).expect_err("others read 8 alone");
    assert!(refused.to_string().contains("8 to 8"), "{refused}");
}
