//! Bad input between colonies: each is dropped, counted under its name, and changes nothing.

mod cluster;

use cluster::{UNIT, address, config, member, name};
use tidings_gossip::wire::header::{self, Header, Kind};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::{
    ColonyConfig, ColonyId, Config, Counters, Incarnation, Instant, Key, KeyRing, Member, Node,
    NodeId, Strategy, Window,
};

const START: Instant = Instant::from_micros(10_000_000);

fn keys() -> KeyRing {
    KeyRing::new(&[Key::from_bytes([7; 32])]).expect("one key")
}

fn id(colony: &str) -> ColonyId {
    ColonyId(header::cluster_hash(colony))
}

/// Node `n` of `colony`, or of a cluster without colonies; nodes 0 and 1 are the members of "here",
/// node 2 is "there" alone.
fn make(n: usize, colony: Option<&str>) -> Node {
    let mut config: Config = config(4);
    config.strategy = Strategy::Grid;
    config.window = Window::Percent(100.0);
    config.datagram_bytes = 1400;
    config.catch_up = false;
    config.colony = colony.map(|name| ColonyConfig { id: id(name), max_colonies: 2 });
    let members = if n == 2 { 2..3 } else { 0..2 };
    let roster: Vec<Member> = members.map(member).collect();
    let life = Incarnation::new(1);
    Node::new(config, keys(), member(n), &roster, life, n as u64, START - UNIT)
        .expect("the configuration is valid")
}

/// All datagrams of a kind that a node has to send.
fn sent(kind: Kind, node: &mut Node, now: Instant) -> Vec<Vec<u8>> {
    let (mut buffer, mut all) = (vec![0; 1400], Vec::new());
    while let Some(out) = node.poll_transmit(now, &mut buffer) {
        if buffer[3] == kind as u8 {
            all.push(buffer[..out.bytes].to_vec());
        }
    }
    all
}

/// A caller of "here" that knows "there", its open call, and the reply to it.
fn conversation() -> (Node, Node, Vec<u8>, Vec<u8>) {
    let (mut caller, mut answerer) = (make(0, Some("here")), make(2, Some("there")));
    assert!(caller.introduce(id("there"), &[address(2)]));
    caller.handle_timeout(START);
    let call = sent(Kind::Call, &mut caller, START).pop().expect("a call");
    answerer.handle_datagram(START, address(0), &mut call.clone());
    let reply = sent(Kind::Reply, &mut answerer, START).pop().expect("a reply");
    (caller, answerer, call, reply)
}

fn feed(node: &mut Node, from: usize, datagram: &[u8]) -> Counters {
    node.handle_datagram(START, address(from), &mut datagram.to_vec());
    *node.counters()
}

/// A datagram as whoever has the key could make it, from one of no colony, or between colonies.
fn sealed(kind: Kind, sender: NodeId, incarnation: u32, body: &[u8]) -> Vec<u8> {
    sealed_within(0, kind, (sender, incarnation), body)
}

/// The same among the members of a colony.
fn sealed_within(
    colony: u32,
    kind: Kind,
    (sender, incarnation): (NodeId, u32),
    body: &[u8],
) -> Vec<u8> {
    let (_, _, sample, _) = conversation();
    let header = Header {
        version: 1,
        kind,
        cluster: header::cluster_hash("tidings").wrapping_add(colony),
        sender,
        incarnation: Incarnation::new(incarnation),
        key_id: sample[15],
        salt: 77,
        counter: 1,
    };
    let mut datagram = header.to_bytes().to_vec();
    datagram.extend_from_slice(body);
    datagram.resize(datagram.len() + TAG_BYTES, 0);
    keys().seal(&mut datagram);
    datagram
}

fn request(colony: &str, word: [u8; 4], bytes: usize) -> Vec<u8> {
    let mut body = [[9; 8].as_slice(), &id(colony).0.to_le_bytes(), &word].concat();
    body.resize(bytes, 0);
    body
}

#[test]
fn a_reply_is_taken_once_and_only_if_it_was_asked_for() {
    let (mut caller, _, _, reply) = conversation();
    let mut stranger = make(0, Some("here"));
    assert_eq!(feed(&mut stranger, 2, &reply).dropped_colony, 1, "it never answerer");
    assert_eq!(stranger.other_colonies(START).count(), 0);
    let counters = feed(&mut caller, 2, &reply);
    assert_eq!((counters.records_news, counters.dropped_colony), (1, 0));
    assert_eq!(feed(&mut caller, 2, &reply).dropped_colony, 1, "a recording");
    assert_eq!(feed(&mut caller, 2, &reply).records_news, 1);
}

#[test]
fn calls_for_others_and_from_oneself_are_not_answered() {
    let (_, mut answerer, _, _) = conversation();
    let there = id("there").0.to_le_bytes();
    for (colony, word) in [("elsewhere", [1; 4]), ("there", there)] {
        let before = answerer.counters().dropped_colony;
        let call = sealed(Kind::Call, NodeId(5), 1, &request(colony, word, 700));
        assert_eq!(feed(&mut answerer, 5, &call).dropped_colony, before + 1);
    }
    let visit = sealed(Kind::Visit, NodeId(5), 1, &request("elsewhere", [0; 4], 1000));
    feed(&mut answerer, 5, &visit);
    assert_eq!(answerer.counters().dropped_colony, 3);
    assert!(sent(Kind::Reply, &mut answerer, START).is_empty());
}

#[test]
fn nothing_is_answered_with_more_than_was_asked_with() {
    let (_, mut answerer, _, _) = conversation();
    for (kind, answer) in [(Kind::Call, Kind::Reply), (Kind::Visit, Kind::Slice)] {
        for bytes in [0, 15, 16, 20, 40, 60, 100, 700, 1300] {
            let body = &request("there", [0; 4], 1300)[..bytes];
            let before = *answerer.counters();
            let after = feed(&mut answerer, 5, &sealed(kind, NodeId(5), 1, body));
            assert_eq!(after.dropped_malformed - before.dropped_malformed, u64::from(bytes < 16));
            let answers = sent(answer, &mut answerer, START);
            let asked = header::BYTES + bytes + TAG_BYTES;
            assert!(answers.iter().all(|answer| answer.len() <= asked), "{kind:?} of {bytes}");
            let dropped = answerer.counters().dropped_answers - before.dropped_answers;
            assert_eq!(answers.len() as u64 + dropped, u64::from(bytes >= 16));
        }
    }
}

/// Ids differ within a colony only: a foreign node may have the id of a member, and must not make
/// that member's datagrams look old.
#[test]
fn a_foreign_sender_with_the_id_of_a_member_changes_nothing_for_it() {
    let mut victim = make(0, Some("here"));
    let mut mate = make(1, Some("here"));
    let namesake = NodeId::of_name(&name(1), 0);
    let call = sealed(Kind::Call, namesake, 9_999, &request("here", [3; 4], 700));
    assert_eq!(feed(&mut victim, 5, &call).dropped_stale_sender, 0);
    let window = (0..9).find_map(|unit| {
        let now = START + UNIT * unit;
        mate.handle_timeout(now);
        sent(Kind::Window, &mut mate, now).pop()
    });
    let window = window.expect("it pushes in nine units");
    let counters = feed(&mut victim, 1, &window);
    assert_eq!((counters.entries_news, counters.dropped_stale_sender), (1, 0));
}

#[test]
fn records_of_nothing_of_oneself_and_beyond_the_room_are_refused() {
    let mut victim = make(0, Some("here"));
    let mate = NodeId::of_name(&name(1), 0);
    let aggregate = [&[1, 0, 0, 0, 1][..], &[0; 7]].concat();
    let record = |colony: u32, aggregate: &[u8]| {
        let head = [&colony.to_le_bytes()[..], &[0, 0, aggregate.len() as u8, 0, 0]].concat();
        [head, aggregate.to_vec()].concat()
    };
    let all = [
        record(1, &aggregate),
        record(2, &aggregate[..5]),
        record(id("here").0, &aggregate),
        record(3, &[]),
        record(4, &aggregate),
        record(5, &aggregate),
    ];
    let body = [&[1, 8, 8, 0, 0, 0][..], &all.concat()].concat();
    let here = id("here").0;
    let window = sealed_within(here, Kind::Window, (mate, 1), &body);
    let counters = feed(&mut victim, 1, &window);
    let (news, refused) = (counters.records_news, counters.records_refused);
    // Room is for two: the colonies 1 and 4.
    assert_eq!((counters.records_received, news, refused), (6, 2, 4));
    assert_eq!(victim.other_colonies(START).count(), 2);
    // A record that ends early spoils the datagram, and nothing of it is taken.
    let body = &body[..body.len() - 1];
    let broken = sealed_within(here, Kind::Window, (mate, 2), body);
    assert_eq!(feed(&mut victim, 1, &broken).dropped_malformed, 1);
}

/// A node that has moved to another colony, or a seed of the wrong one, must not make two colonies
/// one: members' datagrams count in their colony only.
#[test]
fn what_members_of_another_colony_say_to_each_other_is_dropped() {
    let mut victim = make(0, Some("here"));
    let mate = (NodeId::of_name(&name(1), 0), 1);
    let window = [1, 0, 8, 0, 0, 0];
    for (colony, dropped) in [(id("there").0, 1), (0, 2), (id("here").0, 2)] {
        let datagram = sealed_within(colony, Kind::Window, mate, &window);
        assert_eq!(feed(&mut victim, 1, &datagram).dropped_cluster, dropped);
    }
    assert_eq!(victim.counters().dropped_malformed, 0);
}

#[test]
fn a_cluster_without_colonies_speaks_none_of_it() {
    let mut plain = make(0, None);
    let mate = NodeId::of_name(&name(1), 0);
    for kind in [Kind::Call, Kind::Reply, Kind::Visit, Kind::Slice] {
        let before = plain.counters().dropped_version;
        let datagram = sealed(kind, NodeId(5), 1, &request("here", [0; 4], 700));
        assert_eq!(feed(&mut plain, 5, &datagram).dropped_version, before + 1, "{kind:?}");
    }
    let record = [1, 8, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(feed(&mut plain, 1, &sealed(Kind::Window, mate, 1, &record)).dropped_malformed, 1);
    let pull = [&[1, 0, 8, 0][..], &[0; 20]].concat();
    assert_eq!(feed(&mut plain, 1, &sealed(Kind::Pull, mate, 2, &pull)).dropped_malformed, 2);
    assert!(!plain.introduce(id("there"), &[address(2)]) && !plain.visit(id("there")));
    assert_eq!((plain.colony(), plain.other_colonies(START).count()), (None, 0));
}
