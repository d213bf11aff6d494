//! Golden datagrams: the bytes on the wire are those that docs/protocol.md fixes, now and later.
//!
//! Each file under golden/ is a datagram in hexadecimal, from nodes with fixed names, keys, seeds
//! and clocks. A node of today must write exactly these, and read them. A change of the bytes is
//! a change of the protocol and needs a new version. `TIDINGS_BLESS=1` writes them anew.

mod cluster;
mod hex;
mod seal;

use std::path::PathBuf;

use cluster::{UNIT, address, member};
use sha2::{Digest, Sha256};
use tidings_gossip::{
    ColonyConfig, ColonyId, Config, EntryState, Incarnation, Instant, Key, KeyRing, Member, Node,
    Strategy, Transmit, Window,
};

/// The versions of the format that there are.
const VERSIONS: [u8; 2] = [1, 2];

fn keys() -> KeyRing {
    let key: [u8; 32] = std::array::from_fn(|n| n as u8);
    KeyRing::new(&[Key::from_bytes(key)]).expect("one key")
}

fn make(version: u8, n: usize, roster: &[Member], keys: KeyRing) -> Node {
    with_window((version, Window::Percent(20.0)), n, roster, keys)
}

fn with_window(
    (version, window): (u8, Window),
    n: usize,
    roster: &[Member],
    keys: KeyRing,
) -> Node {
    let mut config = Config::default();
    config.cluster = String::from("golden");
    config.strategy = Strategy::Uniform;
    config.window = window;
    config.wire_version = version;
    config.payload_bytes = 8;
    config.datagram_bytes = 300;
    config.max_nodes = 16;
    let life = Incarnation::new(0x0A_0B0C);
    let mut node = Node::new(config, keys, member(n), roster, life, n as u64, Instant::EPOCH)
        .expect("the configuration is valid");
    node.publish(&[n as u8; 8]).expect("8 bytes fit");
    node
}

/// All that a node has to send.
fn sent(node: &mut Node, now: Instant) -> Vec<(Transmit, Vec<u8>)> {
    let mut buffer = vec![0; 300];
    let mut all = Vec::new();
    while let Some(out) = node.poll_transmit(now, &mut buffer) {
        all.push((out, buffer[..out.bytes].to_vec()));
    }
    all
}

/// Compares a datagram with the golden one of that name, in the folder of its version.
fn check(name: &str, datagram: &[u8]) {
    let folder = if datagram[2] == 1 { "tests/golden" } else { "tests/golden/version-2" };
    hex::check(&format!("{folder}/{name}"), datagram);
}

/// An ask, its answer and a window, between two nodes that know each other by a seed.
fn conversation(version: u8, keys: &KeyRing) -> [Vec<u8>; 3] {
    let [mut old, mut young] = [1, 2].map(|n| make(version, n, &[], keys.clone()));
    young.join(&[address(1)]);
    let now = Instant::EPOCH + UNIT;
    old.handle_timeout(now);
    young.handle_timeout(now);
    let asked = sent(&mut young, now);
    let [(out, ask)] = &asked[..] else { panic!("one ask: {asked:?}") };
    assert_eq!(out.to, address(1));
    let later = now + UNIT / 2;
    old.handle_datagram(later, address(2), &mut ask.clone());
    let answered = sent(&mut old, later);
    let [(out, answer)] = &answered[..] else { panic!("one answer: {answered:?}") };
    assert_eq!(out.to, address(2));
    young.handle_datagram(later, address(1), &mut answer.clone());
    assert_eq!(young.ages(later).known, 2);
    let next = now + UNIT;
    young.handle_timeout(next);
    let window = sent(&mut young, next).pop().expect("a window").1;
    old.handle_datagram(next, address(2), &mut window.clone());
    let view = old.entry("n00002", next).expect("a member");
    assert_eq!(
        (view.state, view.sequence, view.payload),
        (EntryState::Alive, Some(2), &[2; 8][..])
    );
    [ask.clone(), answer.clone(), window]
}

#[test]
fn asks_answers_and_windows_are_as_they_were() {
    for version in VERSIONS {
        let [ask, answer, window] = conversation(version, &keys());
        check("ask.hex", &ask);
        check("answer.hex", &answer);
        check("window.hex", &window);
    }
}

#[test]
fn an_open_cluster_speaks_the_same_format() {
    for version in VERSIONS {
        let [_, _, window] = conversation(version, &KeyRing::open("golden"));
        check("window-open.hex", &window);
    }
}

#[test]
fn a_window_with_other_entries_and_a_farewell_are_as_they_were() {
    VERSIONS.into_iter().for_each(say_farewell);
}

fn say_farewell(version: u8) {
    let roster: Vec<Member> = (0..3).map(member).collect();
    let make = |n| with_window((version, Window::Entries(3)), n, &roster, keys());
    let mut nodes: Vec<Node> = (0..3).map(make).collect();
    let now = Instant::EPOCH + UNIT;
    for from in [0usize, 1] {
        nodes[from].handle_timeout(now);
        for (_, mut datagram) in sent(&mut nodes[from], now) {
            nodes[2].handle_datagram(now, address(from), &mut datagram);
        }
    }
    let later = now + UNIT;
    sent(&mut nodes[2], now); // the answers it owes, which are not looked at here
    nodes[2].leave(later);
    let farewells = sent(&mut nodes[2], later);
    check("farewell.hex", &farewells.first().expect("a farewell").1);
}

/// A probe of a node that refused a datagram, its proof, and its tombstone, were the proof lost.
#[test]
fn probes_proofs_and_tombstones_are_as_they_were() {
    VERSIONS.into_iter().for_each(die);
}

fn die(version: u8) {
    let roster: Vec<Member> = (1..4).map(member).collect();
    let [mut asker, mut target] = [1, 2].map(|n| make(version, n, &roster, keys()));
    let mut later = Instant::EPOCH;
    for round in 1..=5 {
        later = asker.poll_timeout();
        asker.handle_timeout(later);
        sent(&mut asker, later);
        if round == 2 {
            target.handle_timeout(later);
            for (_, mut datagram) in sent(&mut target, later) {
                asker.handle_datagram(later, address(2), &mut datagram);
            }
        }
    }
    asker.handle_refused(later, address(2));
    asker.handle_timeout(later);
    let probe = first_of(9, &mut asker, later);
    check("probe.hex", &probe);
    target.handle_datagram(later, address(1), &mut probe.clone());
    let proof = first_of(10, &mut target, later);
    check("proof.hex", &proof);
    let more = proof.len() - proof.len().min(probe.len());
    assert_eq!(more, 0, "nobody can have more sent than he sends");
    for quarter in 1..4 {
        let step = later + UNIT * quarter / 4;
        assert_eq!(asker.poll_timeout(), step);
        asker.handle_timeout(step);
        let window = find_first(1, &mut asker, step);
        assert_eq!(window.is_some(), quarter == 3);
        if let Some(window) = window {
            check("tombstone.hex", &window);
        }
    }
}

/// The colonies' numbers.
const EAST: ColonyId = ColonyId(0x2b26_db6b);
const WEST: ColonyId = ColonyId(0x2096_a776);

/// Node `n`, of the colony numbered `colony`, whose members these are.
fn colonist(version: u8, n: usize, colony: ColonyId, members: &[usize]) -> Node {
    let mut config = Config::default();
    config.cluster = String::from("golden");
    config.strategy = Strategy::Grid;
    config.payload_bytes = 8;
    config.datagram_bytes = 1024;
    config.window = Window::Percent(100.0);
    config.max_nodes = 16;
    config.catch_up = false;
    config.wire_version = version;
    config.colony = Some(ColonyConfig { id: colony, max_colonies: 4 });
    let (life, roster) = (Incarnation::new(0x0A_0B0C), members.iter().map(|&n| member(n)));
    let roster: Vec<Member> = roster.collect();
    let mut node = Node::new(config, keys(), member(n), &roster, life, n as u64, Instant::EPOCH)
        .expect("the configuration is valid");
    node.publish(&[n as u8; 8]).expect("8 bytes fit");
    node
}

/// The first datagram of a kind among those that a node has to send.
fn first_of(kind: u8, node: &mut Node, now: Instant) -> Vec<u8> {
    find_first(kind, node, now).unwrap_or_else(|| panic!("no datagram of kind {kind}"))
}

/// The same, if there is one.
fn find_first(kind: u8, node: &mut Node, now: Instant) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 1024];
    while let Some(out) = node.poll_transmit(now, &mut buffer) {
        if buffer[3] == kind {
            return Some(buffer[..out.bytes].to_vec());
        }
    }
    None
}

/// East, with the nodes 1 and 2, calls and visits west, which is node 3 alone.
#[test]
fn what_colonies_say_to_each_other_is_as_it_was() {
    VERSIONS.into_iter().for_each(call_and_visit);
}

fn call_and_visit(version: u8) {
    let (east, west) = (EAST, WEST);
    let mut caller = colonist(version, 1, east, &[1, 2]);
    let mut answerer = colonist(version, 3, west, &[3]);
    assert!(caller.introduce(west, &[address(3)]));
    let now = Instant::EPOCH + UNIT;
    caller.handle_timeout(now);
    answerer.handle_timeout(now);
    let call = first_of(5, &mut caller, now);
    check("call.hex", &call);
    answerer.handle_datagram(now, address(1), &mut call.clone());
    let reply = first_of(6, &mut answerer, now);
    check("reply.hex", &reply);
    assert!(answerer.other_colonies(now).any(|view| view.id == east), "who calls is known");
    caller.handle_datagram(now, address(3), &mut reply.clone());
    check("record.hex", &first_of(1, &mut caller, now));
    assert!(caller.visit(west));
    let visit = first_of(7, &mut caller, now);
    check("visit.hex", &visit);
    answerer.handle_datagram(now, address(1), &mut visit.clone());
    let slice = first_of(8, &mut answerer, now);
    check("slice.hex", &slice);
    caller.handle_datagram(now, address(3), &mut slice.clone());
    let seen = caller.visited(now).expect("a visit");
    assert!(seen.is_complete() && seen.entries().map(|entry| entry.name).eq(["n00003"]));
    // One that has nobody to call can pull at once.
    let mut other = colonist(version, 1, east, &[1, 2]);
    let pull = (8..40).find_map(|step| {
        let look = Instant::EPOCH + UNIT * step / 8;
        other.handle_timeout(look);
        find_first(4, &mut other, look)
    });
    check("pull-colonies.hex", &pull.expect("in five units the other member is asked"));
}

/// Reads them by nothing but the words of docs/protocol.md.
#[test]
fn golden_datagrams_of_colonies_read_as_the_protocol_says() {
    let (east, west) = (EAST.0.to_le_bytes(), WEST.0.to_le_bytes());
    let call = open(include_str!("golden/call.hex"), 5, "n00001");
    let token = &call[..8];
    // The caller knows no aggregate: as long as the largest reply, 8 and 9, 4 · 19, 493 bytes.
    let mut expected = [token, &west[..4], &east[..4]].concat();
    expected.resize(8 + 9 + 4 * 19 + 493, 0);
    assert_eq!(call, expected);

    // One fresh node: schema 1; 1, 0, 0, 0 nodes; its age 0 as largest and as sum; 7 readings that
    // one node lacks.
    let aggregate = [&[1, 1, 0, 0, 0, 0, 0, 0][..], &[1; 7]].concat();
    let bytes = [aggregate.len() as u8, 0];
    let reply = open(include_str!("golden/reply.hex"), 6, "n00003");
    let record = |contacts: &[u8]| [&west[..4], &[0, 0], &bytes, contacts, &aggregate].concat();
    assert_eq!(reply, [token, &record(&[0])].concat());

    // A window without entries: schema, marks, payload bytes, count; then the record, with the
    // address that answered.
    let window = open_within(EAST.0, include_str!("golden/record.hex"), 1, "n00001");
    assert_eq!(window, [&[1, 8, 8, 0, 0, 0][..], &record(&[1, 4, 3, 0, 0, 0])].concat());

    let visit = open(include_str!("golden/visit.hex"), 7, "n00001");
    let mut expected = [&visit[..8], &west[..4], &[0; 4]].concat();
    expected.resize(1024 - 28 - 16, 0);
    assert_eq!(visit, expected);

    let slice = open(include_str!("golden/slice.hex"), 8, "n00003");
    let card = [&[6][..], b"n00003", &[4, 3, 0, 0, 0]].concat();
    let mut expected = [&visit[..8], &[0; 4], &[0xFF; 4], &[1, 1, 8, 0, 1, 0], &card].concat();
    expected.extend(entry("n00003", 1, [0, 0], [3; 8]));
    assert_eq!(slice, expected);

    // One row, so all ids of members (first and last) and all of colonies; nothing known yet.
    let pull = open_within(EAST.0, include_str!("golden/pull-colonies.hex"), 4, "n00001");
    let mut ids = [1, 2].map(|n| {
        let id = sha256(format!("\0\0\0\0n0000{n}").as_bytes());
        u32::from_le_bytes([id[0], id[1], id[2], id[3]])
    });
    ids.sort_unstable();
    let mut expected = vec![1, 0, 8, 0];
    for id in ids {
        expected.extend(id.to_le_bytes());
    }
    expected.extend([0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
    assert_eq!(pull, expected);
}

/// The bytes of a golden datagram.
fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |text| u8::from_str_radix(text, 16).expect("golden files are hexadecimal");
    hex.split_whitespace().map(byte).collect()
}

fn sha256(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Opens a golden datagram by nothing but the words of docs/protocol.md; checks its header.
fn open(hex: &str, kind: u8, sender: &str) -> Vec<u8> {
    open_within(0, hex, kind, sender)
}

/// The same for a datagram among the members of a colony.
fn open_within(colony: u32, hex: &str, kind: u8, sender: &str) -> Vec<u8> {
    opened(1, colony, &bytes_of(hex), (kind, sender))
}

fn opened(version: u8, colony: u32, datagram: &[u8], (kind, sender): (u8, &str)) -> Vec<u8> {
    let key: [u8; 32] = std::array::from_fn(|n| n as u8);
    let key_id = 1 + sha256(&[b"tidings key id", &key[..]].concat())[0] % 255;
    let mut head = vec![0x54, 0x67, version, kind];
    let cluster = sha256(b"golden");
    let cluster = u32::from_le_bytes([cluster[0], cluster[1], cluster[2], cluster[3]]);
    head.extend_from_slice(&cluster.wrapping_add(colony).to_le_bytes());
    head.extend_from_slice(&sha256(&[&[0; 4], sender.as_bytes()].concat())[..4]);
    head.extend_from_slice(&[0x0C, 0x0B, 0x0A, key_id]);
    assert_eq!(datagram[..16], head[..]);
    seal::opened(key, datagram)
}

/// An entry as it lies in a body; its age is (2048 + mantissa) · 2^(exponent − 1) steps of 16 µs,
/// or none at all.
fn entry(name: &str, sequence: u32, [exponent, mantissa]: [u16; 2], payload: [u8; 8]) -> Vec<u8> {
    let mut entry = sha256(&[&[0; 4], name.as_bytes()].concat())[..4].to_vec();
    entry.extend_from_slice(&sequence.to_le_bytes()[..3]);
    entry.extend_from_slice(&[0x0C, 0x0B, 0x0A]);
    entry.extend_from_slice(&((exponent << 11) | mantissa).to_le_bytes());
    entry.extend_from_slice(&payload);
    entry
}

#[test]
fn golden_datagrams_read_as_the_protocol_says() {
    let window = open(include_str!("golden/window.hex"), 1, "n00002");
    let preamble = [1, 0, 8, 0];
    let mut expected = [&preamble[..], &[1, 0]].concat();
    expected.extend(entry("n00002", 2, [0, 0], [2; 8]));
    assert_eq!(window, expected);

    let ask = open(include_str!("golden/ask.hex"), 2, "n00002");
    let card = |n: u8| [&[6], format!("n0000{n}").as_bytes(), &[4, n, 0, 0, 0]].concat();
    let mut expected = [&[1, 1, 8, 0][..], &card(2)].concat();
    expected.extend(entry("n00002", 1, [0, 0], [2; 8]));
    expected.extend([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0]);
    expected.extend_from_slice(&sha256(b"\0\0\0\0n00002")[..4]);
    expected.resize(300 - 28 - 16, 0);
    assert_eq!(ask, expected);

    // Half a unit of 256 ms later: 8,000 steps, 4,000 · 2.
    let answer = open(include_str!("golden/answer.hex"), 3, "n00001");
    let mut expected = [&[1, 1, 8, 0, 1, 0][..], &card(1)].concat();
    expected.extend(entry("n00001", 1, [2, 1952], [1; 8]));
    assert_eq!(answer, expected);

    // What is held of node 2, when node 1 makes its fifth entry, three units later.
    let probe = open(include_str!("golden/probe.hex"), 9, "n00001");
    let two = &sha256(b"\0\0\0\0n00002")[..4];
    let mut expected = [&preamble[..], two, &[1, 0, 0, 0x0C, 0x0B, 0x0A]].concat();
    expected.extend(entry("n00001", 5, [0, 0], [1; 8]));
    assert_eq!(probe, expected);

    let proof = open(include_str!("golden/proof.hex"), 10, "n00002");
    let mut expected = [&preamble[..], two, &[5, 0, 0, 0x0C, 0x0B, 0x0A]].concat();
    // Three units later: 48,000 steps, 3,000 · 16.
    expected.extend(entry("n00002", 1, [5, 952], [2; 8]));
    assert_eq!(proof, expected);

    // Three quarters of a unit after the doubt began: 12,000 steps, 3,000 · 4.
    let tombstone = open(include_str!("golden/tombstone.hex"), 1, "n00001");
    let mut expected = [&preamble[..], &[1, 0]].concat();
    expected.extend(entry("n00002", 0x00FF_FFF0, [3, 952], [2; 8]));
    assert_eq!(tombstone, expected);

    let farewell = open(include_str!("golden/farewell.hex"), 1, "n00002");
    let mut expected = [&preamble[..], &[3, 0]].concat();
    expected.extend(entry("n00002", 0x00FF_FFFF, [0, 0], [0; 8]));
    // A unit later: 16,000 steps, 4,000 · 4. These two are of one age, in no order.
    let mut others = [0, 1].map(|n| entry(&format!("n0000{n}"), 1, [3, 1952], [n; 8]));
    if farewell[26..30] != others[0][..4] {
        others.reverse();
    }
    assert_eq!(farewell, [expected, others.concat()].concat());
}

/// Every golden datagram: its name, its kind, its sender, and the colony it is within.
const ALL: [(&str, u8, &str, u32); 13] = [
    ("ask", 2, "n00002", 0),
    ("answer", 3, "n00001", 0),
    ("window", 1, "n00002", 0),
    ("farewell", 1, "n00002", 0),
    ("probe", 9, "n00001", 0),
    ("proof", 10, "n00002", 0),
    ("tombstone", 1, "n00001", 0),
    ("call", 5, "n00001", 0),
    ("reply", 6, "n00003", 0),
    ("visit", 7, "n00001", 0),
    ("slice", 8, "n00003", 0),
    ("record", 1, "n00001", EAST.0),
    ("pull-colonies", 4, "n00001", EAST.0),
];

/// Version 2 is version 1 with a block in front of the body, and nothing else: the versions that
/// are read, and in what asks a member, that member and the incarnation that is held of it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test may read what the core may not")]
fn version_2_is_version_1_behind_a_block_of_items() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, kind, sender, colony) in ALL {
        let read = |folder: PathBuf, version| {
            let hex = std::fs::read_to_string(folder.join(format!("{name}.hex")));
            opened(version, colony, &bytes_of(&hex.expect("a golden file")), (kind, sender))
        };
        let (first, second) = (read(folder.clone(), 1), read(folder.join("version-2"), 2));
        let mut block = vec![4, 1, 2, 1, 2];
        if [4, 9].contains(&kind) {
            block[0] += 9;
            block.extend([2, 7]);
            block.extend(&sha256(b"\0\0\0\0n00002")[..4]);
            let held = if kind == 9 { [0x0C, 0x0B, 0x0A] } else { [0; 3] };
            block.extend(held);
        }
        assert_eq!(second[..block.len()], block, "{name}");
        let body = &second[block.len()..];
        let fills_datagram = [2, 7].contains(&kind);
        let same = if fills_datagram { first.len() - block.len() } else { first.len() };
        assert_eq!(body, &first[..same], "{name}");
        assert!(first[same..].iter().all(|&byte| byte == 0), "{name}: only padding is left out");
    }
}
