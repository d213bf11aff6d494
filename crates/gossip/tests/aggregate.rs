//! A colony of real nodes: each makes the same of it from its own vector, its own entry included.

mod cluster;

use std::time::Duration;

use cluster::{Cluster, UNIT, config};
use tidings_gossip::aggregate::{Aggregate, MAX_BYTES, Reading};
use tidings_gossip::payload::NodeState;

const STALE_AFTER: Duration = Duration::from_secs(60);

/// A cluster of `count` nodes, of which node `n` has a load of `n`, after 40 units.
fn colony(count: usize) -> Cluster {
    let mut config = config(count);
    config.payload_bytes = 64;
    let mut colony = Cluster::with_roster(&config, count);
    for n in 0..count {
        let mut payload = [0; 64];
        let state = NodeState { load1: Some(n as f64), ..NodeState::default() };
        state.encode(&mut payload).expect("64 bytes hold the readings");
        colony.node(n).publish(&payload).expect("it has the length of the cluster's payloads");
    }
    colony.run(40);
    colony
}

fn aggregate(colony: &mut Cluster, at: usize, stale_after: Duration) -> Aggregate {
    let now = colony.now;
    Aggregate::of(colony.node(at).entries(now), stale_after)
}

#[test]
fn every_node_makes_the_same_of_its_colony() {
    let mut colony = colony(24);
    colony.leave(23);
    colony.run(40);
    for at in 0..23 {
        let all = aggregate(&mut colony, at, STALE_AFTER);
        assert_eq!((all.fresh(), all.stale(), all.left(), all.unheard()), (23, 0, 1, 0));
        let load1 = all.summary(Reading::Load1);
        assert_eq!((load1.count(), load1.sum()), (23, f64::from(22 * 23 / 2)));
        assert_eq!((load1.min(), load1.max()), (Some(0.0), Some(22.0)));
        assert_eq!(all.summary(Reading::Cores).count(), 0);
        let ages = colony.nodes[at].as_ref().expect("the node is up").ages(colony.now);
        let oldest = all.age_max().expect("nodes are fresh");
        assert!(ages.age_max <= oldest && oldest <= ages.age_max.mul_f64(1.0005) + UNIT / 1000);
    }
}

#[test]
fn the_silent_become_stale_and_their_readings_are_not_counted() {
    let mut colony = colony(8);
    colony.crash(7);
    colony.run(60);
    let all = aggregate(&mut colony, 0, UNIT * 55);
    assert_eq!((all.fresh(), all.stale(), all.nodes()), (7, 1, 8));
    assert_eq!(all.summary(Reading::Load1).max(), Some(6.0));
}

#[test]
fn two_colonies_that_tell_each_other_know_of_all_nodes() {
    let [mut east, mut west] = [colony(8), colony(12)];
    let mut buffer = [0; MAX_BYTES];
    let reported = aggregate(&mut west, 3, STALE_AFTER).encode(&mut buffer).expect("there is room");
    let mut all = aggregate(&mut east, 5, STALE_AFTER);
    all.merge(&Aggregate::decode(&buffer[..reported]).expect("what was encoded decodes"));
    let load1 = all.summary(Reading::Load1);
    assert_eq!((all.fresh(), load1.count(), load1.sum()), (20, 20, f64::from(28 + 66)));
    // Of 20 loads, 0 to 7 twice and 8 to 11 once, the tenth is 4.
    let (low, high) = load1.quantile_bounds(0.5).expect("there are loads");
    assert!(low <= 4.0 && 4.0 <= high && high - low <= 11.0 / 16.0, "{low} to {high}");
}
