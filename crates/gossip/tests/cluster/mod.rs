//! A cluster in one process: real nodes, virtual time, datagrams that arrive when they are sent.
//!
//! Nodes are run in the order of their timeouts, ties by number; all chance comes from one seed.
//! An address is a node's number in four bytes.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tidings_gossip::{Address, Config, Incarnation, Instant, KeyRing, Member, Node, Strategy};

/// The unit of time of all these clusters.
pub const UNIT: Duration = Duration::from_millis(256);

/// What happens to a datagram on its way from one node to another.
pub type Fate = fn(from: usize, to: usize, datagram: &[u8]) -> bool;

/// Nodes that reach each other.
pub struct Cluster {
    /// The nodes; `None` where one is down.
    pub nodes: Vec<Option<Node>>,
    /// The present, the same for all.
    pub now: Instant,
    /// Whether a datagram arrives.
    pub delivers: Fate,
    /// Whether a host whose node is down says that nobody listens there.
    pub refuses: bool,
    timeouts: BinaryHeap<Reverse<(Instant, usize)>>,
    buffer: Vec<u8>,
}

/// The name of node `n`.
pub fn name(n: usize) -> String {
    format!("n{n:05}")
}

/// The address of node `n`.
pub fn address(n: usize) -> Address {
    Address::from_bytes(&(n as u32).to_le_bytes()).expect("four bytes are an address")
}

/// Node `n` as a member.
pub fn member(n: usize) -> Member {
    Member { name: name(n), address: address(n) }
}

/// A configuration with large datagrams and small payloads, fit for many nodes in one process.
pub fn config(nodes: usize) -> Config {
    let mut config = Config::default();
    config.interval = UNIT;
    config.strategy = Strategy::Uniform;
    config.payload_bytes = 8;
    config.datagram_bytes = 65_507;
    config.max_nodes = nodes.max(2) as u32;
    config.death_after = None;
    config
}

/// One node of a cluster called as the configuration says, without secret keys.
pub fn node(config: &Config, n: usize, roster: &[Member], life: u32, now: Instant) -> Node {
    let seed = 0x7164 + n as u64 + ((now.as_micros() as u64) << 32);
    let keys = KeyRing::open(&config.cluster);
    Node::new(config.clone(), keys, member(n), roster, Incarnation::new(life), seed, now)
        .expect("the tests' configurations are valid")
}

impl Cluster {
    /// `count` nodes on one roster.
    pub fn with_roster(config: &Config, count: usize) -> Self {
        let roster: Vec<Member> = (0..count).map(member).collect();
        let make = |n| node(config, n, &roster, 1, Instant::EPOCH);
        Self::of((0..count).map(make).collect())
    }

    /// `count` nodes of which each but the first knows only the first, its seed.
    pub fn with_seed(config: &Config, count: usize) -> Self {
        let make = |n| {
            let mut node = node(config, n, &[], 1, Instant::EPOCH);
            node.join(&[address(0)]);
            node
        };
        Self::of((0..count).map(make).collect())
    }

    /// The given nodes; that at place `n` has the address `n`.
    pub fn of(nodes: Vec<Node>) -> Self {
        let timeouts = nodes.iter().enumerate().map(|(n, node)| Reverse((node.poll_timeout(), n)));
        Self {
            timeouts: timeouts.collect(),
            nodes: nodes.into_iter().map(Some).collect(),
            now: Instant::EPOCH,
            delivers: |_, _, _| true,
            refuses: false,
            buffer: vec![0; 65_507],
        }
    }

    /// The node numbered `n`, which is up.
    pub fn node(&mut self, n: usize) -> &mut Node {
        self.nodes[n].as_mut().expect("the node is up")
    }

    /// Stops node `n` without a word.
    pub fn crash(&mut self, n: usize) {
        self.nodes[n] = None;
    }

    /// Lets node `n` say farewell; it is still there, and silent from now on.
    pub fn leave(&mut self, n: usize) {
        let now = self.now;
        self.node(n).leave(now);
        self.flush(n);
    }

    /// Puts a node in place `n`.
    pub fn start(&mut self, n: usize, node: Node) {
        self.timeouts.push(Reverse((node.poll_timeout(), n)));
        self.nodes.resize_with(self.nodes.len().max(n + 1), || None);
        self.nodes[n] = Some(node);
    }

    /// Lets `units` of time pass.
    pub fn run(&mut self, units: u32) {
        self.run_for(UNIT * units);
    }

    /// Lets so much time pass.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(&Reverse((due, n))) = self.timeouts.peek().filter(|r| r.0.0 <= end) {
            self.timeouts.pop();
            self.now = self.now.max(due);
            let now = self.now;
            let Some(node) = self.nodes[n].as_mut() else { continue };
            if node.poll_timeout() <= now {
                node.handle_timeout(now);
                self.flush(n);
            }
            if let Some(node) = self.nodes[n].as_ref() {
                self.timeouts.push(Reverse((node.poll_timeout(), n)));
            }
        }
        self.now = end;
    }

    /// Delivers all that node `n` has to send, and what that makes others send.
    pub fn flush(&mut self, n: usize) {
        let mut senders = vec![n];
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(from) = senders.pop() {
            let Some(node) = self.nodes[from].as_mut() else { continue };
            let Some(out) = node.poll_transmit(self.now, &mut buffer) else { continue };
            senders.push(from);
            let to = out.to.as_bytes().try_into().map(u32::from_le_bytes);
            let to = to.expect("addresses have four bytes") as usize;
            let mut refused = Vec::new();
            for datagram in buffer[..out.bytes].chunks_mut(out.segment_bytes) {
                let arrives = (self.delivers)(from, to, datagram);
                let receiver = self.nodes.get_mut(to).and_then(Option::as_mut);
                if let Some(node) = receiver.filter(|_| arrives) {
                    node.handle_datagram(self.now, address(from), datagram);
                    senders.push(to);
                } else if arrives && self.refuses {
                    refused.push((from, to));
                }
            }
            for (from, to) in refused {
                if let Some(node) = self.nodes[from].as_mut() {
                    node.handle_refused(self.now, address(to));
                    self.timeouts.push(Reverse((node.poll_timeout(), from)));
                }
            }
        }
        self.buffer = buffer;
    }

    /// Nodes that are up.
    pub fn up(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    /// The fewest nodes that any node knows, itself included.
    pub fn known_min(&self) -> u32 {
        self.up().map(|node| node.ages(self.now).known).min().unwrap_or_default()
    }

    /// Mean age over all ordered pairs, and mean over nodes of the oldest entry, in units of time.
    pub fn ages(&self) -> (f64, f64) {
        let unit = UNIT.as_secs_f64();
        let ages: Vec<_> = self.up().map(|node| node.ages(self.now)).collect();
        let mean = |of: fn(&tidings_gossip::Ages) -> Duration| {
            ages.iter().map(|a| of(a).as_secs_f64()).sum::<f64>() / ages.len() as f64 / unit
        };
        (mean(|a| a.age_avg), mean(|a| a.age_max))
    }
}
