//! Golden datagrams of version 3 with records of colonies: what a representative pushes, a pull
//! that says which bases its sender holds, and an answer by them.
//!
//! Each file under golden/version-3 is a datagram in hexadecimal, from nodes with fixed names,
//! keys, seeds and clocks. `TIDINGS_BLESS=1` writes them again.

mod cluster;
mod hex;
mod seal;

use cluster::{UNIT, address, member};
use seal::opened;
use sha2::{Digest, Sha256};
use tidings_gossip::aggregate::Aggregate;
use tidings_gossip::{
    ColonyConfig, ColonyId, Config, Incarnation, Instant, Key, KeyRing, Member, Node, Strategy,
    Window,
};
use tidings_primitives::chance::mix;

const KEY: [u8; 32] = [9; 32];
const EAST: ColonyId = ColonyId(0x2b26_db6b);
const WEST: ColonyId = ColonyId(0x2096_a776);
/// The marks of a push of a record, and of an answer with records.
const PUSH: u8 = 8;
const ANSWER: u8 = 12;

fn colonist(n: usize, colony: ColonyId, members: &[usize]) -> Node {
    let mut config = Config::default();
    config.cluster = String::from("golden");
    config.strategy = Strategy::Grid;
    config.payload_bytes = 8;
    config.datagram_bytes = 1024;
    config.window = Window::Percent(100.0);
    config.max_nodes = 32;
    config.catch_up = false;
    config.death_after = None;
    config.wire_version = 3;
    config.colony = Some(ColonyConfig { id: colony, max_colonies: 4 });
    let keys = KeyRing::new(&[Key::from_bytes(KEY)]).expect("one key");
    let roster: Vec<Member> = members.iter().map(|&n| member(n)).collect();
    // With these seeds the second push comes while the base is young.
    let (life, seed) = (Incarnation::new(0x0A_0B0C), 7 + n as u64);
    let mut node = Node::new(config, keys, member(n), &roster, life, seed, Instant::EPOCH)
        .expect("the configuration is valid");
    node.publish(&[n as u8; 8]).expect("8 bytes fit");
    node
}

/// All bodies of version 3 with records, or pulls, that are sent: by kind, as datagram and opened.
///
/// East has two nodes. West is one node that knows of 23 others, whose aggregate is long enough to
/// be told as a change.
fn conversation() -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let west: Vec<usize> = (3..27).collect();
    let mut nodes =
        [colonist(1, EAST, &[1, 2]), colonist(2, EAST, &[1, 2]), colonist(3, WEST, &west)];
    for node in &mut nodes[..2] {
        assert!(node.introduce(WEST, &[address(3)]));
    }
    let (mut said, mut buffer) = (Vec::new(), vec![0; 1024]);
    // A call costs more than so small a colony earns in some units: pulls come late.
    for sixteenth in 1..=16 * 40 {
        let now = Instant::EPOCH + UNIT * sixteenth / 16;
        for node in &mut nodes {
            node.handle_timeout(now);
        }
        for from in [0, 1, 2, 0, 1, 0] {
            while let Some(out) = nodes[from].poll_transmit(now, &mut buffer) {
                let datagram = &mut buffer[..out.bytes];
                if datagram[2] == 3 {
                    said.push((datagram[3], datagram.to_vec(), opened(KEY, datagram)));
                }
                let to = u32::from_le_bytes(out.to.as_bytes().try_into().expect("four bytes"));
                if let Some(node) = nodes.get_mut(to as usize - 1) {
                    node.handle_datagram(now, address(from + 1), datagram);
                }
            }
        }
    }
    for node in &nodes {
        let counters = node.counters();
        assert_eq!((counters.records_disagreed, counters.records_refused), (0, 0));
    }
    said
}

fn check(name: &str, datagram: &[u8]) {
    hex::check(&format!("tests/golden/version-3/{name}.hex"), datagram);
}

/// The record at the beginning of these bytes: its kind, and what lies behind its contacts.
fn record(bytes: &[u8]) -> (u16, &[u8]) {
    assert_eq!(bytes[..4], WEST.0.to_le_bytes());
    let stated = u16::from_le_bytes([bytes[6], bytes[7]]);
    // Contacts have an address of four bytes each.
    let told = &bytes[9 + 5 * usize::from(bytes[8])..];
    let digest = if stated >> 14 == 2 { 8 } else { 0 };
    assert_eq!(told.len(), digest + usize::from(stated & 0x3FFF));
    (stated >> 14, told)
}

fn digest(prefix: &str, parts: &[&[u8]]) -> [u8; 8] {
    let text = [prefix.as_bytes(), &parts.concat()].concat();
    Sha256::digest(text)[..8].try_into().expect("eight bytes")
}

#[test]
fn records_are_told_as_they_were_and_as_the_protocol_says() {
    let said = conversation();
    // Behind an empty block the preamble of a window: schema 1, marks, payload bytes, entries.
    let pushes: Vec<_> = said
        .iter()
        .filter(|(kind, _, body)| *kind == 1 && body[2] == PUSH)
        .map(|(_, datagram, body)| {
            assert_eq!(body[..7], [0, 1, PUSH, 8, 0, 0, 0], "a window without entries");
            (datagram, record(&body[7..]))
        })
        .collect();

    let of = |kind| pushes.iter().find(|(_, (found, _))| *found == kind).expect("it is sent");
    let (datagram, (_, base)) = of(1);
    check("record-base", datagram);
    let read = Aggregate::decode(base).expect("it is an aggregate");
    assert_eq!(read.nodes(), 24);

    let (datagram, (_, told)) = of(3);
    check("record-with-base", datagram);
    assert_eq!(told[2..4], (base.len() as u16).to_le_bytes());
    let (along, change) = told[4..].split_at(base.len());
    assert_eq!(along, *base);
    assert!(Aggregate::decode_change(&read, change).is_some());

    let (datagram, (_, told)) = of(2);
    check("record-change", datagram);
    let name = digest("tidings aggregate 1 ", &[&WEST.0.to_le_bytes(), base]);
    assert_eq!(told[..8], digest("tidings aggregates 1 ", &[&name]));
    assert!(Aggregate::decode_change(&read, &told[8..]).is_some());

    let mut pulls = said.iter().filter(|(kind, _, body)| *kind == 4 && body.last() != Some(&0));
    let (_, datagram, body) = pulls.next_back().expect("it has a base by then");
    check("pull-colonies", datagram);
    // Behind the pull: one colony, salt, roll, and the mark of its base.
    let (&[count, salt, a, b, c, d, mark], before) =
        body.split_last_chunk::<7>().map(|(before, last)| (last, before)).expect("they are there");
    let colonies = [0u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
    assert!(before.ends_with(&colonies), "one row, so all colonies");
    assert_eq!((count, [a, b, c, d]), (1, (mix(u64::from(WEST.0)) as u32).to_le_bytes()));
    let mixed = mix(u64::from_le_bytes(name) ^ u64::from(salt) << 56);
    assert_eq!(mark, 1 + (mixed % 255) as u8);

    let mut answers = said.iter().filter(|(kind, _, body)| *kind == 1 && body[2] == ANSWER);
    let found = answers.rfind(|(.., body)| {
        let head = [&WEST.0.to_le_bytes()[..]].concat();
        let at = body.windows(4).rposition(|bytes| bytes == head);
        at.is_some_and(|at| record(&body[at..]).0 == 2)
    });
    check("answer-record", &found.expect("both hold the base").1);
}
