//! Catching up: how much is asked in which state, and what only asking can bring.

mod cluster;

use cluster::{Cluster, UNIT, address, config, member, name, node};
use tidings_gossip::wire::header::Kind;
use tidings_gossip::{
    Address, Capacity, Config, EntryState, Event, Incarnation, Instant, KeyRing, Member, Node,
    Window,
};

fn asks(cluster: &Cluster) -> u64 {
    cluster.up().map(|node| node.counters().asks_sent).sum()
}

/// Asks that each node sends in 64 units, on average.
fn asks_in_64_units(cluster: &mut Cluster) -> f64 {
    let before = asks(cluster);
    cluster.run(64);
    (asks(cluster) - before) as f64 / cluster.up().count() as f64
}

/// A configuration by seeds whose nodes hold `capacity` entries and send half as many.
fn bounded(nodes: usize, capacity: u32) -> Config {
    let mut config = config(nodes);
    config.window = Window::Entries(capacity / 2);
    config.capacity = Capacity::Bounded(capacity);
    config
}

/// An ask of 600 bytes names about 111 of 500 ids: one sweep in 64 units is five asks.
#[test]
fn a_complete_cluster_of_many_sweeps_once_in_64_units() {
    let mut config = config(500);
    config.datagram_bytes = 600;
    let mut cluster = Cluster::with_seed(&config, 500);
    cluster.run(120);
    assert_eq!(cluster.known_min(), 500);
    cluster.run(100);
    let asks = asks_in_64_units(&mut cluster);
    assert!(asks <= 6.0, "{asks} asks a node in 64 units");
}

#[test]
fn a_bounded_cluster_by_seeds_rests_too() {
    let mut cluster = Cluster::with_seed(&bounded(100, 20), 100);
    cluster.run(200);
    let known = cluster.up().map(|node| node.ages(cluster.now).members).min();
    assert_eq!(known, Some(100), "members are known although entries are not held");
    let asks = asks_in_64_units(&mut cluster);
    assert!(asks <= 2.0, "{asks} asks a node in 64 units");
}

/// Those that came after a farewell do not know who left, and need not.
#[test]
fn a_farewell_of_someone_unknown_makes_nobody_ask() {
    let mut cluster = Cluster::with_seed(&config(20), 12);
    cluster.run(100);
    cluster.leave(3);
    cluster.crash(3);
    cluster.run(40);
    for late in 12..16 {
        let mut node = node(&config(20), late, &[], 1, cluster.now);
        node.join(&[address(0)]);
        cluster.start(late, node);
    }
    cluster.run(200);
    assert_eq!(cluster.known_min(), 15);
    let asks = asks_in_64_units(&mut cluster);
    assert!(asks <= 2.0, "{asks} asks a node in 64 units");
}

/// Nobody can be told where those are for whom there is no room, so nobody asks.
#[test]
fn a_lack_of_room_makes_nobody_ask_without_end() {
    let mut cluster = Cluster::with_seed(&config(8), 12);
    cluster.run(200);
    assert!(cluster.up().all(|node| node.ages(cluster.now).members <= 8));
    assert!(cluster.up().any(|node| node.counters().dropped_no_room > 0));
    let asks = asks_in_64_units(&mut cluster);
    assert!(asks <= 20.0, "{asks} asks a node in 64 units");
}

#[test]
fn who_comes_back_elsewhere_is_found_there_by_all() {
    let mut cluster = Cluster::with_seed(&config(48), 32);
    cluster.run(40);
    cluster.crash(5);
    cluster.run(5);
    let moved = Member { name: name(5), address: address(40) };
    let mut moved = start(&config(48), moved, &[], 2, cluster.now);
    moved.join(&[address(0)]);
    cluster.start(40, moved);
    cluster.run(100);
    for at in (0..32).filter(|&at| at != 5) {
        let now = cluster.now;
        let view = cluster.node(at).entry(&name(5), now).expect("a member");
        assert_eq!((view.address, view.incarnation), (address(40), 2), "node {at}");
    }
    // One that joins now is not sent to the old place by anybody.
    let mut late = node(&config(48), 41, &[], 1, cluster.now);
    late.join(&[address(0)]);
    cluster.start(41, late);
    cluster.run(40);
    let now = cluster.now;
    let view = cluster.node(41).entry(&name(5), now).expect("a member");
    assert_eq!(view.address, address(40));
}

/// A node whose only seed is itself has said farewell, and starts again: it knows nobody, and
/// nobody sends to it. Those of whom it is the seed find it.
#[test]
fn a_seed_that_left_is_found_when_it_comes_back() {
    for seed in 0..8 {
        let config = config(8);
        let mut cluster = Cluster::with_seed(&config, 3);
        cluster.run(100 + seed);
        cluster.leave(0);
        cluster.crash(0);
        cluster.run(40);
        cluster.start(0, node(&config, 0, &[], 2, cluster.now));
        cluster.run(24);
        assert_eq!(cluster.known_min(), 3, "after {seed} more units");
    }
}

fn start(config: &Config, me: Member, roster: &[Member], life: u32, now: Instant) -> Node {
    let (keys, life) = (KeyRing::open(&config.cluster), Incarnation::new(life));
    Node::new(config.clone(), keys, me, roster, life, 99, now).expect("a valid configuration")
}

/// A window brings the news that a node lives anew, but not where: whoever has only that must not
/// tell others that it is where it was.
#[test]
fn an_address_of_an_earlier_life_is_not_passed_on() {
    let config = config(8);
    let mut now = Instant::EPOCH + UNIT;
    let [mut before, mut middle, mut other, mut late] =
        [0, 1, 2, 3].map(|n| node(&config, n, &[], 1, Instant::EPOCH));
    let meet = |joiner: &mut Node, n: usize, host: &mut Node, at: usize, now| {
        joiner.join(&[address(at)]);
        joiner.handle_timeout(now);
        pass(joiner, (n, at), host, now, |_| true);
        pass(host, (at, n), joiner, now, |_| true);
    };
    meet(&mut before, 0, &mut middle, 1, now);
    meet(&mut other, 2, &mut middle, 1, now);
    let elsewhere = Member { name: name(0), address: address(7) };
    let mut after = start(&config, elsewhere, &[], 2, now);
    now = now + UNIT;
    meet(&mut after, 7, &mut other, 2, now);
    for _ in 0..20 {
        now = now + UNIT;
        after.handle_timeout(now);
        pass(&mut after, (7, 1), &mut middle, now, |datagram| {
            [Kind::Window as u8, Kind::Check as u8].contains(&datagram[3])
        });
        pass(&mut middle, (1, 7), &mut after, now, |datagram| datagram[3] == Kind::Checked as u8);
    }
    let heard = middle.entry(&name(0), now).map(|view| view.incarnation);
    assert_eq!(heard, Some(2), "windows reported the new life");
    meet(&mut late, 3, &mut middle, 1, now);
    let reported = late.entry(&name(0), now).map(|view| view.address);
    assert_ne!(reported, Some(address(0)), "it is there no more");
}

/// A node that restarts after somebody left learns from the others who that was.
#[test]
fn a_roster_node_that_restarts_learns_who_has_left() {
    let roster: Vec<Member> = (0..12).map(member).collect();
    let config = config(12);
    let mut cluster = Cluster::with_roster(&config, 12);
    cluster.run(40);
    cluster.leave(3);
    cluster.crash(3);
    cluster.run(60);
    cluster.crash(7);
    let now = cluster.now;
    cluster.start(7, node(&config, 7, &roster, 2, now));
    cluster.run(20);
    let now = cluster.now;
    let view = cluster.node(7).entry(&name(3), now).expect("a member");
    assert_eq!(view.state, EntryState::Left);
    assert_eq!(cluster.node(7).ages(now).members, 11);
}

/// All that was said of a node is forgotten, but not up to where: it is told, and overtakes that.
#[test]
fn who_was_forgotten_may_return_with_an_incarnation_used_before() {
    let members: Vec<Member> = (0..8).map(member).collect();
    let mut config = config(8);
    config.forget_after = UNIT * 100;
    for (roster, mut cluster) in
        [(&members[..], Cluster::with_roster(&config, 8)), (&[], Cluster::with_seed(&config, 8))]
    {
        cluster.run(40);
        cluster.crash(2);
        cluster.run(140);
        assert_eq!(cluster.known_min(), 7);
        let mut back = node(&config, 2, roster, 1, cluster.now);
        back.join(&[address(0)]);
        cluster.start(2, back);
        cluster.run(31);
        assert_eq!(cluster.known_min(), 8);
        assert_eq!(cluster.node(2).incarnation(), Incarnation::new(2));
    }
}

/// A recording of a node that is gone shows it to nobody as alive.
#[test]
fn what_the_forgotten_once_said_does_not_bring_them_back() {
    let mut config = config(8);
    config.forget_after = UNIT * 100;
    let [mut host, mut gone] = [0, 1].map(|n| node(&config, n, &[], 1, Instant::EPOCH));
    gone.join(&[address(0)]);
    let mut now = Instant::EPOCH;
    let mut recorded = Vec::new();
    let mut buffer = vec![0; 65_507];
    for _ in 0..10 {
        now = now + UNIT;
        gone.handle_timeout(now);
        while let Some(out) = gone.poll_transmit(now, &mut buffer) {
            recorded.push(buffer[..out.bytes].to_vec());
            host.handle_datagram(now, address(1), &mut buffer[..out.bytes]);
        }
        pass(&mut host, (0, 1), &mut gone, now, |_| true);
    }
    assert_eq!(host.ages(now).known, 2);
    for _ in 0..110 {
        now = now + UNIT;
        host.handle_timeout(now);
        pass(&mut host, (0, 1), &mut gone, now, |_| false);
    }
    assert_eq!(host.ages(now).members, 1);
    for mut datagram in recorded {
        host.handle_datagram(now, address(1), &mut datagram);
    }
    assert_eq!(host.ages(now).known, 1);
}

/// In a bounded vector most members have no entry; those that live are not forgotten for that.
/// With room for one entry and two in a window a node hears of each of 59 others 14 times in 400
/// units, half of the times when its room is taken by a newer one.
#[test]
fn members_whose_entries_find_no_room_are_not_forgotten() {
    let mut config = bounded(60, 2);
    config.window = Window::Entries(2);
    config.forget_after = UNIT * 400;
    let mut cluster = Cluster::with_seed(&config, 60);
    cluster.run(1600);
    let forgotten: u64 = cluster.up().map(|node| node.counters().members_forgotten).sum();
    assert_eq!(forgotten, 0);
}

#[test]
fn two_names_with_one_id_are_distinguished_by_their_cards() {
    // These two have one id under the salt 0.
    let [one, other] = ["c22613", "c63661"];
    let me = |name: &str, n| Member { name: name.to_owned(), address: address(n) };
    let config = config(8);
    let mut seed = node(&config, 0, &[], 1, Instant::EPOCH);
    let mut first = start(&config, me(one, 1), &[], 1, Instant::EPOCH);
    let mut second = start(&config, me(other, 2), &[], 5, Instant::EPOCH);
    second.publish(b"second").expect("6 of 8 bytes");
    let now = Instant::EPOCH + UNIT;
    let to_seed: Address = address(0);
    for (joiner, from) in [(&mut first, 1), (&mut second, 2)] {
        joiner.join(&[to_seed]);
        joiner.handle_timeout(now);
        pass(joiner, (from, 0), &mut seed, now, |_| true);
        pass(&mut seed, (0, from), joiner, now, |_| true);
    }
    let view = seed.entry(one, now).expect("the first is a member");
    assert_eq!((view.incarnation, view.address), (1, address(1)), "its entry is its own");
    assert!(seed.entry(other, now).is_none());
    assert_eq!(seed.counters().dropped_id_collision, 1);
    let reported = std::iter::from_fn(|| second.poll_event()).collect::<Vec<_>>();
    assert!(reported.contains(&Event::IdCollision(one.to_owned())), "{reported:?}");
    assert_eq!(second.incarnation(), Incarnation::new(5), "no race of incarnations begins");
}

/// Delivers what `sender` has to send to `receiver`, as far as it `arrives`; loses all else.
fn pass(
    sender: &mut Node,
    (from, to): (usize, usize),
    receiver: &mut Node,
    now: Instant,
    arrives: fn(&[u8]) -> bool,
) {
    let mut buffer = vec![0; 65_507];
    while let Some(out) = sender.poll_transmit(now, &mut buffer) {
        for datagram in buffer[..out.bytes].chunks_mut(out.segment_bytes) {
            if out.to == address(to) && arrives(datagram) {
                receiver.handle_datagram(now, address(from), datagram);
            }
        }
    }
}

/// Known by its address it is not asked; by another it is, and hears its own echo.
#[test]
fn a_seed_that_is_the_node_itself_does_no_harm() {
    let mut node = node(&config(4), 0, &[], 1, Instant::EPOCH);
    node.join(&[address(0)]);
    let mut buffer = vec![0; 65_507];
    let now = Instant::EPOCH + UNIT;
    node.handle_timeout(now);
    assert_eq!(node.poll_transmit(now, &mut buffer), None);
    node.join(&[address(0), address(9)]);
    let now = now + UNIT;
    node.handle_timeout(now);
    let out = node.poll_transmit(now, &mut buffer).expect("an ask");
    assert_eq!(out.to, address(9));
    node.handle_datagram(now, address(9), &mut buffer[..out.bytes]);
    assert_eq!(node.counters().dropped_own_id, 1);
    assert_eq!(node.ages(now).members, 1);
}

/// A mapped network shows datagrams as from elsewhere: answers go there, windows to the cards.
#[test]
fn answers_go_where_asks_came_from_and_windows_where_cards_say() {
    let [mut host, mut joiner] = [0, 1].map(|n| node(&config(4), n, &[], 1, Instant::EPOCH));
    joiner.join(&[address(0)]);
    let now = Instant::EPOCH + UNIT;
    joiner.handle_timeout(now);
    pass(&mut joiner, (77, 0), &mut host, now, |_| true);
    let mut buffer = vec![0; 65_507];
    let out = host.poll_transmit(now, &mut buffer).expect("an answer");
    assert_eq!((out.to, buffer[3]), (address(77), Kind::Answer as u8));
    let now = now + UNIT;
    host.handle_timeout(now);
    // First it tries whether the joiner is there, who answers from elsewhere, too.
    pass(&mut host, (0, 1), &mut joiner, now, |datagram| datagram[3] == Kind::Check as u8);
    pass(&mut joiner, (77, 0), &mut host, now, |datagram| datagram[3] == Kind::Checked as u8);
    while let Some(out) = host.poll_transmit(now, &mut buffer) {
        assert_eq!(out.to, address(1));
    }
    assert!(host.counters().entries_sent > 0);
}
