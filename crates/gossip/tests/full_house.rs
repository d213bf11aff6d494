//! Clusters in which `max_nodes` members are known: the dead give way, and nobody is refused in
//! silence.

mod cluster;

use std::time::Duration;

use cluster::{Cluster, address, config, name, node};
use tidings_gossip::{Config, Event, Node};

const FULL: usize = 8;

/// The detector is on, and the dead are remembered for much longer than the tests take.
fn full() -> Config {
    let mut config = config(FULL);
    config.death_after = Some(Duration::from_millis(2_500));
    config
}

fn newcomer(cluster: &mut Cluster, n: usize) {
    let mut node = node(&full(), n, &[], 1, cluster.now);
    node.join(&[address(0)]);
    cluster.start(n, node);
}

/// Nodes that know node `n`.
fn know(cluster: &Cluster, n: usize) -> usize {
    cluster.up().filter(|node| node.entry(&name(n), cluster.now).is_some()).count()
}

#[test]
fn the_dead_give_way_to_newcomers() {
    let mut cluster = Cluster::with_seed(&full(), FULL);
    cluster.run(60);
    assert_eq!(cluster.known_min() as usize, FULL);
    for n in 4..FULL {
        cluster.crash(n);
    }
    cluster.run(40);
    for n in FULL..FULL + 4 {
        newcomer(&mut cluster, n);
    }
    cluster.run(80);
    for n in FULL..FULL + 4 {
        assert_eq!(know(&cluster, n), FULL, "node {n}");
    }
    assert_eq!(cluster.node(0).counters().members_gave_way, 4);
    let now = cluster.now;
    assert!(cluster.up().all(|node| !node.is_unheeded(now)));
    // One of the dead is back, in vain while all others live.
    newcomer(&mut cluster, 4);
    cluster.run(40);
    assert_eq!(know(&cluster, 4), 1);
}

#[test]
fn who_left_gives_way_before_the_dead() {
    let mut cluster = Cluster::with_seed(&full(), FULL);
    cluster.run(60);
    cluster.crash(6);
    cluster.run(40);
    cluster.leave(7);
    cluster.crash(7);
    cluster.run(20);
    newcomer(&mut cluster, FULL);
    cluster.run(60);
    assert_eq!(know(&cluster, FULL), FULL - 1);
    let now = cluster.now;
    assert!(cluster.node(0).entry(&name(6), now).is_some(), "what was read of it stays");
    assert!(cluster.node(0).entry(&name(7), now).is_none());
}

#[test]
fn a_full_cluster_says_so_on_both_sides() {
    let mut cluster = Cluster::with_seed(&full(), FULL);
    cluster.run(60);
    newcomer(&mut cluster, FULL);
    cluster.run(200);
    assert_eq!(know(&cluster, FULL), 1, "only it knows itself");
    assert!(cluster.up().all(|node| node.counters().deaths_declared == 0), "it accuses nobody");
    let now = cluster.now;
    assert!(cluster.node(FULL).is_unheeded(now));
    assert!(cluster.node(0).counters().dropped_no_room > 0);
    let refused = Event::NoRoom(name(FULL));
    let events = |node: &mut Node| std::iter::from_fn(|| node.poll_event()).collect::<Vec<_>>();
    assert!(cluster.nodes[..FULL].iter_mut().flatten().any(|node| events(node).contains(&refused)));
    assert!(cluster.nodes[..FULL].iter().flatten().all(|node| !node.is_unheeded(now)));
    cluster.crash(3);
    cluster.run(150);
    assert_eq!(know(&cluster, FULL), FULL, "there is room now");
    let now = cluster.now;
    assert!(!cluster.node(FULL).is_unheeded(now));
}
