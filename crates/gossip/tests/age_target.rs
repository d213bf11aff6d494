//! A node that is told an age chooses its window by the model, and anew when members come or go.

mod cluster;

use std::net::SocketAddr;
use std::time::Duration;

use cluster::{Cluster, UNIT, config, member, node};
use tidings_gossip::{
    Address, AgeTarget, Config, Incarnation, Instant, KeyRing, Member, Node, Strategy,
};

fn roster(nodes: u16) -> Vec<Member> {
    let member = |number| Member {
        name: format!("n{number}"),
        address: Address::from(SocketAddr::from(([127, 0, 0, 1], 9_000 + number))),
    };
    (0..nodes).map(member).collect()
}

#[test]
fn the_window_follows_the_number_of_members() {
    let mut config = Config::default();
    config.age_target = Some(AgeTarget { age: Duration::from_secs(1), quantile: None });
    let keys = KeyRing::open(&config.cluster);
    let small = roster(16);
    let (me, start) = (small[0].clone(), Instant::EPOCH);
    let mut node =
        Node::new(config, keys, me, &small, Incarnation::new(1), 7, start).expect("valid");
    let mut chosen = Vec::new();
    for nodes in [16, 128, 512, 16] {
        let now = node.poll_timeout();
        node.set_roster(&roster(nodes), now).expect("it names the node");
        // Enough passes that the model is searched again: the rounds of some units.
        for _ in 0..80 {
            node.handle_timeout(node.poll_timeout());
        }
        chosen.push(node.window_entries());
    }
    assert!(chosen[0] < chosen[1] && chosen[1] < chosen[2], "{chosen:?}");
    assert_eq!(chosen[0], chosen[3], "the same members, the same window");
    // Less than everything: three units of age need no full windows.
    assert!(chosen[2] < 512, "{chosen:?}");
}

/// Nodes that write this version and say what moves now and then, as most readings do: the mean of
/// their windows once they have settled, and of the ages after each unit from then on, in units.
fn settled(version: u8, age: Duration) -> (f64, f64) {
    const NODES: usize = 96;
    let mut config = config(NODES);
    (config.strategy, config.wire_version) = (Strategy::Grid, version);
    (config.payload_bytes, config.datagram_bytes) = (64, 1452);
    config.age_target = Some(AgeTarget { age, quantile: None });
    let roster: Vec<Member> = (0..NODES).map(member).collect();
    let make = |n| node(&config, n, &roster, 1, Instant::EPOCH);
    let mut cluster = Cluster::of((0..NODES).map(make).collect());
    let (mut ages, mut looks) = (0.0, 0.0);
    for unit in 0..300_u32 {
        for (n, node) in cluster.nodes.iter_mut().flatten().enumerate() {
            let (number, mut payload) = (n as u32, [0; 64]);
            payload[..4].copy_from_slice(&(number * 77).to_le_bytes());
            payload[20] = ((unit + 3 * number) / 7) as u8;
            node.publish(&payload).expect("it fits");
        }
        cluster.run(1);
        if unit >= 200 {
            (ages, looks) = (ages + cluster.ages().0, looks + 1.0);
        }
    }
    let kept = cluster.up().filter(|node| node.keeps_age() == Some(true)).count();
    // Each node counts its own entries, and a few see older ones than the others do.
    assert!(kept * 10 >= NODES * 8, "version {version}: {kept} of {NODES} say that it is kept");
    let windows: usize = cluster.up().map(Node::window_entries).sum();
    (windows as f64 / NODES as f64, ages / looks)
}

/// What stays within its tolerance is said again as it was, which takes few bytes as a change: less
/// has to be sent for the same age.
#[test]
fn entries_by_bases_keep_an_age_with_smaller_windows() {
    let age = UNIT * 2;
    let [whole, changes] = [1, 3].map(|version| settled(version, age));
    println!("window and age in units: {whole:?} of version 1, {changes:?} of version 3");
    assert!(changes.0 < 0.6 * whole.0, "{changes:?} {whole:?}");
    for (_, age) in [whole, changes] {
        assert!(age <= 2.0, "{changes:?} {whole:?}");
    }
}
