//! A holder of the key invents members that are said to be where a third party is. What nodes send
//! there is little, and it is no more than what tries an address, whoever is asked to do it.

mod cluster;

use std::collections::BTreeMap;

use cluster::{UNIT, address, config, name};
use sha2::{Digest, Sha256};
use tidings_gossip::wire::header::{self, Header, Kind};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::{
    Address, Config, EntryState, Incarnation, Instant, Key, KeyRing, Member, Node, NodeId,
};

const KEY: [u8; 32] = [7; 32];
/// Cards that are invented.
const INVENTED: usize = 1_000;
/// In one datagram.
const AT_ONCE: usize = 8;
/// How long the attack is looked at, in units.
const UNITS: u32 = 600;

fn keys() -> KeyRing {
    KeyRing::new(&[Key::from_bytes(KEY)]).expect("one key")
}

/// A node that joins by seeds, and declares the dead.
fn node(n: usize) -> Node {
    let mut config: Config = config(2_000);
    config.death_after = Some(UNIT * 8);
    config.datagram_bytes = 1_452;
    let me = Member { name: name(n), address: address(n) };
    Node::new(config, keys(), me, &[], Incarnation::new(1), n as u64, Instant::EPOCH)
        .expect("the configuration is valid")
}

/// The address of the third party.
fn third() -> Address {
    Address::from_bytes(b"third").expect("short")
}

/// Nodes that reach each other at once, and a third party.
struct World {
    nodes: Vec<Node>,
    now: Instant,
    /// Bytes that came to the third party, by kind.
    third: BTreeMap<u8, usize>,
}

impl World {
    fn new(nodes: usize) -> Self {
        let mut nodes: Vec<Node> = (0..nodes).map(node).collect();
        for node in &mut nodes {
            node.join(&[address(0)]);
        }
        Self { nodes, now: Instant::EPOCH, third: BTreeMap::new() }
    }

    /// A sixteenth of a unit passes.
    fn pass(&mut self) {
        self.now = self.now + UNIT / 16;
        for node in &mut self.nodes {
            if node.poll_timeout() <= self.now {
                node.handle_timeout(self.now);
            }
        }
        // Answers to answers arrive at once, too.
        for _ in 0..4 {
            self.carry();
        }
    }

    fn carry(&mut self) {
        let mut buffer = vec![0; 65_507];
        for at in 0..self.nodes.len() {
            while let Some(out) = self.nodes[at].poll_transmit(self.now, &mut buffer) {
                if out.to == third() {
                    *self.third.entry(buffer[3]).or_default() += out.bytes;
                }
                let to = (0..self.nodes.len()).find(|&n| address(n) == out.to);
                let Some(to) = to else { continue };
                for datagram in buffer[..out.bytes].chunks_mut(out.segment_bytes) {
                    self.nodes[to].handle_datagram(self.now, address(at), datagram);
                }
            }
        }
    }

    fn pass_units(&mut self, units: u32) {
        for _ in 0..units * 16 {
            self.pass();
        }
    }

    /// All know all others, and nobody is dead.
    fn assert_whole(&self) {
        for node in &self.nodes {
            let alive = |n: usize| {
                let view = node.entry(&name(n), self.now).expect("a member");
                view.state == EntryState::Alive
            };
            assert!((0..self.nodes.len()).all(alive), "{}", node.name());
        }
    }
}

/// An answer of the holder of the key, with cards of members that he makes up.
fn invented(config: &Config, from: usize, counter: u64) -> Vec<u8> {
    let head = Header {
        version: 1,
        kind: Kind::Answer,
        cluster: header::cluster_hash("tidings"),
        sender: NodeId::of_name("attacker", 0),
        incarnation: Incarnation::new(1),
        key_id: Sha256::digest([b"tidings key id", &KEY[..]].concat())[0] % 255 + 1,
        salt: 9,
        counter,
    };
    let payload_bytes = config.payload_bytes;
    let mut body = vec![1, config.payload_schema];
    body.extend_from_slice(&payload_bytes.to_le_bytes());
    let count = AT_ONCE.min(INVENTED - from);
    body.extend_from_slice(&(count as u16).to_le_bytes());
    for n in from..from + count {
        let invented = format!("invented{n}");
        let third = third();
        for text in [invented.as_bytes(), third.as_bytes()] {
            body.push(text.len() as u8);
            body.extend_from_slice(text);
        }
        body.extend_from_slice(&NodeId::of_name(&invented, 0).0.to_le_bytes());
        body.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0]); // stamp and age
        body.resize(body.len() + usize::from(payload_bytes), 0);
    }
    let mut datagram = head.to_bytes().to_vec();
    datagram.extend_from_slice(&body);
    datagram.resize(datagram.len() + TAG_BYTES, 0);
    keys().seal(&mut datagram);
    datagram
}

#[test]
fn invented_members_have_little_sent_to_a_third_party() {
    let mut world = World::new(8);
    world.pass_units(20);
    world.assert_whole();
    let config = world.nodes[0].config().clone();
    let mut counter = 0;
    for from in (0..INVENTED).step_by(AT_ONCE) {
        counter += 1;
        let datagram = invented(&config, from, counter);
        for node in &mut world.nodes {
            node.handle_datagram(world.now, address(9), &mut datagram.clone());
        }
    }
    let members = world.nodes[0].members();
    assert!(members > INVENTED as u32 / 2, "the attack works: {members} members");
    world.pass_units(UNITS);
    world.assert_whole();
    let kinds: Vec<u8> = world.third.keys().copied().collect();
    assert_eq!(kinds, [Kind::Check as u8], "nothing else goes there: {:?}", world.third);
    // 8 in 8 units by each of the nodes, 109 bytes each.
    let most = 8 * 109 * (UNITS as usize + 8);
    let sent = world.third[&(Kind::Check as u8)];
    assert!((1..=most).contains(&sent), "{sent} bytes, at most {most}");
}

#[test]
fn who_answers_is_sent_to_after_one_round_trip() {
    let mut world = World::new(8);
    world.pass_units(8);
    world.assert_whole();
    for node in &world.nodes {
        let tried = node.counters().addresses_tried;
        assert!(tried <= 7, "{tried} checks of 7 members");
    }
}

/// A host with several addresses may answer from another one than it announces.
#[test]
fn an_answer_from_another_address_counts() {
    let (mut one, mut two) = (node(0), node(1));
    two.join(&[address(0)]);
    let mut now = Instant::EPOCH;
    let mut buffer = vec![0; 65_507];
    for _ in 0..16 * 10 {
        now = now + UNIT / 16;
        for node in [&mut one, &mut two] {
            if node.poll_timeout() <= now {
                node.handle_timeout(now);
            }
        }
        for _ in 0..4 {
            while let Some(out) = two.poll_transmit(now, &mut buffer) {
                one.handle_datagram(now, address(77), &mut buffer[..out.bytes]);
            }
            while let Some(out) = one.poll_transmit(now, &mut buffer) {
                if out.to == address(1) || out.to == address(77) {
                    two.handle_datagram(now, address(0), &mut buffer[..out.bytes]);
                }
            }
        }
    }
    let view = one.entry(&name(1), now).expect("a member");
    assert!(view.age.expect("heard") < UNIT * 4, "{view:?}");
    let windows = one.counters().entries_sent;
    assert!(windows > 4, "it is sent to: {windows}");
}
