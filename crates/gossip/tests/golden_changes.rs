//! Golden datagrams of version 3: pushes, pulls and answers between members that have said that
//! they read it. Their bytes are those that docs/protocol.md fixes, now and later.
//!
//! Each file under golden/version-3 is a datagram in hexadecimal, from nodes with fixed names,
//! keys, seeds and clocks. `TIDINGS_BLESS=1` writes them again.

mod cluster;
mod hex;
mod seal;

use cluster::{UNIT, address, member};
use seal::opened;
use sha2::{Digest, Sha256};
use tidings_gossip::{
    Config, Incarnation, Instant, Key, KeyRing, Member, Node, NodeId, Strategy, Window,
};
use tidings_primitives::chance::mix;

const KEY: [u8; 32] = [7; 32];
const LIFE: u32 = 0x0A_0B0C;
const UNITS: u32 = 12;

fn make(n: usize, roster: &[Member]) -> Node {
    let mut config = Config::default();
    config.cluster = String::from("golden");
    config.strategy = Strategy::Grid;
    config.window = Window::Percent(100.0);
    config.wire_version = 3;
    config.payload_bytes = 8;
    config.datagram_bytes = 300;
    config.max_nodes = 16;
    config.catch_up = false;
    config.death_after = None;
    let keys = KeyRing::new(&[Key::from_bytes(KEY)]).expect("one key");
    let life = Incarnation::new(LIFE);
    let mut node = Node::new(config, keys, member(n), roster, life, n as u64, Instant::EPOCH)
        .expect("the configuration is valid");
    node.publish(&[n as u8; 8]).expect("8 bytes fit");
    node
}

/// All datagrams of version 3 that two nodes send each other, by sender and kind.
fn conversation() -> Vec<(usize, u8, Vec<u8>)> {
    let roster: Vec<Member> = (1..3).map(member).collect();
    let mut nodes = [1, 2].map(|n| make(n, &roster));
    let (mut said, mut buffer) = (Vec::new(), vec![0; 300]);
    for sixteenth in 1..=16 * UNITS {
        let now = Instant::EPOCH + UNIT * sixteenth / 16;
        for node in &mut nodes {
            node.handle_timeout(now);
        }
        // What is asked is answered at once.
        for from in [0, 1, 0] {
            while let Some(out) = nodes[from].poll_transmit(now, &mut buffer) {
                let datagram = &mut buffer[..out.bytes];
                if datagram[2] == 3 {
                    said.push((from + 1, datagram[3], datagram.to_vec()));
                }
                nodes[1 - from].handle_datagram(now, address(from + 1), datagram);
            }
        }
        if sixteenth == 16 * 8 {
            nodes[1].publish(&[2, 2, 2, 2, 7, 2, 2, 2]).expect("8 bytes fit");
        }
    }
    for node in &nodes {
        let counters = node.counters();
        assert_eq!(counters.entries_without_base + counters.entries_disagreed, 0, "{counters:?}");
    }
    said
}

fn check(name: &str, datagram: &[u8]) {
    hex::check(&format!("tests/golden/version-3/{name}.hex"), datagram);
}

fn id(n: usize) -> u32 {
    NodeId::of_name(&member(n).name, 0).0
}

#[test]
fn pushes_pulls_and_answers_are_as_they_were_and_as_the_protocol_says() {
    let said = conversation();
    let of =
        |sender: usize, kind: u8| said.iter().filter(move |one| (one.0, one.1) == (sender, kind));
    let windows: Vec<_> = of(1, 1).map(|one| (&one.2, opened(KEY, &one.2))).collect();
    // Behind an empty block the preamble of a window: 0 in its marks for a push, 4 for an answer.
    let find = |marks: u8, kind: u8, bases: u8| {
        let found = windows
            .iter()
            .rfind(|(_, body)| (body[0], body[2], body[7], body[11]) == (0, marks, kind, bases));
        found.unwrap_or_else(|| panic!("marks {marks}, kind {kind}, {bases} bases: {windows:x?}"))
    };

    // Its base came along while it was young; later it is named alone.
    let (push, _) = find(0, 0, 1);
    check("push-with-base", push);
    let (push, body) = find(0, 0, 0);
    check("push", push);
    let number = |at: usize| u32::from(body[at]);
    let base = number(22) | number(23) << 8 | number(24) << 16;
    let head = [&[0, 1, 0, 8, 0, 1, 0][..], &[0], &body[8..10], &[1, 0], &body[12..15]].concat();
    assert_eq!(body[..15], head);
    assert_eq!(body[12..14], [0, 0], "its age is none: it was made just now");
    assert_eq!(body[15..19], id(1).to_le_bytes());
    assert_eq!(body[19..22], LIFE.to_le_bytes()[..3]);
    assert!((1..UNITS).contains(&base), "{base}");

    // An answer that both agree on: the digest is of the names of both bases, in the order of ids.
    let (answer, body) = find(4, 1, 0);
    check("answer", answer);
    let first = u32::from_le_bytes([body[15], body[16], body[17], body[18]]);
    assert_eq!(first, id(1).min(id(2)));
    assert_eq!(body[10], 2, "both entries");

    let (_, _, pull) = of(2, 4).next_back().expect("the other one pulls");
    check("pull", pull);
    check_pull(&opened(KEY, pull), &body[19..27]);
}

/// A pull of node 2 whose inventory is of the bases that an answer's digest is of.
fn check_pull(body: &[u8], agreed_on: &[u8]) {
    let receiver = [&[9, 2, 7][..], &id(1).to_le_bytes(), &LIFE.to_le_bytes()[..3]].concat();
    assert_eq!(body[..10], receiver);
    let mut ids = [id(1), id(2)];
    ids.sort_unstable();
    let roll = ids.iter().fold(0, |roll, id| mix(u64::from(roll) << 32 ^ u64::from(*id)) as u32);
    assert_eq!(body[10], 2, "of two members");
    assert_eq!(body[12..16], roll.to_le_bytes());
    // Which bases these are: those that the answer's digest is of.
    let salt = u64::from(body[11]);
    let named = |sequences: [u32; 2]| {
        let mark = |at: usize| {
            let block = u64::from(LIFE) << 24 | u64::from(sequences[at] / 128 * 128);
            let mixed = mix(block ^ salt << 56 ^ u64::from(ids[at]).rotate_left(40));
            1 + ((mixed % 255 + u64::from(sequences[at] % 128)) % 255) as u8
        };
        [mark(0), mark(1)]
    };
    let digest = |sequences: [u32; 2]| {
        let mut text = b"tidings bases 1 ".to_vec();
        for (id, sequence) in ids.iter().zip(sequences) {
            text.extend(id.to_le_bytes());
            text.extend(&LIFE.to_le_bytes()[..3]);
            text.extend(&sequence.to_le_bytes()[..3]);
        }
        Sha256::digest(&text)[..8].to_vec()
    };
    let mut pairs = (0..UNITS).flat_map(|one| (0..UNITS).map(move |other| [one, other]));
    let agreed = pairs.find(|&pair| digest(pair) == agreed_on);
    let agreed = agreed.expect("the digest is of two bases of these units");
    assert_eq!(body[16..18], named(agreed));
    let range = [ids[0].to_le_bytes(), ids[1].to_le_bytes()].concat();
    assert_eq!(body[18..30], [&[1, 0, 8, 0][..], &range].concat());
    assert_eq!(body.len(), 10 + 8 + 16);
}
