//! One real node, driven as its network would: each unit a round goes out and a window comes in.
//!
//! The node is the agent's own state machine, with a roster of all members and the cluster's key.
//! What comes in are authentic datagrams, sealed with that key in the name of another member, whose
//! entries have the ages and the share of news of the steady state (see [`tidings_bench::steady`]).
//! Time is virtual: a unit costs the same however long it is.
//!
//! Counted is the thread's CPU time of what the node does, apart from sockets: for the round,
//! publishing, building, encoding and sealing; for the window, opening, decoding and merging.
//! Making what arrives is not counted, but it drives the node's memory out of the caches, as an
//! application beside it would.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tidings_gossip::wire::header::{self, Header, Kind};
use tidings_gossip::wire::{keys, window};
use tidings_gossip::{
    Address, Config, Incarnation, Instant, Key, KeyRing, Member, Node, NodeId, Strategy, Window,
};

use tidings_bench::steady::{Arrivals, NEWS_SHARE, Received, UNIT_MICROS};

/// The window, in per cent of the nodes: the paper's.
pub const WINDOW_PERCENT: u32 = 20;

/// Where a datagram has the number of its key (docs/protocol.md).
const KEY_ID_AT: usize = 15;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Members of the cluster.
    pub nodes: u32,
    /// Bytes of payload in an entry.
    pub payload_bytes: u16,
    /// The most bytes of a datagram.
    pub datagram_bytes: u16,
}

/// CPU time of one unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Of the round that goes out.
    pub send: Duration,
    /// Of the window that comes in.
    pub receive: Duration,
}

/// A node and what arrives at it.
pub struct Driven {
    node: Node,
    keys: KeyRing,
    peers: Vec<Member>,
    arrivals: Arrivals,
    received: Received,
    /// The sealed datagrams of a unit, one behind the other, and the length of each.
    inbox: Vec<u8>,
    lengths: Vec<usize>,
    buffer: Vec<u8>,
    /// The number of the cluster's key, as the node writes it into its datagrams.
    key_id: u8,
    /// Number of the last datagram that was sealed.
    counter: u64,
    unit: i64,
}

impl Driven {
    /// A node that knows everybody, as after a long while.
    ///
    /// # Panics
    /// If the node refuses the setting.
    pub fn new(setting: Setting) -> Self {
        let Setting { nodes, payload_bytes, datagram_bytes } = setting;
        let mut config = Config::default();
        config.strategy = Strategy::Uniform; // the paper's
        config.window = Window::Percent(f64::from(WINDOW_PERCENT));
        (config.payload_bytes, config.datagram_bytes) = (payload_bytes, datagram_bytes);
        config.max_nodes = nodes;
        // No probe is answered here, and nobody's silence is to be taken for death.
        config.death_after = Some(Duration::from_secs(3_600));
        let roster: Vec<Member> = (0..nodes).map(member).collect();
        let window = config.window.entries(nodes as usize);
        let origins = roster[1..].iter().map(|peer| NodeId::of_name(&peer.name, 0)).collect();
        let keys = || KeyRing::new(&[Key::from_bytes([7; 32])]).expect("one key is a ring");
        let (me, life, now) = (roster[0].clone(), Incarnation::new(1), Instant::EPOCH);
        let node = Node::new(config, keys(), me, &roster, life, 1, now);
        let mut driven = Self {
            node: node.expect("the names of these rosters do not collide"),
            keys: keys(),
            peers: roster[1..].to_vec(),
            arrivals: Arrivals::of(origins, window, payload_bytes, usize::from(datagram_bytes)),
            received: Received::default(),
            inbox: Vec::new(),
            lengths: Vec::new(),
            buffer: vec![0; 4 << 20],
            key_id: 0,
            counter: 0,
            unit: 1,
        };
        let first = Instant::from_micros(UNIT_MICROS);
        driven.node.handle_timeout(first);
        let sent = driven.node.poll_transmit(first, &mut driven.buffer);
        assert!(sent.is_some(), "a round is due within the first unit");
        driven.key_id = driven.buffer[KEY_ID_AT];
        // Enough units for each entry to have been renewed twenty times on average.
        for _ in 0..20 * nodes as usize / window {
            driven.unit();
        }
        driven
    }

    /// Lets one unit pass and says what it cost.
    pub fn unit(&mut self) -> Cost {
        self.unit += 1;
        // The node's phase is random: at the end of the unit its round is due in any case.
        let now = Instant::from_micros(self.unit * UNIT_MICROS);
        let from = self.make_window(now);
        let start = cpu_time();
        let published = self.node.publish(&self.unit.to_le_bytes());
        debug_assert!(published.is_ok(), "every setting has payloads of 8 bytes at least");
        self.node.handle_timeout(now);
        while let Some(out) = self.node.poll_transmit(now, &mut self.buffer) {
            black_box(&self.buffer[..out.bytes]);
        }
        let sent = cpu_time();
        let mut rest = &mut self.inbox[..];
        for &length in &self.lengths {
            let (datagram, behind) = rest.split_at_mut(length);
            self.node.handle_datagram(now, from, datagram);
            rest = behind;
        }
        while self.node.poll_event().is_some() {}
        Cost { send: sent.saturating_sub(start), receive: cpu_time().saturating_sub(sent) }
    }

    /// The node that is driven.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Fills the inbox with a window of the next peer in turn; returns where it comes from.
    fn make_window(&mut self, now: Instant) -> Address {
        let peer = &self.peers[self.unit as usize % self.peers.len()];
        self.arrivals.fill(&mut self.received, now, self.unit, NEWS_SHARE);
        self.inbox.clear();
        self.lengths.clear();
        let mut bodies = &self.received.bytes[..];
        for &length in &self.received.lengths {
            let (body, behind) = bodies.split_at(length);
            bodies = behind;
            self.counter += 1;
            let head = Header {
                version: 1,
                kind: Kind::Window,
                cluster: header::cluster_hash("tidings"),
                sender: NodeId::of_name(&peer.name, 0),
                incarnation: Incarnation::new(1),
                key_id: self.key_id,
                salt: 1,
                counter: self.counter,
            };
            let at = self.inbox.len();
            self.inbox.extend_from_slice(&head.to_bytes());
            self.inbox.extend_from_slice(body);
            self.inbox.resize(self.inbox.len() + keys::TAG_BYTES, 0);
            self.keys.seal(&mut self.inbox[at..]);
            self.lengths.push(self.inbox.len() - at);
        }
        peer.address
    }
}

/// Entries in one datagram of a setting.
pub fn entries_in_datagram(setting: Setting) -> usize {
    let format = window::Format { schema: 1, payload_bytes: setting.payload_bytes };
    format.entries_in(tidings_bench::steady::body_bytes(usize::from(setting.datagram_bytes)))
}

fn member(n: u32) -> Member {
    let address = Address::from_bytes(&n.to_le_bytes()).expect("four bytes are an address");
    Member { name: format!("n{n:05}"), address }
}

/// CPU time of this thread so far.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The benchmark's ground is what it says: a whole window out and a whole one in each unit,
    /// nothing refused, four in five entries news.
    #[test]
    fn each_unit_a_window_goes_out_and_one_comes_in() {
        let setting = Setting { nodes: 200, payload_bytes: 64, datagram_bytes: 1452 };
        let mut driven = Driven::new(setting);
        let before = *driven.node().counters();
        for _ in 0..50 {
            driven.unit();
        }
        let after = driven.node().counters();
        assert_eq!(after.entries_sent - before.entries_sent, 50 * 40);
        assert_eq!(after.entries_received - before.entries_received, 50 * 40);
        assert_eq!(after.datagrams_received - before.datagrams_received, 50 * 3);
        let news = (after.entries_news - before.entries_news) as f64 / (50.0 * 40.0);
        assert!((news - NEWS_SHARE).abs() < 0.05, "{news}");
        let dropped = after.iter().filter(|(name, ..)| name.starts_with("dropped"));
        assert_eq!(dropped.map(|(_, _, count)| count).sum::<u64>(), 0);
    }
}
