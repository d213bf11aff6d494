//! Golden datagrams: the bytes on the wire are those that docs/protocol.md fixes, now and later.
//!
//! Each file under golden/ is a datagram in hexadecimal, from nodes with fixed names, keys, seeds
//! and clocks. A node of today must write exactly these, and read them. A change of the bytes is
//! a change of the protocol and needs a new version. `TIDINGS_BLESS=1` writes them anew.

mod cluster;

use std::fmt::Write as _;
use std::path::PathBuf;

use cluster::{UNIT, address, member};
use tidings_gossip::{
    Config, EntryState, Incarnation, Instant, Key, KeyRing, Member, Node, Transmit,
};

fn keys() -> KeyRing {
    let key: [u8; 32] = std::array::from_fn(|n| n as u8);
    KeyRing::new(&[Key::from_bytes(key)]).expect("one key")
}

fn make(n: usize, roster: &[Member], keys: KeyRing) -> Node {
    let mut config = Config::default();
    config.cluster = "golden".to_owned();
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

/// Compares a datagram with the golden one of that name.
fn check(name: &str, datagram: &[u8]) {
    let mut hex = String::new();
    for line in datagram.chunks(16) {
        for byte in line {
            write!(hex, "{byte:02x} ").expect("a String can be written to");
        }
        hex.pop();
        hex.push('\n');
    }
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("TIDINGS_BLESS").is_some() {
        std::fs::write(&file, &hex).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&file).expect("the golden file is there");
    assert_eq!(hex, golden, "{name} changed");
}

/// An ask, its answer and a window, between two nodes that know each other by a seed.
fn conversation(keys: &KeyRing) -> [Vec<u8>; 3] {
    let (mut old, mut young) = (make(1, &[], keys.clone()), make(2, &[], keys.clone()));
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
    assert_eq!((view.state, view.sequence, view.payload), (EntryState::Alive, 2, &[2; 8][..]));
    [ask.clone(), answer.clone(), window]
}

#[test]
fn asks_answers_and_windows_are_as_they_were() {
    let [ask, answer, window] = conversation(&keys());
    check("ask.hex", &ask);
    check("answer.hex", &answer);
    check("window.hex", &window);
}

#[test]
fn an_open_cluster_speaks_the_same_format() {
    let [_, _, window] = conversation(&KeyRing::open("golden"));
    check("window-open.hex", &window);
}

#[test]
fn a_window_with_other_entries_and_a_farewell_are_as_they_were() {
    let roster: Vec<Member> = (0..3).map(member).collect();
    let mut nodes: Vec<Node> = (0..3).map(|n| make(n, &roster, keys())).collect();
    let now = Instant::EPOCH + UNIT;
    for from in [0usize, 1] {
        nodes[from].handle_timeout(now);
        for (_, mut datagram) in sent(&mut nodes[from], now) {
            nodes[2].handle_datagram(now, address(from), &mut datagram);
        }
    }
    let later = now + UNIT;
    nodes[2].leave(later);
    let farewells = sent(&mut nodes[2], later);
    check("farewell.hex", &farewells.first().expect("a farewell").1);
}
