//! A picture that is only kept up by what changed is the same as the whole: whatever happens to a
//! cluster, a mirror of each node's members agrees with the members themselves.

mod cluster;

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{Cluster, UNIT, address, config, member, name, node};
use tidings_gossip::{
    Address, Capacity, EntryState, EntryView, Incarnation, Instant, KeyRing, Member, Node, Strategy,
};

/// What is shown of a member: name, address, state, stamp, birth, payload.
type Shown = (String, Address, EntryState, (u32, Option<u32>), Option<i64>, Vec<u8>);

fn shown(view: &EntryView<'_>, now: Instant) -> Shown {
    let birth = view.age.map(|age| (now - age).as_micros());
    let stamp = (view.incarnation, view.sequence);
    (view.name.to_owned(), view.address, view.state, stamp, birth, view.payload.to_vec())
}

/// A picture of a node's members by place; the card is taken over only where it may have changed.
#[derive(Default)]
struct Mirror(BTreeMap<u32, Shown>);

impl Mirror {
    fn catch_up(&mut self, node: &mut Node, now: Instant) -> usize {
        let mut changes = 0;
        while let Some(change) = node.poll_change(now) {
            changes += 1;
            let Some(view) = change.entry else {
                self.0.remove(&change.place);
                continue;
            };
            let mut fresh = shown(&view, now);
            if !change.card {
                let held = self.0.get(&change.place).expect("who is new has a new card");
                (fresh.0, fresh.1) = (held.0.clone(), held.1);
            }
            self.0.insert(change.place, fresh);
        }
        changes
    }

    fn assert_is_that_of(&self, node: &Node, now: Instant, when: &str) {
        let mut mine: Vec<&Shown> = self.0.values().collect();
        let theirs: Vec<Shown> = node.entries(now).map(|view| shown(&view, now)).collect();
        let mut theirs: Vec<&Shown> = theirs.iter().collect();
        mine.sort_by_key(|one| &one.0);
        theirs.sort_by_key(|one| &one.0);
        assert_eq!(mine, theirs, "{} {when}", node.name());
    }
}

/// Runs `units`, and compares the mirrors of the nodes that are up four times a unit.
fn follow(cluster: &mut Cluster, mirrors: &mut BTreeMap<usize, Mirror>, units: u32, what: &str) {
    for unit in 0..units {
        cluster.run(1);
        let now = cluster.now;
        for (n, node) in cluster.nodes.iter_mut().enumerate() {
            let Some(node) = node else {
                mirrors.remove(&n);
                continue;
            };
            let mirror = mirrors.entry(n).or_insert_with(|| {
                node.note_changes();
                Mirror::default()
            });
            mirror.catch_up(node, now);
            mirror.assert_is_that_of(node, now, &format!("{what}, unit {unit}"));
        }
    }
}

/// Crashes, deaths, doubts, farewells, new lives at other addresses, and forgetting.
fn a_life(cluster: &mut Cluster, config: &tidings_gossip::Config, roster: &[Member], what: &str) {
    let mut mirrors = BTreeMap::new();
    follow(cluster, &mut mirrors, 30, what);
    cluster.node(5).publish(b"seven").expect("short enough");
    cluster.crash(3);
    cluster.delivers = |from, to, _| from != 7 && to != 7;
    follow(cluster, &mut mirrors, 25, what);
    cluster.delivers = |from, to, datagram| (from + 3 * to + datagram.len()) % 5 != 0;
    cluster.leave(4);
    follow(cluster, &mut mirrors, 25, what);
    let now = cluster.now;
    for n in [3, 4] {
        let mut again = node(config, n, roster, 9, now);
        again.join(&[address(0)]);
        cluster.start(n, again);
        mirrors.remove(&n);
    }
    follow(cluster, &mut mirrors, 30, what);
    cluster.crash(6);
    follow(cluster, &mut mirrors, 120, what);
}

fn eventful(strategy: Strategy) -> tidings_gossip::Config {
    let mut config = config(12);
    config.strategy = strategy;
    config.death_after = Some(Duration::from_millis(2_500));
    config.forget_after = UNIT * 70;
    config
}

#[test]
fn changes_are_the_whole_by_roster_and_by_seeds() {
    for strategy in [Strategy::Uniform, Strategy::Grid] {
        let config = eventful(strategy);
        let roster: Vec<Member> = (0..12).map(member).collect();
        a_life(&mut Cluster::with_roster(&config, 12), &config, &roster, "by roster");
        a_life(&mut Cluster::with_seed(&config, 12), &config, &[], "by seeds");
    }
}

#[test]
fn changes_are_the_whole_where_entries_are_evicted() {
    let mut config = eventful(Strategy::Uniform);
    config.capacity = Capacity::Bounded(5);
    let roster: Vec<Member> = (0..12).map(member).collect();
    a_life(&mut Cluster::with_roster(&config, 12), &config, &roster, "bounded");
}

#[test]
fn changes_are_the_whole_when_the_roster_changes() {
    let mut cluster = Cluster::with_roster(&config(12), 8);
    let mut mirrors = BTreeMap::new();
    follow(&mut cluster, &mut mirrors, 10, "before");
    let now = cluster.now;
    let mut other: Vec<Member> = (0..12).filter(|n| *n != 6).map(member).collect();
    other[2].address = address(77);
    cluster.node(0).set_roster(&other, now).expect("a valid roster");
    follow(&mut cluster, &mut mirrors, 10, "after");
    let now = cluster.now;
    other.truncate(7);
    cluster.node(0).set_roster(&other, now).expect("a valid roster");
    follow(&mut cluster, &mut mirrors, 10, "after some went and nobody came");
}

#[test]
fn changes_are_the_whole_when_a_member_moves() {
    let config = config(12);
    let mut cluster = Cluster::with_seed(&config, 8);
    let mut mirrors = BTreeMap::new();
    follow(&mut cluster, &mut mirrors, 30, "before");
    cluster.crash(3);
    let moved = Member { name: name(3), address: address(8) };
    let (keys, now) = (KeyRing::open(&config.cluster), cluster.now);
    let moved = Node::new(config, keys, moved, &[], Incarnation::new(2), 7, now);
    let mut moved = moved.expect("a valid configuration");
    moved.join(&[address(0)]);
    cluster.start(8, moved);
    follow(&mut cluster, &mut mirrors, 30, "after");
    let now = cluster.now;
    let there = cluster.node(5).entry(&name(3), now).map(|view| view.address);
    assert_eq!(there, Some(address(8)), "it did move");
}

/// A node that stood still gives up its suspicions, without an event for each.
#[test]
fn changes_are_the_whole_after_a_standstill() {
    let mut cluster = Cluster::with_roster(&eventful(Strategy::Uniform), 12);
    let mut mirrors = BTreeMap::new();
    follow(&mut cluster, &mut mirrors, 30, "before");
    cluster.crash(3);
    let suspects = |node: &Node, now: Instant| {
        node.entries(now).any(|view| view.state == EntryState::Suspected)
    };
    let mut at = None;
    for _ in 0..100 {
        follow(&mut cluster, &mut mirrors, 1, "until somebody suspects");
        let now = cluster.now;
        at = (0..12).find(|&n| cluster.nodes[n].as_ref().is_some_and(|it| suspects(it, now)));
        if at.is_some() {
            break;
        }
    }
    let at = at.expect("a dead node is suspected");
    let still = cluster.nodes[at].take().expect("it is up");
    cluster.run(20);
    cluster.start(at, still);
    follow(&mut cluster, &mut mirrors, 30, "after the standstill");
}

#[test]
fn what_changed_is_handed_out_once_and_in_number_bounded() {
    let mut cluster = Cluster::with_roster(&config(16), 16);
    let now = cluster.now;
    assert_eq!(cluster.node(0).poll_change(now), None, "nobody asked");
    cluster.node(0).note_changes();
    let mut mirror = Mirror::default();
    assert_eq!(mirror.catch_up(cluster.node(0), now), 16);
    assert_eq!(mirror.catch_up(cluster.node(0), now), 0);
    cluster.run(100);
    let now = cluster.now;
    assert!(mirror.catch_up(cluster.node(0), now) <= 16, "each at most once");
    mirror.assert_is_that_of(cluster.node(0), now, "after 100 units");
}
