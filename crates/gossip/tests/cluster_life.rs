//! The life of a cluster: joining, leaving, restarting, forgetting; in one process, virtual time.

mod cluster;

use std::time::Duration;

use cluster::{Cluster, UNIT, address, config, member, name, node};
use tidings_gossip::{
    Capacity, ConfigError, EntryState, Event, Incarnation, Instant, Member, Node, PayloadTooLong,
    Window,
};

fn events(node: &mut Node) -> Vec<Event> {
    std::iter::from_fn(|| node.poll_event()).collect()
}

fn state_of(cluster: &Cluster, at: usize, about: usize) -> Option<EntryState> {
    let node = cluster.nodes[at].as_ref()?;
    node.entry(&name(about), cluster.now).map(|view| view.state)
}

#[test]
fn a_roster_of_64_is_known_everywhere_within_31_units() {
    let mut cluster = Cluster::with_roster(&config(64), 64);
    cluster.run(31);
    assert_eq!(cluster.known_min(), 64);
}

#[test]
fn seeds_are_enough_to_find_everyone() {
    for count in [2, 3, 64, 400] {
        let mut config = config(count);
        config.datagram_bytes = 1452;
        let mut cluster = Cluster::with_seed(&config, count);
        cluster.run(31);
        assert_eq!(cluster.known_min(), count as u32, "{count} nodes");
    }
}

/// Payloads of 1 KiB leave room for one entry in an answer.
#[test]
fn large_payloads_do_not_keep_a_cluster_from_finding_everyone() {
    let mut config = config(64);
    config.payload_bytes = 1024;
    config.datagram_bytes = 1452;
    let mut cluster = Cluster::with_seed(&config, 64);
    cluster.run(31);
    assert_eq!(cluster.known_min(), 64);
}

#[test]
fn a_complete_cluster_asks_next_to_nothing() {
    let mut cluster = Cluster::with_seed(&config(64), 64);
    cluster.run(150);
    let asks = |cluster: &Cluster| -> u64 { cluster.up().map(|n| n.counters().asks_sent).sum() };
    let before = asks(&cluster);
    cluster.run(128);
    assert!(asks(&cluster) - before <= 64 * 3, "one ask a node in 64 units is the design");
}

#[test]
fn all_of_an_entry_arrives() {
    let mut cluster = Cluster::with_roster(&config(8), 8);
    cluster.node(3).publish(b"load=7").expect("6 of 8 bytes");
    cluster.run(40);
    let now = cluster.now;
    let view = cluster.node(5).entry(&name(3), now).expect("a member");
    assert_eq!(view.payload, b"load=7\0\0");
    assert_eq!((view.state, view.incarnation, view.address), (EntryState::Alive, 1, address(3)));
    assert!(view.age.is_some_and(|age| age < UNIT * 40));
    let long = cluster.node(3).publish(b"nine byte");
    assert_eq!(long, Err(PayloadTooLong { given: 9, room: 8 }));
}

#[test]
fn farewells_are_heard_and_targets_dropped() {
    let mut cluster = Cluster::with_roster(&config(16), 16);
    cluster.run(30);
    cluster.leave(4);
    assert_eq!(cluster.node(4).poll_timeout(), Instant::from_micros(i64::MAX));
    cluster.crash(4);
    cluster.run(40);
    for at in (0..16).filter(|&at| at != 4) {
        assert_eq!(state_of(&cluster, at, 4), Some(EntryState::Left), "node {at}");
        let now = cluster.now;
        let node = cluster.node(at);
        assert_eq!(node.ages(now).members, 15);
        assert!(events(node).contains(&Event::Left(name(4))));
    }
}

#[test]
fn a_node_returns_with_a_higher_incarnation() {
    let roster: Vec<Member> = (0..8).map(member).collect();
    let config = config(8);
    let mut cluster = Cluster::with_roster(&config, 8);
    cluster.run(30);
    cluster.crash(2);
    cluster.run(10);
    let now = cluster.now;
    cluster.start(2, node(&config, 2, &roster, 2, now));
    cluster.run(40);
    for at in (0..8).filter(|&at| at != 2) {
        let now = cluster.now;
        let view = cluster.node(at).entry(&name(2), now).expect("a member");
        assert_eq!(view.incarnation, 2);
        let restarted = events(cluster.node(at))
            .iter()
            .any(|e| matches!(e, Event::Restarted(n, _) if *n == name(2)));
        assert!(restarted, "node {at}");
    }
}

/// The datagrams to where it was arrive nowhere; it speaks first, and its card says where it is.
#[test]
fn a_node_that_moves_is_followed_by_all() {
    let mut cluster = Cluster::with_seed(&config(8), 8);
    cluster.run(40);
    let (now, mut moved) = (cluster.now, cluster.nodes[5].take().expect("it is up"));
    assert_eq!(moved.move_to(address(5), now), None, "it is there already");
    assert_eq!(moved.move_to(address(8), now), Some(Incarnation::new(2)));
    cluster.start(8, moved);
    cluster.run(40);
    for at in (0..9).filter(|&at| at != 5) {
        let now = cluster.now;
        let view = cluster.node(at).entry(&name(5), now).expect("a member");
        assert_eq!((view.address, view.incarnation), (address(8), 2), "node {at}");
        assert_eq!(view.state, EntryState::Alive);
        assert!(view.age.is_some_and(|age| age < UNIT * 40), "node {at}");
    }
    assert_eq!(cluster.known_min(), 8);
}

#[test]
fn with_a_roster_the_roster_says_where_members_are() {
    let mut cluster = Cluster::with_roster(&config(3), 3);
    let now = cluster.now;
    assert_eq!(cluster.node(1).move_to(address(7), now), None);
    assert_eq!(cluster.node(1).incarnation(), Incarnation::new(1));
}

/// A clock that was set back gives a restarted node the incarnation it had: others hold newer news
/// of it than it makes, until it meets them and overtakes.
#[test]
fn a_node_with_an_incarnation_used_before_overtakes_its_past() {
    let roster: Vec<Member> = (0..8).map(member).collect();
    let mut config = config(8);
    config.window = Window::Entries(4);
    let mut cluster = Cluster::with_roster(&config, 8);
    cluster.run(60);
    cluster.crash(2);
    let now = cluster.now;
    cluster.start(2, node(&config, 2, &roster, 1, now));
    cluster.run(40);
    let past = events(cluster.node(2));
    assert!(past.iter().any(|event| matches!(event, Event::Refuted(_))), "{past:?}");
    let now = cluster.now;
    for at in 0..8 {
        let view = cluster.node(at).entry(&name(2), now).expect("a member");
        assert!(view.incarnation >= 2);
        assert!(view.age.is_some_and(|age| age < UNIT * 40), "node {at}");
    }
}

#[test]
fn a_farewell_of_the_same_incarnation_is_overtaken_too() {
    let mut config = config(8);
    config.window = Window::Entries(4);
    let mut cluster = Cluster::with_seed(&config, 8);
    cluster.run(30);
    cluster.leave(2);
    cluster.run(30);
    let now = cluster.now;
    let mut back = node(&config, 2, &[], 1, now);
    back.join(&[address(0)]);
    cluster.start(2, back);
    cluster.run(30);
    assert_eq!(cluster.known_min(), 8);
    assert_eq!(state_of(&cluster, 5, 2), Some(EntryState::Alive));
    assert!(events(cluster.node(5)).contains(&Event::Returned(name(2), Incarnation::new(2))));
}

#[test]
fn the_silent_are_forgotten_after_the_stated_time_and_may_return() {
    let mut config = config(8);
    config.forget_after = UNIT * 100;
    let mut cluster = Cluster::with_seed(&config, 8);
    cluster.run(40);
    cluster.crash(5);
    cluster.run(90);
    assert_eq!(state_of(&cluster, 0, 5), Some(EntryState::Alive));
    cluster.run(40);
    for at in (0..8).filter(|&at| at != 5) {
        assert_eq!(state_of(&cluster, at, 5), None, "node {at}");
        assert!(events(cluster.node(at)).contains(&Event::Forgotten(name(5))));
    }
    // Nobody brings it back: cards travel with entries, and entries that old are refused.
    cluster.run(300);
    assert_eq!(cluster.up().map(|node| node.ages(cluster.now).members).max(), Some(7));
    let now = cluster.now;
    let mut back = node(&config, 5, &[], 2, now);
    back.join(&[address(0)]);
    cluster.start(5, back);
    cluster.run(31);
    assert_eq!(cluster.known_min(), 8);
}

#[test]
fn halves_that_forgot_each_other_grow_together_by_their_seed() {
    let mut config = config(8);
    config.forget_after = UNIT * 70;
    let mut cluster = Cluster::with_seed(&config, 8);
    cluster.run(40);
    cluster.delivers = |from, to, _| (from < 4) == (to < 4);
    cluster.run(200);
    assert_eq!(cluster.up().map(|node| node.ages(cluster.now).members).max(), Some(4));
    cluster.delivers = |_, _, _| true;
    // One ask in eight goes to a seed, one ask in 64 units: four nodes need it within this time
    // but for one chance in 10^9; the seed of all draws is fixed.
    cluster.run(3000);
    assert_eq!(cluster.known_min(), 8);
}

#[test]
fn a_bounded_vector_keeps_the_newest_twice_the_window() {
    let mut config = config(200);
    config.window = Window::Entries(20);
    config.capacity = Capacity::Bounded(40);
    let mut cluster = Cluster::with_roster(&config, 200);
    cluster.run(60);
    for node in cluster.up() {
        let ages = node.ages(cluster.now);
        assert_eq!((ages.known, ages.members), (40, 200));
        // A full vector with this window is 14 units old on average: the newest 40 are younger.
        assert!(ages.age_max < UNIT * 14, "{ages:?}");
    }
}

#[test]
fn a_window_larger_than_a_datagram_is_split_and_each_piece_is_of_use() {
    let mut config = config(64);
    config.payload_bytes = 256;
    config.datagram_bytes = 1452;
    config.window = Window::Percent(100.0);
    let mut cluster = Cluster::with_roster(&config, 64);
    cluster.delivers = |_, _, datagram| {
        assert!(datagram.len() <= 1452);
        // Every other datagram is lost: by a bit of its tag, which is as good as random.
        datagram[datagram.len() - 1] & 1 == 0
    };
    cluster.run(60);
    assert_eq!(cluster.known_min(), 64);
}

#[test]
fn a_node_is_a_function_of_its_inputs() {
    let run = || {
        let mut cluster = Cluster::with_seed(&config(32), 32);
        cluster.run(50);
        let all: Vec<_> = cluster
            .up()
            .map(|node| {
                let views = node.entries(cluster.now);
                let views: Vec<_> = views.map(|v| (v.id, v.sequence, v.age)).collect();
                (*node.counters(), views)
            })
            .collect();
        all
    };
    assert_eq!(run(), run());
}

#[test]
fn late_calls_skip_units_and_say_so() {
    let mut cluster = Cluster::with_roster(&config(2), 2);
    cluster.run(3);
    let late = cluster.now + UNIT * 10;
    let node = cluster.node(0);
    let before = *node.counters();
    node.handle_timeout(late);
    assert_eq!(node.counters().rounds, before.rounds + 1);
    assert!(node.counters().rounds_skipped >= before.rounds_skipped + 9);
    assert!(node.poll_timeout() > late && node.poll_timeout() <= late + UNIT);
}

#[test]
fn rosters_are_checked_and_can_be_replaced() {
    let config = config(10);
    let roster: Vec<Member> = (0..4).map(member).collect();
    let mut one = node(&config, 0, &roster, 1, Instant::EPOCH);
    assert_eq!(one.ages(Instant::EPOCH).members, 4);
    let more: Vec<Member> = (0..6).map(member).collect();
    one.set_roster(&more, Instant::EPOCH).expect("six fit");
    assert_eq!(one.ages(Instant::EPOCH).members, 6);
    one.set_roster(&roster[..2], Instant::EPOCH).expect("two fit");
    assert_eq!(one.ages(Instant::EPOCH).members, 2);

    let without = one.set_roster(&more[1..], Instant::EPOCH);
    assert_eq!(without, Err(ConfigError::NotInRoster(name(0))));
    for unfit in ["", "a b", "n\u{fc}", "n/1", &"n".repeat(64)] {
        let mut unfit_too = roster.clone();
        unfit_too.push(Member { name: unfit.to_owned(), address: address(9) });
        let refused = one.set_roster(&unfit_too, Instant::EPOCH);
        assert_eq!(refused, Err(ConfigError::Name(unfit.to_owned())));
    }
    let mut twice = roster.clone();
    twice.push(member(1));
    let twice = one.set_roster(&twice, Instant::EPOCH);
    assert_eq!(twice, Err(ConfigError::DuplicateName(name(1))));
    let many: Vec<Member> = (0..11).map(member).collect();
    let many = one.set_roster(&many, Instant::EPOCH);
    assert_eq!(many, Err(ConfigError::TooManyNodes { nodes: 11, max_nodes: 10 }));
    assert_eq!(one.ages(Instant::EPOCH).members, 2);
    let mut seeded = node(&config, 0, &[], 1, Instant::EPOCH);
    assert_eq!(seeded.set_roster(&roster, Instant::EPOCH), Err(ConfigError::NoRoster));
}

/// Out of the roster and in again: nothing of before is left, and the address is the new one.
#[test]
fn a_member_taken_off_the_roster_and_put_back_is_heard_again() {
    let config = config(8);
    let mut cluster = Cluster::with_roster(&config, 8);
    cluster.run(40);
    let now = cluster.now;
    let mut roster: Vec<Member> = (0..8).map(member).collect();
    cluster.node(0).set_roster(&roster[..7], now).expect("node 0 is among them");
    assert_eq!(state_of(&cluster, 0, 7), None);
    let before = cluster.node(0).counters().dropped_unknown_sender;
    cluster.run(60);
    assert_eq!(state_of(&cluster, 0, 7), None);
    assert!(cluster.node(0).counters().dropped_unknown_sender > before);
    let now = cluster.now;
    roster[0].address = address(99);
    roster[6].address = address(98);
    cluster.node(0).set_roster(&roster, now).expect("node 0 is among them");
    assert_eq!(state_of(&cluster, 0, 7), Some(EntryState::Unheard));
    let places = [0, 6, 7].map(|n| cluster.node(0).entry(&name(n), now).map(|view| view.address));
    assert_eq!(places, [address(99), address(98), address(7)].map(Some));
    cluster.run(40);
    assert_eq!(state_of(&cluster, 0, 7), Some(EntryState::Alive));
    let now = cluster.now;
    assert_eq!(cluster.node(0).ages(now).members, 8);
}

/// The farewell replaces the window of which the first half is on its way.
#[test]
fn leaving_amid_a_round_sends_farewells_and_nothing_else() {
    let mut config = config(16);
    config.window = Window::Percent(100.0);
    config.payload_bytes = 256;
    config.datagram_bytes = 1452;
    let mut cluster = Cluster::with_roster(&config, 16);
    cluster.run(40);
    let mut node = cluster.nodes[3].take().expect("it is up");
    let now = node.poll_timeout();
    node.handle_timeout(now);
    let mut one = vec![0; 1452];
    assert!(node.poll_transmit(now, &mut one).is_some(), "the first of several datagrams");
    let unsent = node.counters().entries_unsent;
    node.leave(now);
    node.leave(now);
    assert!(node.counters().entries_unsent > unsent);
    let mut reported = std::collections::BTreeMap::new();
    while let Some(out) = node.poll_transmit(now, &mut one) {
        *reported.entry(out.to).or_insert(0) += 1;
        let to = out.to.as_bytes().try_into().map(u32::from_le_bytes).expect("four bytes");
        cluster.node(to as usize).handle_datagram(now, address(3), &mut one[..out.bytes]);
    }
    // Six, each with a window of one datagram, and one to each of three successors.
    assert_eq!(reported.values().sum::<i32>(), 9);
    for to in reported.into_keys() {
        let to = to.as_bytes().try_into().map(u32::from_le_bytes).expect("four bytes");
        assert_eq!(state_of(&cluster, to as usize, 3), Some(EntryState::Left));
    }
    node.handle_timeout(now + UNIT * 5);
    assert_eq!(node.poll_transmit(now + UNIT * 5, &mut one), None, "it has left");
}

/// Among 200,000 names some ids collide; the error names a salt under which these two do not.
#[test]
fn colliding_names_are_refused_with_a_salt_that_helps() {
    use std::collections::BTreeMap;
    use tidings_gossip::NodeId;
    let mut seen = BTreeMap::new();
    let (a, b) = (0..200_000usize)
        .find_map(|n| seen.insert(NodeId::of_name(&name(n), 0), n).map(|other| (other, n)))
        .expect("200,000 names have 4.7 collisions on average, and names are fixed");
    let mut config = config(4);
    let roster = [member(0), member(a), member(b)];
    let keys = tidings_gossip::KeyRing::open("x");
    let life = tidings_gossip::Incarnation::new(1);
    let make = |config, keys| Node::new(config, keys, member(0), &roster, life, 1, Instant::EPOCH);
    let Err(ConfigError::IdCollision { salt, .. }) = make(config.clone(), keys.clone()) else {
        panic!("a collision is refused");
    };
    config.id_salt = salt;
    make(config, keys).expect("the salt helps");
}

#[test]
fn a_node_nobody_answers_goes_on_asking_its_seed() {
    let mut config = config(4);
    config.forget_after = Duration::from_secs(60);
    let mut node = node(&config, 0, &[], 1, Instant::EPOCH);
    node.join(&[address(9)]);
    let mut buffer = vec![0; 65_507];
    let mut asks = 0;
    for unit in 0..40 {
        let now = Instant::EPOCH + UNIT * unit;
        node.handle_timeout(now);
        while let Some(out) = node.poll_transmit(now, &mut buffer) {
            assert_eq!(out.to, address(9));
            asks += 1;
        }
    }
    assert!((9..=14).contains(&asks), "{asks} asks in 40 units");
}

/// A driver that does not fetch events loses the oldest, not memory.
#[test]
fn events_that_nobody_fetches_are_bounded() {
    let mut cluster = Cluster::with_roster(&config(300), 300);
    cluster.run(60);
    let node = cluster.node(0);
    let kept = events(node);
    assert_eq!(kept.len(), 256);
    assert_eq!(node.counters().dropped_events, 299 - 256);
}

/// What a driver says about the present never takes back what it said before.
#[test]
fn time_does_not_go_back() {
    let mut cluster = Cluster::with_roster(&config(8), 8);
    cluster.run(40);
    let now = cluster.now;
    let node = cluster.node(0);
    let (next, ages) = (node.poll_timeout(), node.ages(now));
    node.handle_timeout(Instant::EPOCH);
    assert_eq!((node.poll_timeout(), node.ages(now)), (next, ages));
    node.publish(b"then").expect("4 of 8 bytes");
    node.handle_timeout(next);
    let mut buffer = vec![0; 65_507];
    let out = node.poll_transmit(Instant::EPOCH, &mut buffer).expect("a window");
    let to = out.to.as_bytes().try_into().map(u32::from_le_bytes).expect("four bytes") as usize;
    cluster.node(to).handle_datagram(Instant::EPOCH, address(0), &mut buffer[..out.bytes]);
    let view = cluster.node(to).entry(&name(0), next).expect("a member");
    assert_eq!(view.payload, b"then\0\0\0\0");
    assert!(view.age.is_some_and(|age| age <= UNIT), "{view:?}");
}

/// Half of a window at most goes to farewells: while many leave, the others' news still flow.
#[test]
fn many_farewells_do_not_stop_the_news() {
    let mut cluster = Cluster::with_roster(&config(64), 64);
    cluster.run(60);
    for leaves in 0..30 {
        cluster.leave(leaves);
        cluster.crash(leaves);
    }
    cluster.run(15);
    let (average, _) = cluster.ages();
    // 11.8; were windows given over to farewells it would be 16.6.
    assert!(average < 14.0, "{average} units");
    // Each is passed on a dozen times by each node: 34 × 30 pairs miss one with e^-12.
    cluster.run(120);
    assert!(cluster.up().all(|node| node.ages(cluster.now).members == 34));
}

/// By roster a node that left stays a member: once its farewell is forgotten it is sent to again,
/// so that it hears of all when it is back.
#[test]
fn a_forgotten_farewell_leaves_the_member_of_a_roster() {
    let mut config = config(8);
    config.forget_after = UNIT * 80;
    let mut cluster = Cluster::with_roster(&config, 8);
    cluster.run(30);
    cluster.leave(4);
    cluster.crash(4);
    cluster.run(60);
    let members = |cluster: &Cluster| -> Vec<u32> {
        cluster.up().map(|node| node.ages(cluster.now).members).collect()
    };
    assert_eq!(members(&cluster), [7; 7]);
    cluster.run(40);
    assert_eq!(members(&cluster), [8; 7]);
    assert_eq!(state_of(&cluster, 0, 4), Some(EntryState::Unheard));
}
