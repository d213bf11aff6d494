//! Deaths: who dies is known to be dead by all, and who lives by nobody, whatever the network does.
//!
//! Clusters of real nodes in virtual time. A node that stands still is taken out and put back, so
//! that what was sent to it meanwhile is lost. Figures: a death where the host refuses is known to
//! all within 2.5 s, a silent one `death_after` later; no pause of 2 s is a death.

mod cluster;

use std::time::Duration;

use cluster::{Cluster, UNIT, config, member, name, node};
use tidings_gossip::{
    Capacity, Config, EntryState, Event, Incarnation, Instant, Member, Node, Strategy, Window,
};

const NODES: usize = 24;
const DEATH_AFTER: Duration = Duration::from_millis(2_500);
/// Units in which everybody is known, and how often news comes of each.
const WARM_UP: u32 = 80;

fn detecting(strategy: Strategy) -> Config {
    let mut config = config(NODES);
    config.strategy = strategy;
    config.death_after = Some(DEATH_AFTER);
    config
}

const STRATEGIES: [Strategy; 2] = [Strategy::Uniform, Strategy::Grid];

/// Clusters of both strategies, on a roster and joined by seeds, which know all.
fn clusters() -> Vec<(String, Cluster)> {
    let make = |strategy| {
        let config = detecting(strategy);
        [
            (format!("{strategy}, roster"), Cluster::with_roster(&config, NODES)),
            (format!("{strategy}, seeds"), Cluster::with_seed(&config, NODES)),
        ]
    };
    let mut clusters: Vec<_> = STRATEGIES.into_iter().flat_map(make).collect();
    for (what, cluster) in &mut clusters {
        cluster.run(WARM_UP);
        assert_eq!(cluster.known_min(), NODES as u32, "{what}");
        events(cluster);
    }
    clusters
}

/// What all nodes have noticed: the number of the node, and what.
fn events(cluster: &mut Cluster) -> Vec<(usize, Event)> {
    let mut all = Vec::new();
    for (at, node) in cluster.nodes.iter_mut().enumerate() {
        while let Some(event) = node.as_mut().and_then(Node::poll_event) {
            all.push((at, event));
        }
    }
    all
}

/// Pairs of nodes that are up of which the first holds the second to be in this state.
fn pairs(cluster: &Cluster, state: EntryState) -> usize {
    let up: Vec<String> = cluster.up().map(|node| node.name().to_owned()).collect();
    let held = |node: &Node| {
        let entries = node.entries(cluster.now);
        entries.filter(|entry| entry.state == state && up.iter().any(|n| n == entry.name)).count()
    };
    cluster.up().map(held).sum()
}

/// Nodes that hold node `n` to be in this state.
fn holders(cluster: &Cluster, n: usize, state: EntryState) -> usize {
    let holds =
        |node: &&Node| node.entry(&name(n), cluster.now).is_some_and(|entry| entry.state == state);
    cluster.up().filter(holds).count()
}

/// Units until `done`, at most `most`.
fn units_until(cluster: &mut Cluster, most: u32, done: impl Fn(&Cluster) -> bool) -> u32 {
    let mut units = 0;
    while !done(cluster) {
        assert!(units < most, "not within {most} units");
        cluster.run(1);
        units += 1;
    }
    units
}

fn all_alive(cluster: &Cluster) -> bool {
    let up = cluster.up().count();
    pairs(cluster, EntryState::Alive) == up * up
}

/// A tenth of all datagrams is lost, those whose seals end so.
fn lossy(_: usize, _: usize, datagram: &[u8]) -> bool {
    datagram.last().is_none_or(|byte| byte % 10 != 0)
}

#[test]
fn a_killed_process_is_known_to_all_within_two_seconds_and_a_half() {
    for (what, mut cluster) in clusters() {
        for delivers in [|_, _, _: &[u8]| true, lossy] {
            (cluster.refuses, cluster.delivers) = (true, delivers);
            let n = cluster.nodes.iter().rposition(Option::is_some).expect("some are up");
            cluster.crash(n);
            let units = units_until(&mut cluster, 9, |all| {
                holders(all, n, EntryState::Dead) == all.up().count()
            });
            let seen = events(&mut cluster);
            println!("{what}: refused, known to all after {units} units");
            for (at, event) in seen {
                let fits = match &event {
                    Event::Died(who, _) => *who == name(n),
                    Event::Suspected(_) | Event::Cleared(_) => true,
                    _ => false,
                };
                assert!(fits, "{what}: node {at}: {event:?}");
            }
        }
        assert_eq!(pairs(&cluster, EntryState::Dead), 0, "{what}");
    }
}

#[test]
fn a_silent_host_is_dead_after_death_after_and_not_before() {
    for (what, mut cluster) in clusters() {
        let crash = cluster.now;
        cluster.crash(3);
        cluster.run(DEATH_AFTER.as_millis() as u32 / UNIT.as_millis() as u32);
        assert_eq!(holders(&cluster, 3, EntryState::Dead), 0, "{what}: none so early");
        units_until(&mut cluster, 16, |all| holders(all, 3, EntryState::Suspected) > 0);
        units_until(&mut cluster, 20, |all| holders(all, 3, EntryState::Dead) == NODES - 1);
        let seconds = cluster.now.saturating_since(crash).as_secs_f64();
        println!("{what}: silent, known to all after {seconds:.1} s");
        assert_eq!(pairs(&cluster, EntryState::Dead), 0, "{what}");
    }
}

/// Three nodes, others in each turn, do nothing for so many units while the rest goes on.
fn stand_still(cluster: &mut Cluster, turn: usize, units: u32) {
    let still: Vec<usize> = (0..3).map(|n| (turn * 5 + n * 7) % NODES).collect();
    let taken: Vec<_> = still.iter().map(|&n| (n, cluster.nodes[n].take())).collect();
    cluster.run(units);
    for (n, node) in taken {
        cluster.start(n, node.expect("it was up"));
    }
}

#[test]
fn standing_still_for_two_seconds_is_no_death() {
    for (what, mut cluster) in clusters() {
        cluster.delivers = lossy;
        for turn in 0..12 {
            stand_still(&mut cluster, turn, 8);
            cluster.run(8);
        }
        for (at, event) in events(&mut cluster) {
            let false_death = matches!(event, Event::Died(..) | Event::Outlived(_));
            assert!(!false_death, "{what}: node {at}: {event:?}");
        }
    }
}

/// A doubt that news settled at the moment of the third probe was told as a suspicion cleared that
/// nobody had raised: in an hour of 1,024 nodes more were cleared than raised.
#[test]
fn who_is_cleared_was_suspected_before() {
    for (what, mut cluster) in clusters() {
        cluster.delivers = |_, _, datagram| datagram.last().is_none_or(|byte| byte % 5 > 1);
        let mut suspected = vec![Vec::new(); NODES];
        // A doubt may still stand when the suspect turns; its end is told a little later.
        let mut turned = vec![Vec::new(); NODES];
        let mut cleared = 0;
        for turn in 0..60 {
            stand_still(&mut cluster, turn, 4);
            cluster.run(6);
            for (at, event) in events(&mut cluster) {
                let (names, turned) = (&mut suspected[at], &mut turned[at]);
                match event {
                    Event::Suspected(who) => {
                        assert!(!names.contains(&who), "{what}: {at}: {who} twice");
                        names.push(who);
                    }
                    Event::Cleared(who) => {
                        cleared += 1;
                        let was = names.contains(&who) || turned.contains(&who);
                        assert!(was, "{what}: {at}: {who} was not suspected");
                        names.retain(|name| *name != who);
                        turned.retain(|name| *name != who);
                    }
                    Event::Died(who, _) | Event::Restarted(who, _) if names.contains(&who) => {
                        names.retain(|name| *name != who);
                        turned.push(who);
                    }
                    _ => {}
                }
            }
        }
        println!("{what}: {cleared} cleared");
    }
}

#[test]
fn a_node_paused_for_too_long_hears_of_its_death_and_refutes_it() {
    for (what, mut cluster) in clusters() {
        let still = cluster.nodes[7].take().expect("it is up");
        units_until(&mut cluster, 40, |all| holders(all, 7, EntryState::Dead) == NODES - 1);
        events(&mut cluster);
        cluster.start(7, still);
        let units = units_until(&mut cluster, 16, all_alive);
        println!("{what}: known again after {units} units");
        let seen = events(&mut cluster);
        let two = Incarnation::new(2);
        assert!(seen.contains(&(7, Event::Outlived(two))), "{what}: {seen:?}");
        let returned = Event::Returned(name(7), two);
        let reported = seen.iter().filter(|(_, event)| *event == returned).count();
        assert_eq!(reported, NODES - 1, "{what}");
        assert!(
            !seen.iter().any(|(_, event)| matches!(event, Event::Died(..))),
            "{what}: {seen:?}"
        );
    }
}

#[test]
fn two_halves_that_declared_each_other_dead_reunite() {
    for (what, mut cluster) in clusters() {
        cluster.delivers = |from, to, _| (from < NODES / 2) == (to < NODES / 2);
        units_until(&mut cluster, 60, |all| pairs(all, EntryState::Dead) == NODES * NODES / 2);
        // Long enough for every window to be full of the own half alone.
        cluster.run(200);
        assert_eq!(pairs(&cluster, EntryState::Alive), NODES * NODES / 2, "{what}");
        events(&mut cluster);
        cluster.delivers = |_, _, _| true;
        let units = units_until(&mut cluster, 16, all_alive);
        let seen = events(&mut cluster);
        let outlived = seen.iter().filter(|(_, event)| matches!(event, Event::Outlived(_)));
        println!("{what}: healed after {units} units, {} outlived", outlived.clone().count());
        assert!(outlived.count() <= NODES, "{what}: each begins one incarnation anew");
        assert!(
            !seen.iter().any(|(_, event)| matches!(event, Event::Died(..))),
            "{what}: {seen:?}"
        );
    }
}

/// What half of the nodes send does not reach the others; those hear each other, and are heard.
#[test]
fn a_cut_of_one_way_kills_at_most_those_who_are_not_heard() {
    for (what, mut cluster) in clusters() {
        cluster.delivers = |from, to, _| from >= NODES / 2 || to < NODES / 2;
        cluster.run(60);
        let dead: Vec<usize> =
            (0..NODES).filter(|&n| holders(&cluster, n, EntryState::Dead) > 0).collect();
        println!("{what}: held as dead in a one-way cut: {dead:?}");
        cluster.delivers = |_, _, _| true;
        let units = units_until(&mut cluster, 24, all_alive);
        println!("{what}: healed after {units} units");
    }
}

/// It hears nobody, and all hear it: it has no right to call anybody dead.
#[test]
fn a_deaf_node_kills_nobody() {
    for (what, mut cluster) in clusters() {
        cluster.delivers = |_, to, _| to != 5;
        cluster.run(100);
        for (at, event) in events(&mut cluster) {
            assert!(!matches!(event, Event::Died(..)), "{what}: node {at}: {event:?}");
        }
        cluster.delivers = |_, _, _| true;
        let units = units_until(&mut cluster, 24, all_alive);
        println!("{what}: healed after {units} units");
    }
}

/// Two that cannot reach each other, while all others reach both.
#[test]
fn a_path_that_is_broken_between_two_is_no_death() {
    for (what, mut cluster) in clusters() {
        cluster.delivers = |from, to, _| !matches!((from, to), (2, 9) | (9, 2));
        cluster.run(200);
        for (at, event) in events(&mut cluster) {
            assert!(!matches!(event, Event::Died(..)), "{what}: node {at}: {event:?}");
        }
    }
}

/// Anybody can forge the message by which a host refuses.
/// From the first datagram on: of most members a node has yet to hear anything itself, and what
/// tries their addresses is lost as other datagrams are.
#[test]
fn nobody_dies_while_a_lossy_cluster_forms() {
    for strategy in STRATEGIES {
        for nodes in [16, 48] {
            let mut config = detecting(strategy);
            config.max_nodes = nodes as u32;
            let mut cluster = Cluster::with_seed(&config, nodes);
            cluster.delivers = lossy;
            cluster.run(1_200);
            let declared: u64 = cluster.up().map(|node| node.counters().deaths_declared).sum();
            assert_eq!(declared, 0, "{strategy}, {nodes} nodes");
            assert_eq!(cluster.known_min(), nodes as u32, "{strategy}, {nodes} nodes");
        }
    }
}

#[test]
fn nobody_dies_of_refusals_alone() {
    for (what, mut cluster) in clusters() {
        cluster.delivers = lossy;
        for unit in 0..200 {
            let (now, target) = (cluster.now, cluster::address(1 + unit % (NODES - 1)));
            for _ in 0..100 {
                cluster.node(0).handle_refused(now, target);
            }
            cluster.flush(0);
            cluster.run(1);
        }
        for (at, event) in events(&mut cluster) {
            assert!(!matches!(event, Event::Died(..)), "{what}: node {at}: {event:?}");
        }
        assert!(cluster.node(0).counters().probes_sent < 200 * 60, "{what}: bounded");
    }
}

/// Its host refuses from then on, and most have not received the farewell when they notice it.
#[test]
fn who_leaves_is_left_and_never_dead() {
    let mut probes = 0;
    for (what, mut cluster) in clusters() {
        cluster.refuses = true;
        for n in 0..NODES / 2 {
            cluster.leave(n);
            cluster.crash(n);
            let up = cluster.up().count();
            units_until(&mut cluster, 40, |all| holders(all, n, EntryState::Left) == up);
        }
        for (at, event) in events(&mut cluster) {
            let fits = matches!(event, Event::Left(_) | Event::Suspected(_) | Event::Cleared(_));
            assert!(fits, "{what}: node {at}: {event:?}");
        }
        probes += cluster.up().map(|node| node.counters().probes_sent).sum::<u64>();
    }
    assert!(probes > 0, "nobody had a doubt");
}

#[test]
fn a_farewell_comes_after_death() {
    for (what, mut cluster) in clusters() {
        let still = cluster.nodes[7].take().expect("it is up");
        units_until(&mut cluster, 40, |all| holders(all, 7, EntryState::Dead) == NODES - 1);
        cluster.start(7, still);
        cluster.leave(7);
        let gone = cluster.nodes[7].take();
        cluster.run(20);
        assert_eq!(holders(&cluster, 7, EntryState::Left), NODES - 1, "{what}");
        drop(gone);
    }
}

#[test]
fn a_node_of_the_last_incarnation_stays_dead_and_harms_nobody() {
    let config = detecting(Strategy::Uniform);
    let roster: Vec<Member> = (0..NODES).map(member).collect();
    let last = Incarnation::MAX.get();
    let life = |n| if n == 7 { last } else { 1 };
    let nodes = (0..NODES).map(|n| node(&config, n, &roster, life(n), Instant::EPOCH));
    let mut cluster = Cluster::of(nodes.collect());
    cluster.run(WARM_UP);
    let still = cluster.nodes[7].take().expect("it is up");
    units_until(&mut cluster, 40, |all| holders(all, 7, EntryState::Dead) == NODES - 1);
    cluster.start(7, still);
    cluster.run(40);
    assert_eq!(holders(&cluster, 7, EntryState::Dead), NODES - 1);
    assert_eq!(pairs(&cluster, EntryState::Alive), NODES * NODES - (NODES - 1));
}

#[test]
fn bounded_vectors_find_together_again_too() {
    let mut config = detecting(Strategy::Uniform);
    (config.capacity, config.window) = (Capacity::Bounded(12), Window::Entries(6));
    let mut cluster = Cluster::with_roster(&config, NODES);
    cluster.run(WARM_UP);
    cluster.delivers = |from, to, _| (from < NODES / 2) == (to < NODES / 2);
    cluster.run(200);
    cluster.delivers = |_, _, _| true;
    cluster.run(100);
    let targets: Vec<u32> = cluster.up().map(Node::members).collect();
    assert!(targets.iter().all(|&members| members == NODES as u32), "{targets:?}");
}

/// With nobody to ask, silence alone decides.
#[test]
fn of_two_nodes_the_survivor_knows() {
    for refuses in [true, false] {
        let config = detecting(Strategy::Uniform);
        let mut cluster = Cluster::with_roster(&config, 2);
        cluster.run(WARM_UP);
        cluster.refuses = refuses;
        cluster.crash(1);
        let most = if refuses { 9 } else { 40 };
        units_until(&mut cluster, most, |all| holders(all, 1, EntryState::Dead) == 1);
    }
}

#[test]
fn without_death_after_nobody_is_probed_or_dies() {
    let mut config = detecting(Strategy::Uniform);
    config.death_after = None;
    let mut cluster = Cluster::with_roster(&config, NODES);
    cluster.run(WARM_UP);
    cluster.refuses = true;
    cluster.crash(1);
    cluster.run(60);
    assert_eq!(holders(&cluster, 1, EntryState::Alive), NODES - 1);
    assert_eq!(cluster.node(0).counters().probes_sent, 0);
}
