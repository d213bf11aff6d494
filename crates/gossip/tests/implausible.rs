//! Incarnations that cannot be: nobody is locked out by the last one there is.

mod cluster;
mod pair;

use cluster::{Cluster, address, config, member, name, node};
use pair::{NOW, answers, body, id, make, pair, stamp, value};
use tidings_gossip::{Config, EntryState, Event, Incarnation, Instant, Node, Stamp};

/// What the calendar of these tests allows.
const HIGHEST: Incarnation = Incarnation::new(500_000);
const LAST: u32 = Incarnation::MAX.get();

/// A cluster of four by seeds, all of which have a calendar.
fn calendared() -> Cluster {
    let mut cluster = Cluster::with_seed(&detecting(), 4);
    for node in cluster.nodes.iter_mut().flatten() {
        node.believe_up_to(HIGHEST);
    }
    cluster.run(60);
    assert_eq!(cluster.known_min(), 4);
    cluster
}

fn detecting() -> Config {
    let mut config = config(8);
    config.death_after = Some(std::time::Duration::from_millis(2_500));
    config
}

/// A later life of the last node, which knows the first.
fn begin(cluster: &mut Cluster, life: u32, calendar: bool) {
    let mut node = node(&detecting(), 3, &[], life, cluster.now);
    if calendar {
        node.believe_up_to(HIGHEST);
    }
    node.join(&[address(0)]);
    cluster.start(3, node);
}

/// Nodes that hold the last one to be alive, itself among them.
fn see_it_alive(cluster: &Cluster) -> usize {
    let alive = |node: &&Node| {
        let entry = node.entry(&name(3), cluster.now);
        entry.is_some_and(|entry| entry.state == EntryState::Alive)
    };
    cluster.up().filter(alive).count()
}

#[test]
fn a_start_with_a_wrong_clock_locks_nobody_out() {
    let mut cluster = calendared();
    cluster.crash(3);
    begin(&mut cluster, LAST - 1, false); // its clock shows 2060
    cluster.run(40);
    let refused: u64 =
        cluster.nodes[..3].iter().flatten().map(|node| node.counters().dropped_implausible).sum();
    assert!(refused > 0);
    cluster.crash(3);
    begin(&mut cluster, 2, true);
    cluster.run(60);
    assert_eq!(see_it_alive(&cluster), 4);
}

#[test]
fn what_was_believed_before_there_was_a_calendar_is_let_go() {
    let mut cluster = Cluster::with_seed(&detecting(), 4);
    cluster.run(60);
    cluster.crash(3);
    begin(&mut cluster, LAST, false);
    cluster.run(60);
    assert_eq!(see_it_alive(&cluster), 4);
    cluster.crash(3);
    begin(&mut cluster, 2, false);
    cluster.run(60);
    assert!(see_it_alive(&cluster) < 4, "it is locked out");
    let now = cluster.now;
    assert_eq!(cluster.node(3).outranked(now), Some(Incarnation::MAX));
    for node in cluster.nodes.iter_mut().flatten() {
        node.believe_up_to(HIGHEST);
    }
    cluster.run(60);
    assert_eq!(see_it_alive(&cluster), 4);
    cluster.run(64);
    let now = cluster.now;
    assert_eq!(cluster.node(3).outranked(now), None);
}

#[test]
fn with_a_roster_too() {
    let config = detecting();
    let mut cluster = Cluster::with_roster(&config, 4);
    cluster.run(20);
    let roster: Vec<_> = (0..4).map(member).collect();
    cluster.crash(3);
    cluster.start(3, node(&config, 3, &roster, LAST, cluster.now));
    cluster.run(20);
    cluster.crash(3);
    for node in cluster.nodes.iter_mut().flatten() {
        node.believe_up_to(HIGHEST);
    }
    cluster.start(3, node(&config, 3, &roster, 2, cluster.now));
    cluster.run(60);
    assert_eq!(see_it_alive(&cluster), 4);
}

#[test]
fn tombstones_of_the_last_incarnation_are_refused() {
    let mut pair = pair();
    pair.victim.believe_up_to(HIGHEST);
    let dead = Stamp::dead(Incarnation::MAX);
    let last = pair.sealed(&body(&[(id(0), dead, 1), (id(2), dead, 1)]), |_| {});
    let (counters, known) = pair.feed(&last);
    assert_eq!(value(&counters, "entries_implausible"), 2);
    assert!(known.iter().all(|&(_, life, _)| life <= 1), "{known:?}");
    assert_eq!(pair.victim.outranked(NOW), Some(Incarnation::MAX), "others may hold it");
    let event = std::iter::from_fn(|| pair.victim.poll_event()).last();
    assert_eq!(event, Some(Event::Implausible(name(2), Incarnation::MAX)));
    // What can be is refuted as ever, and believed of others.
    let high = Stamp::dead(HIGHEST);
    let window = pair.sealed(&body(&[(id(0), high, 1), (id(2), high, 1)]), |header| {
        header.counter = 2;
    });
    pair.feed(&window);
    assert_eq!(pair.victim.incarnation().get(), HIGHEST.get() + 1);
    assert_eq!(pair.victim.entry(&name(2), NOW).expect("a member").state, EntryState::Dead);
}

#[test]
fn a_sender_in_an_implausible_life_leaves_no_trace() {
    let mut pair = pair();
    pair.victim.believe_up_to(HIGHEST);
    let window = pair.sealed(&body(&[(id(1), stamp(1, 5), 1)]), |header| {
        header.incarnation = Incarnation::MAX;
        header.salt = 5;
    });
    pair.is_dropped(&window, "dropped_implausible");
    let (counters, _) = {
        let own = pair.sealed(&body(&[(id(1), stamp(1, 6), 1)]), |_| {});
        pair.feed(&own)
    };
    assert_eq!(value(&counters, "entries_news"), 1, "its replay window is what it was");
    assert_eq!(answers(&mut pair.victim, NOW), 0);
}

#[test]
fn a_bound_below_the_own_incarnation_means_that() {
    let mut node = make(&config(3), 0, pair::keys(1), 700_000);
    node.believe_up_to(HIGHEST);
    node.handle_timeout(Instant::EPOCH + cluster::UNIT * 2);
    assert_eq!((node.incarnation().get(), node.outranked(NOW)), (700_000, None));
}
