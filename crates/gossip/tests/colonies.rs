//! Colonies of real nodes: what they know of each other, and what failures do to that.
//!
//! Colony `k` of `members` nodes has the nodes from `k · members` on. Every node is told at its
//! start of two nodes of every other colony.

mod cluster;

use std::time::Duration;

use cluster::{Cluster, UNIT, address, config, member, name};
use tidings_gossip::payload::NodeState;
use tidings_gossip::{
    ColonyConfig, ColonyId, Config, EntryState, Event, Incarnation, Instant, KeyRing, Member, Node,
    Strategy, Window,
};

/// The number of the colony in place `colony`.
fn id(colony: usize) -> ColonyId {
    ColonyId(1 + colony as u32)
}

fn colony_config(colony: usize, colonies: usize, members: usize) -> Config {
    let mut config = config(members);
    config.payload_bytes = 64;
    config.datagram_bytes = 1400;
    config.window = Window::Entries(200);
    config.strategy = Strategy::Grid;
    config.catch_up = false;
    let max_colonies = colonies as u32;
    config.colony = Some(ColonyConfig { id: id(colony), max_colonies });
    config
}

/// Node `n` in its life number `life`.
fn start(n: usize, life: u32, colonies: usize, members: usize, now: Instant) -> Node {
    let colony = n / members;
    let config = colony_config(colony, colonies, members);
    let roster: Vec<Member> = (colony * members..(colony + 1) * members).map(member).collect();
    let keys = KeyRing::open(&config.cluster);
    let (me, seed) = (member(n), 0xC010 + n as u64 + (u64::from(life) << 32));
    let mut node = Node::new(config, keys, me, &roster, Incarnation::new(life), seed, now)
        .expect("the configuration is valid");
    for other in (0..colonies).filter(|&other| other != colony) {
        let contacts = [address(other * members), address(other * members + 1)];
        assert!(node.introduce(id(other), &contacts));
    }
    let mut payload = [0; 64];
    let state = NodeState { cores: Some(1 + n as u16), ..NodeState::default() };
    state.encode(&mut payload).expect("64 bytes hold one reading");
    node.publish(&payload).expect("it has the length of payloads");
    node
}

fn colonies_of(colonies: usize, members: usize) -> Cluster {
    let all = 0..colonies * members;
    Cluster::of(all.map(|n| start(n, 1, colonies, members, Instant::EPOCH)).collect())
}

/// The greatest age in units of any other colony's aggregate on any node that is up; `None` if one
/// is lacking anywhere.
fn oldest_record(cluster: &Cluster, others: usize) -> Option<f64> {
    let mut oldest: f64 = 0.0;
    for node in cluster.up() {
        let ages: Option<Vec<Duration>> =
            node.other_colonies(cluster.now).map(|view| view.age).collect();
        let ages = ages.filter(|ages| ages.len() == others)?;
        let greatest = ages.into_iter().max().unwrap_or_default();
        oldest = oldest.max(greatest.as_secs_f64() / UNIT.as_secs_f64());
    }
    Some(oldest)
}

/// The mean age in units of other colonies' aggregates on nodes that are up.
fn mean_record(cluster: &Cluster) -> f64 {
    let views = cluster.up().flat_map(|node| node.other_colonies(cluster.now));
    let ages: Vec<f64> = views.filter_map(|view| Some(view.age?.as_secs_f64())).collect();
    ages.iter().sum::<f64>() / ages.len() as f64 / UNIT.as_secs_f64()
}

#[test]
fn every_node_knows_what_every_colony_is_like() {
    let (colonies, members) = (6, 32);
    let mut cluster = colonies_of(colonies, members);
    cluster.run(20);
    let oldest = oldest_record(&cluster, colonies - 1).expect("no record is lacking");
    assert!(oldest < 5.0, "an aggregate is {oldest} units old");
    let now = cluster.now;
    for node in cluster.up() {
        let own = node.colony().expect("all nodes are in colonies");
        for view in node.other_colonies(now) {
            assert_ne!(view.id, own);
            let aggregate = view.aggregate().expect("no aggregate is lacking");
            assert_eq!((aggregate.fresh(), aggregate.nodes()), (32, 32));
        }
        let global = node.global_aggregate(now);
        assert_eq!((global.fresh(), global.nodes()), (192, 192));
        let cores = global.summary(tidings_gossip::aggregate::Reading::Cores);
        // Node n has n + 1 processors.
        let sum = f64::from(192 * 193 / 2);
        assert_eq!((cores.min(), cores.max(), cores.sum()), (Some(1.0), Some(192.0), sum));
    }
}

/// The greatest age in units, over colonies, of the youngest record that a node of it that is up
/// holds of some other colony.
fn oldest_of_youngest(cluster: &Cluster, members: usize) -> f64 {
    let mut youngest = std::collections::BTreeMap::new();
    for (n, node) in cluster.nodes.iter().enumerate() {
        for view in node.iter().flat_map(|node| node.other_colonies(cluster.now)) {
            let age = view.age.unwrap_or(Duration::MAX);
            let held = youngest.entry((n / members, view.id)).or_insert(age);
            *held = age.min(*held);
        }
    }
    youngest.into_values().max().unwrap_or_default().as_secs_f64() / UNIT.as_secs_f64()
}

#[test]
fn dead_representatives_are_replaced_within_a_few_units() {
    let (colonies, members) = (4, 32);
    let mut cluster = colonies_of(colonies, members);
    cluster.run(20);
    let called: Vec<u64> = cluster.up().map(|node| node.counters().calls_sent).collect();
    cluster.run(4);
    let calls = cluster.up().zip(&called).map(|(node, before)| node.counters().calls_sent - before);
    let representatives: Vec<usize> =
        calls.enumerate().filter(|(_, calls)| *calls >= 3).map(|(n, _)| n).collect();
    // Three foreign colonies in each of four colonies, each called by one.
    assert_eq!(representatives.len(), 12, "{representatives:?}");
    for n in representatives {
        cluster.crash(n);
    }
    // Two units until the record is late, one until the second representative's next round: until
    // it notices that the first is silent it calls at that pace, and each unit from then on. A call
    // to a dead contact is repeated: a record is 1.5 units old then, after 8 units here.
    for (units, bound) in [(4, 3.1), (8, 1.1)] {
        cluster.run(units);
        let oldest = oldest_of_youngest(&cluster, members);
        assert!(oldest < bound, "nobody has called for {oldest} units");
    }
    // Members that pull from the dead until their silence is noticed take longer to hear of it.
    cluster.run(20);
    let oldest = oldest_record(&cluster, colonies - 1).expect("no record is lacking");
    assert!(oldest < 6.0, "an aggregate is {oldest} units old");
}

#[test]
fn restarts_and_loss_leave_no_gap() {
    let (colonies, members) = (4, 32);
    let mut cluster = colonies_of(colonies, members);
    // One datagram in ten is lost, by its tag.
    cluster.delivers = |_, _, datagram| datagram.last().is_none_or(|&byte| byte % 10 != 3);
    cluster.run(20);
    for wave in 0..8 {
        // Among them are, in time, both nodes that all others were told of.
        let down: Vec<usize> = (0..colonies).map(|colony| colony * members + wave % 4).collect();
        for &n in &down {
            cluster.crash(n);
        }
        cluster.run(6);
        let now = cluster.now;
        for n in down {
            cluster.start(n, start(n, 2 + wave as u32, colonies, members, now));
        }
        cluster.run(2);
    }
    cluster.run(10);
    // Among 10,000 nodes with this loss aggregates are 1.4 units old on average, the oldest 13;
    // among 100,000 it is 26 (studies/colonies/README.md). Here nodes were down too.
    let mean = mean_record(&cluster);
    assert!(mean < 2.0, "aggregates are {mean} units old");
    let oldest = oldest_record(&cluster, colonies - 1).expect("no record is lacking");
    assert!(oldest < 26.0, "an aggregate is {oldest} units old");
    let alive: u32 = cluster.up().map(|node| node.global_aggregate(cluster.now).fresh()).sum();
    assert_eq!(alive, 128 * 128);
}

#[test]
fn a_colony_nobody_knows_makes_itself_known() {
    let (colonies, members) = (3, 16);
    let mut cluster = colonies_of(colonies, members);
    // The nodes of the first two colonies have never heard of the third.
    for n in 0..2 * members {
        cluster.start(n, start(n, 1, 2, members, Instant::EPOCH));
    }
    // Callers introduce themselves; a call a unit has to reach one of two members of the right row.
    cluster.run(150);
    let third = id(2);
    for node in cluster.up().take(2 * members) {
        let known = node.other_colonies(cluster.now).find(|view| view.id == third);
        assert!(known.is_some_and(|view| view.age.is_some()), "{} does not know it", node.name());
    }
}

fn events(node: &mut Node) -> Vec<Event> {
    core::iter::from_fn(|| node.poll_event()).collect()
}

#[test]
fn a_visit_brings_the_vector_of_another_colony() {
    let (colonies, members) = (3, 64);
    let mut cluster = colonies_of(colonies, members);
    cluster.run(20);
    cluster.crash(2 * members + 5);
    cluster.leave(2 * members + 6);
    cluster.run(5);
    events(cluster.node(3));
    let third = id(2);
    assert!(!cluster.node(3).visit(id(99)));
    assert!(cluster.node(3).visit(third));
    cluster.flush(3);
    assert_eq!(events(cluster.node(3)), [Event::Visited(third, true)]);
    let now = cluster.now;
    let visit = cluster.node(3).visited(now).expect("it was just made");
    assert!(visit.is_complete() && !visit.is_under_way() && visit.colony() == third);
    let mut names: Vec<&str> = visit.entries().map(|entry| entry.name).collect();
    names.sort_unstable();
    let all: Vec<String> = (2 * members..3 * members).map(name).collect();
    assert_eq!(names, all);
    for entry in visit.entries() {
        let (state, age) = (entry.state, entry.age.expect("it is an entry"));
        let left = entry.name == name(2 * members + 6);
        assert_eq!(state == EntryState::Left, left);
        assert!(age < UNIT * 12, "{} is {age:?} old", entry.name);
    }
    // Nothing of it is in the vector, and it does not stay.
    assert_eq!(cluster.node(3).entries(now).count(), members);
    cluster.run(300);
    let now = cluster.now;
    assert!(cluster.node(3).visited(now).is_none());
}

#[test]
fn a_visit_to_the_dead_ends() {
    let mut cluster = colonies_of(2, 16);
    cluster.run(10);
    (16..32).for_each(|n| cluster.crash(n));
    let other = id(1);
    assert!(cluster.node(0).visit(other));
    cluster.run(6);
    assert!(events(cluster.node(0)).contains(&Event::Visited(other, false)));
    cluster.run(2);
    let now = cluster.now;
    assert_eq!(cluster.node(0).other_colonies(now).count(), 1, "what was known stays, and ages");
}

/// A colony may be as small as one node, and know only one other.
#[test]
fn colonies_of_one_node_know_each_other() {
    let mut cluster = Cluster::of((0..2).map(|n| start(n, 1, 2, 1, Instant::EPOCH)).collect());
    for n in 0..2 {
        let other = id(1 - n);
        assert!(cluster.node(n).introduce(other, &[address(1 - n)]));
    }
    cluster.run(8);
    let oldest = oldest_record(&cluster, 1).expect("no record is lacking");
    assert!(oldest < 1.1, "an aggregate is {oldest} units old");
}

/// The budget is that of a window: calls, pushes and answers are paid out of it.
#[test]
fn a_node_sends_no_more_than_its_window() {
    let (colonies, members) = (8, 64);
    let mut cluster = colonies_of(colonies, members);
    cluster.run(40);
    let sent = |cluster: &Cluster| cluster.up().map(|n| n.counters().bytes_sent).sum::<u64>();
    let before = sent(&cluster);
    cluster.run(50);
    let unit_bytes = (sent(&cluster) - before) as f64 / 50.0 / 512.0;
    // 64 entries of 76 bytes in four datagrams of 50 bytes beside.
    assert!(unit_bytes <= 64.0 * 76.0 + 4.0 * 50.0, "{unit_bytes} bytes a unit");
}
