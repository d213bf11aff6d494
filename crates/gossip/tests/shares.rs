//! Each member's share of a node's work: what exceeds it is dropped and counted, nobody else is
//! touched by it, and what was recorded cannot use it up.

mod cluster;

use cluster::{Cluster, UNIT, address, config, member, name};
use tidings_gossip::wire::header::{Header, Kind, cluster_hash};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::wire::reject::is_reject;
use tidings_gossip::{
    Config, Incarnation, Instant, KeyRing, Member, Node, NodeId, Strategy, Window,
};

const NOW: Instant = Instant::from_micros(10_000_000);
/// Requests that pass at once, as docs/protocol.md says.
const BURST: usize = 64;
/// What is tried at once.
const MANY: u64 = 300;

/// Node 0 on a roster of three, which others ask more than is good.
fn victim(strategy: Strategy) -> Node {
    let mut config: Config = config(3);
    config.strategy = strategy;
    config.window = Window::Percent(100.0);
    let roster: Vec<Member> = (0..3).map(member).collect();
    cluster::node(&config, 0, &roster, 1, NOW - UNIT)
}

fn id(n: usize) -> NodeId {
    NodeId::of_name(&name(n), 0)
}

/// The first of two lives of a member, and the salt of that life.
const FIRST: (u8, u64) = (1, 5);
const SECOND: (u8, u64) = (2, 6);

fn entry(n: usize, life: u8, sequence: u32) -> Vec<u8> {
    let mut entry = id(n).0.to_le_bytes().to_vec();
    entry.extend(&sequence.to_le_bytes()[..3]);
    entry.extend([life, 0, 0, 0, 0]);
    entry.extend([7; 8]);
    entry
}

/// A request as member `n` would make it, its `counter`-th.
fn request(kind: Kind, n: usize, counter: u64) -> Vec<u8> {
    request_in(FIRST, kind, n, counter)
}

/// The same in a life of the member.
fn request_in((life, salt): (u8, u64), kind: Kind, n: usize, counter: u64) -> Vec<u8> {
    let own = entry(n, life, counter as u32);
    let ids = [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF];
    let body = match kind {
        Kind::Ask => [&[0, 1, 8, 0][..], &own, &ids, &[0; 100]].concat(),
        Kind::Pull => [&[1, 0, 8, 0][..], &ids, &[0xFF, 0xFF, 0, 0]].concat(),
        Kind::Window => [&[1, 2, 8, 0, 1, 0][..], &own].concat(),
        _ => [&[1, 0, 8, 0][..], &id(0).0.to_le_bytes(), &[0; 6], &own].concat(),
    };
    sealed((life, salt), (kind, n, counter), &body)
}

/// A datagram with any body, as member `n` would seal it.
fn sealed((life, salt): (u8, u64), (kind, n, counter): (Kind, usize, u64), body: &[u8]) -> Vec<u8> {
    let header = Header {
        version: 1,
        kind,
        cluster: cluster_hash("tidings"),
        sender: id(n),
        incarnation: Incarnation::new(life.into()),
        key_id: 0,
        salt,
        counter,
    };
    let mut datagram = [&header.to_bytes()[..], body, &[0; TAG_BYTES]].concat();
    KeyRing::open("tidings").seal(&mut datagram);
    datagram
}

/// Hands over a datagram and counts what goes out at once.
fn answers(node: &mut Node, now: Instant, n: usize, datagram: &[u8]) -> usize {
    let mut buffer = vec![0; 65_507];
    node.handle_datagram(now, address(n), &mut datagram.to_vec());
    let mut sent = 0;
    while let Some(out) = node.poll_transmit(now, &mut buffer) {
        // Why it was dropped is said at a pace of its own.
        sent += usize::from(!is_reject(&buffer[..out.bytes]));
    }
    sent
}

#[test]
fn what_exceeds_a_members_share_is_dropped_and_nobody_else_is_touched() {
    for kind in [Kind::Ask, Kind::Pull, Kind::Window, Kind::Probe] {
        let mut node = victim(Strategy::PushPull);
        let ask =
            |node: &mut Node, now, n, counter| answers(node, now, n, &request(kind, n, counter));
        let answered: usize = (1..=MANY).map(|counter| ask(&mut node, NOW, 1, counter)).sum();
        assert_eq!(answered, BURST, "{kind:?}");
        assert_eq!(node.counters().dropped_excess, MANY - BURST as u64, "{kind:?}");
        assert_eq!(ask(&mut node, NOW, 2, 1), 1, "{kind:?}: the other has its own share");
        let later = NOW + UNIT * 8;
        assert_eq!(ask(&mut node, later, 1, MANY + 1), 1, "{kind:?}: in time there is more");
    }
}

/// Half windows in excess are merged all the same: only the answer is left out.
#[test]
fn news_is_taken_whatever_the_share() {
    let mut node = victim(Strategy::PushPull);
    for counter in 1..=MANY {
        answers(&mut node, NOW, 1, &request(Kind::Window, 1, counter));
    }
    assert_eq!(node.counters().entries_news, MANY);
    let held = node.entry(&name(1), NOW).expect("a member");
    assert_eq!(held.sequence.map(u64::from), Some(MANY));
}

/// Whoever only has recordings cannot silence a member: they are told before they are charged.
#[test]
fn recordings_and_forgeries_use_up_nobodys_share() {
    for kind in [Kind::Ask, Kind::Pull, Kind::Window, Kind::Probe] {
        let mut node = victim(Strategy::PushPull);
        let recording = request(kind, 1, 1);
        assert_eq!(answers(&mut node, NOW, 1, &recording), 1);
        let mut past = request(kind, 1, 2);
        past[16] ^= 1; // another life, and a broken seal
        for _ in 0..1_000 {
            assert_eq!(answers(&mut node, NOW, 1, &recording), 0);
            assert_eq!(answers(&mut node, NOW, 1, &past), 0);
        }
        let passed = (2..=MANY).map(|n| answers(&mut node, NOW, 1, &request(kind, 1, n)));
        assert_eq!(passed.sum::<usize>(), BURST - 1, "{kind:?}");
    }
}

/// Asks of a life that is over are answered for all members together by the share of strangers.
#[test]
fn asks_of_past_lives_have_a_share_of_their_own() {
    let mut node = victim(Strategy::Uniform);
    answers(&mut node, NOW, 1, &request_in(SECOND, Kind::Window, 1, 1));
    let past = request(Kind::Ask, 1, 9);
    let reported: usize = (0..MANY).map(|_| answers(&mut node, NOW, 1, &past)).sum();
    assert_eq!(reported, BURST);
    let pull = request_in(SECOND, Kind::Pull, 1, 2);
    assert_eq!(answers(&mut node, NOW, 1, &pull), 1, "the member itself is heard");
}

/// By seeds, whoever cannot become a member is answered from the share of strangers.
#[test]
fn who_finds_no_room_is_answered_within_bounds() {
    let mut config = config(2);
    config.datagram_bytes = 1452;
    let mut crowd = Cluster::with_seed(&config, 200);
    crowd.run(12);
    let seed = *crowd.node(0).counters();
    assert!(seed.dropped_no_room > 100 && seed.dropped_excess > 100, "{seed:?}");
    assert!(seed.answers_sent < 12 * 64 + 64 + 200, "{seed:?}");
}

/// Legitimate traffic stays within its shares: nodes that start at once by one seed, and nodes that
/// die at once, with every strategy.
#[test]
fn nobody_who_keeps_to_the_protocol_is_cut_short() {
    let strategies = [
        Strategy::Uniform,
        Strategy::Spread,
        Strategy::PushPull,
        Strategy::Staggered,
        Strategy::Grid,
    ];
    for strategy in strategies {
        for (nodes, window) in [(2, "100%"), (3, "1"), (60, "20%"), (60, "100%")] {
            let mut config = config(nodes);
            (config.strategy, config.datagram_bytes) = (strategy, 1452);
            config.window = window.parse().expect("a window");
            config.death_after = Some(UNIT * 10);
            for by_seeds in [false, true] {
                let mut cluster = if by_seeds {
                    Cluster::with_seed(&config, nodes)
                } else {
                    Cluster::with_roster(&config, nodes)
                };
                cluster.run(40);
                (nodes / 2 + 1..nodes).for_each(|n| cluster.crash(n));
                cluster.run(60);
                for node in cluster.up() {
                    let counters = node.counters();
                    assert_eq!(counters.dropped_excess, 0, "{strategy:?} {nodes} {window}");
                    assert_eq!(counters.dropped_misdirected, 0, "{strategy:?} {nodes} {window}");
                }
            }
        }
    }
}
