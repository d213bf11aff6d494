//! Two nodes, the first of which is attacked, and datagrams made by hand.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use tidings_gossip::wire::header::{self, Header, Kind};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::wire::reject::is_reject;
use tidings_gossip::{
    Config, Counters, Incarnation, Instant, Key, KeyRing, Member, Node, NodeId, Stamp,
};

use crate::cluster::{UNIT, address, config, member, name};

pub const NOW: Instant = Instant::from_micros(10_000_000);

/// Two nodes of a roster of three, the first of which is attacked.
pub struct Pair {
    pub victim: Node,
    pub sender: Node,
    pub keys: KeyRing,
}

pub fn keys(byte: u8) -> KeyRing {
    KeyRing::new(&[Key::from_bytes([byte; 32])]).expect("one key")
}

pub fn make(config: &Config, n: usize, keys: KeyRing, life: u32) -> Node {
    let roster: Vec<Member> = (0..3).map(member).collect();
    let life = Incarnation::new(life);
    Node::new(config.clone(), keys, member(n), &roster, life, n as u64, Instant::EPOCH)
        .expect("the configuration is valid")
}

pub fn pair() -> Pair {
    let config = config(3);
    Pair {
        victim: make(&config, 0, keys(1), 1),
        sender: make(&config, 1, keys(1), 1),
        keys: keys(1),
    }
}

/// The next datagram that `node` sends to the victim.
pub fn datagram_of(node: &mut Node) -> Vec<u8> {
    let mut buffer = vec![0; 65_507];
    for unit in 0..100 {
        let now = NOW + UNIT * unit;
        node.handle_timeout(now);
        while let Some(out) = node.poll_transmit(now, &mut buffer) {
            if out.to == address(0) && buffer[3] == Kind::Window as u8 {
                return buffer[..out.bytes].to_vec();
            }
        }
    }
    panic!("one of 100 windows goes to the victim");
}

impl Pair {
    /// What `datagram` changes in the victim's counters and knowledge.
    pub fn feed(&mut self, datagram: &[u8]) -> (Counters, Vec<(NodeId, u32, Option<u32>)>) {
        let mut bytes = datagram.to_vec();
        self.victim.handle_datagram(NOW, address(1), &mut bytes);
        let known = self.victim.entries(NOW).map(|v| (v.id, v.incarnation, v.sequence));
        (*self.victim.counters(), known.collect())
    }

    /// Feeds it, and asserts that only the counter called `counter` took notice.
    pub fn is_dropped(&mut self, datagram: &[u8], counter: &str) {
        let before: Vec<_> =
            self.victim.entries(NOW).map(|v| (v.id, v.incarnation, v.sequence)).collect();
        let was = value(self.victim.counters(), counter);
        let (counters, known) = self.feed(datagram);
        assert_eq!(value(&counters, counter), was + 1, "{counter}");
        assert_eq!(known, before, "{counter}");
    }

    /// A window sealed with the cluster's key, as a member with a faulty program would make it.
    pub fn sealed(&self, body: &[u8], header: impl FnOnce(&mut Header)) -> Vec<u8> {
        let mut head = Header {
            version: 1,
            kind: Kind::Window,
            cluster: header::cluster_hash("tidings"),
            sender: NodeId::of_name(&name(1), 0),
            incarnation: Incarnation::new(1),
            key_id: datagram_of(&mut make(&config(3), 1, keys(1), 1))[15],
            salt: 77,
            counter: 1,
        };
        header(&mut head);
        let mut datagram = head.to_bytes().to_vec();
        datagram.extend_from_slice(body);
        datagram.resize(datagram.len() + TAG_BYTES, 0);
        self.keys.seal(&mut datagram);
        datagram
    }
}

pub fn value(counters: &Counters, counter: &str) -> u64 {
    counters.iter().find(|(name, ..)| *name == counter).expect("there is such a counter").2
}

/// A window's body with the given entries of 8-byte payloads.
pub fn body(entries: &[(u32, Stamp, u16)]) -> Vec<u8> {
    let mut body = vec![1, 0, 8, 0];
    body.extend_from_slice(&(entries.len() as u16).to_le_bytes());
    for (id, stamp, age) in entries {
        body.extend_from_slice(&id.to_le_bytes());
        let stamp = (u64::from(stamp.incarnation().get()) << 24) | u64::from(stamp.sequence());
        body.extend_from_slice(&stamp.to_le_bytes()[..6]);
        body.extend_from_slice(&age.to_le_bytes());
        body.extend_from_slice(&[0xEE; 8]);
    }
    body
}

pub fn id(n: usize) -> u32 {
    NodeId::of_name(&name(n), 0).0
}

pub fn stamp(life: u32, sequence: u32) -> Stamp {
    Stamp::new(Incarnation::new(life), sequence)
}

/// Datagrams that the victim has to send.
pub fn answers(victim: &mut Node, now: Instant) -> usize {
    let mut buffer = vec![0; 65_507];
    let mut sent = 0;
    while let Some(out) = victim.poll_transmit(now, &mut buffer) {
        sent += usize::from(!is_reject(&buffer[..out.bytes]));
    }
    sent
}
