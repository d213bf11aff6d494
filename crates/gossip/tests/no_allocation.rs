//! A cluster that is up and complete takes no memory: not for a round, not for a datagram, and not
//! because a datagram says so.
//!
//! The allocator of this program counts what each thread asks it for. After a warm-up, in which
//! queues and windows grow to their sizes, every call to a node is counted: rounds, windows, and in
//! clusters by seeds the rare asks and their answers too.

mod cluster;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cluster::{UNIT, address, config, member, node};
use tidings_gossip::wire::header::{Header, Kind, cluster_hash};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::{
    Capacity, ColonyConfig, ColonyId, Config, EntryState, Incarnation, Instant, KeyRing, Member,
    Node, NodeId, Strategy, Window,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the blocks that each thread takes or resizes.
struct Counting;

fn count() {
    // A thread that is ending has no count any more, and nothing to prove.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on to `System` as it came, and `System` keeps to the contract; the
// counter is a thread-local without destructor, which never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps to the contract of `alloc`, which is this one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`, which is this one.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the block is from `System`, to which every allocation is passed on.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is from `System`, to which every allocation is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Nodes on one table, and what their calls have allocated.
struct Table {
    nodes: Vec<Node>,
    now: Instant,
    buffer: Vec<u8>,
    /// So many of the last neither hear nor speak.
    dead: usize,
}

impl Table {
    fn new(config: &Config, count: usize, by_seeds: bool) -> Self {
        let members: Vec<Member> = (0..count).map(member).collect();
        let roster = if by_seeds { &[][..] } else { &members };
        let make = |n| {
            let mut node = node(config, n, roster, 1, Instant::EPOCH);
            node.join(&[address(0)]);
            node
        };
        Self::of((0..count).map(make).collect())
    }

    /// As many colonies of so many members, all told of two nodes of each.
    fn of_colonies(config: &Config, colonies: usize, members: usize) -> Self {
        let make = |n: usize| {
            let own = n / members;
            let mut config = config.clone();
            let (id, max_colonies) = (ColonyId(1 + own as u32), colonies as u32);
            config.colony = Some(ColonyConfig { id, max_colonies });
            let roster: Vec<Member> = (own * members..(own + 1) * members).map(member).collect();
            let mut node = node(&config, n, &roster, 1, Instant::EPOCH);
            for other in (0..colonies).filter(|&other| other != own) {
                let contacts = [0, 1].map(|n| address(other * members + n));
                assert!(node.introduce(ColonyId(1 + other as u32), &contacts));
            }
            node
        };
        Self::of((0..colonies * members).map(make).collect())
    }

    /// A driver of each keeps up with what changes.
    fn of(mut nodes: Vec<Node>) -> Self {
        nodes.iter_mut().for_each(Node::note_changes);
        Self { nodes, now: Instant::EPOCH, buffer: vec![0; 65_507], dead: 0 }
    }

    /// Lets units pass, a quarter at a time, and returns what the nodes' calls allocated.
    fn run(&mut self, units: u32) -> u64 {
        let before = ALLOCATIONS.get();
        let up = self.nodes.len() - self.dead;
        for _ in 0..4 * units {
            self.now = self.now + UNIT / 4;
            for n in 0..up {
                self.nodes[n].handle_timeout(self.now);
                self.deliver_from(n);
            }
            // Asks wait for their answers until here.
            (0..up).for_each(|n| self.deliver_from(n));
            for node in &mut self.nodes {
                while node.poll_change(self.now).is_some() {}
            }
        }
        ALLOCATIONS.get() - before
    }

    fn deliver_from(&mut self, from: usize) {
        while let Some(out) = self.nodes[from].poll_transmit(self.now, &mut self.buffer) {
            let to = out.to.as_bytes().try_into().map(u32::from_le_bytes).expect("four bytes");
            for datagram in self.buffer[..out.bytes].chunks_mut(out.segment_bytes) {
                if to as usize >= self.nodes.len() - self.dead {
                    continue;
                }
                self.nodes[to as usize].handle_datagram(self.now, address(from), datagram);
            }
        }
    }

    fn sent(&self, of: fn(&Node) -> u64) -> u64 {
        self.nodes.iter().map(of).sum()
    }
}

fn check(config: &Config, by_seeds: bool) {
    let mut table = Table::new(config, 40, by_seeds);
    let grown = table.run(400);
    assert!(grown > 0, "the count counts");
    for node in &mut table.nodes {
        while node.poll_event().is_some() {}
    }
    let asks = table.sent(|node| node.counters().asks_sent);
    let received = table.sent(|node| node.counters().entries_received);
    assert_eq!(table.run(200), 0, "{config:?}");
    assert!(table.sent(|node| node.counters().entries_received) > received);
    if by_seeds {
        assert!(table.sent(|node| node.counters().asks_sent) > asks, "asks are part of it");
    }
}

#[test]
fn a_full_vector_takes_no_memory() {
    for by_seeds in [false, true] {
        check(&config(64), by_seeds);
    }
}

#[test]
fn no_strategy_takes_memory() {
    for strategy in Strategy::ALL {
        let mut config = config(64);
        config.strategy = strategy;
        config.datagram_bytes = 300;
        check(&config, false);
    }
}

/// Readings of which some move each few units, of each node at times of its own, and stay where
/// they are then: a new base is worth its price, and most receivers hold the one before.
fn moving(node: usize, unit: u32) -> [u8; 64] {
    let (number, mut payload) = (node as u32, [0; 64]);
    payload[..4].copy_from_slice(&(number * 77).to_le_bytes());
    for (at, word) in payload[4..16].chunks_exact_mut(2).enumerate() {
        let moved = (unit + 5 * number + at as u32) / 30;
        word.copy_from_slice(&((moved * 37 + number) as u16).to_le_bytes());
    }
    payload
}

/// Nodes tell each other bases, steps to them, and entries by them.
#[test]
fn changes_by_bases_take_no_memory() {
    let mut config = config(64);
    config.strategy = Strategy::Grid;
    config.wire_version = 3;
    (config.payload_bytes, config.datagram_bytes) = (64, 1452);
    let mut table = Table::new(&config, 40, false);
    let run = |table: &mut Table, units: std::ops::Range<u32>| {
        let unit_of = |unit| {
            for (n, node) in table.nodes.iter_mut().enumerate() {
                node.publish(&moving(n, unit)).expect("it fits");
            }
            table.run(1)
        };
        units.map(unit_of).sum::<u64>()
    };
    run(&mut table, 0..400);
    let counted = |table: &Table| {
        let of: [fn(&Node) -> u64; 4] = [
            |node| node.counters().bases_taken,
            |node| node.counters().steps_sent,
            |node| node.counters().answer_entries_received,
            |node| node.counters().answer_bytes_received,
        ];
        of.map(|of| table.sent(of))
    };
    let before = counted(&table);
    assert_eq!(run(&mut table, 400..600), 0);
    let after = counted(&table);
    let [bases, steps, entries, bytes] = [0, 1, 2, 3].map(|at| after[at] - before[at]);
    println!("{bases} bases taken, {steps} steps sent, {entries} entries of {bytes} bytes");
    assert!(bases > 0 && steps > 0, "bases and steps are part of it");
    // A whole one takes 76 bytes.
    assert!(bytes < 38 * entries, "most are taken by bases: {entries} of {bytes} bytes");
}

#[test]
fn a_bounded_vector_takes_no_memory() {
    let mut config = config(64);
    config.window = Window::Entries(5);
    config.capacity = Capacity::Bounded(10);
    for by_seeds in [false, true] {
        check(&config, by_seeds);
    }
}

/// Doubts, probes, proofs, and knocks at one that is dead.
#[test]
fn a_detector_takes_no_memory() {
    for strategy in [Strategy::Uniform, Strategy::Grid] {
        let mut config = config(64);
        config.strategy = strategy;
        config.death_after = Some(UNIT * 10);
        let mut table = Table::new(&config, 40, false);
        table.run(100);
        table.dead = 1;
        table.run(300);
        for node in &mut table.nodes {
            while node.poll_event().is_some() {}
        }
        let probes = table.sent(|node| node.counters().probes_sent);
        let proofs = table.sent(|node| node.counters().proofs_sent);
        assert_eq!(table.run(200), 0, "{strategy}");
        assert!(table.sent(|node| node.counters().probes_sent) > probes + 200);
        assert!(table.sent(|node| node.counters().proofs_sent) > proofs);
        let dead = table.nodes[0].entry(&member(39).name, table.now).map(|entry| entry.state);
        assert_eq!(dead, Some(EntryState::Dead), "{strategy}");
    }
}

#[test]
fn a_window_of_many_datagrams_takes_no_memory() {
    let mut config = config(64);
    config.window = Window::Percent(100.0);
    config.payload_bytes = 500;
    config.datagram_bytes = 1452;
    check(&config, false);
}

/// Calls, replies, records pushed and pulled: all of it is in each of these rounds. In version 3
/// records are told as changes, of aggregates in which ages are others each time.
#[test]
fn a_colony_takes_no_memory() {
    [1, 3].into_iter().for_each(check_colonies);
}

fn check_colonies(version: u8) {
    let mut config = config(16);
    config.wire_version = version;
    config.strategy = Strategy::Grid;
    config.window = Window::Entries(40);
    config.payload_bytes = 64;
    config.datagram_bytes = 1452;
    let mut table = Table::of_colonies(&config, 5, 12);
    table.run(400);
    for node in &mut table.nodes {
        while node.poll_event().is_some() {}
    }
    let replies = table.sent(|node| node.counters().calls_answered);
    let records = table.sent(|node| node.counters().records_news);
    assert_eq!(table.run(200), 0);
    // Five colonies call four each.
    assert!(table.sent(|node| node.counters().calls_answered) >= replies + 200 * 20);
    assert!(table.sent(|node| node.counters().records_news) > records + 200 * 20);
    assert_eq!(table.sent(|node| node.counters().records_changed_sent) > 10_000, version == 3);
}

/// Bodies whose counts promise more than they hold, sealed with the cluster's key: no length field
/// makes the decoder take memory, whatever it says and however little follows.
#[test]
fn a_count_that_lies_takes_no_memory() {
    let config = config(3);
    let roster: Vec<Member> = (0..3).map(member).collect();
    let mut victim = node(&config, 0, &roster, 1, Instant::EPOCH);
    let keys = KeyRing::open(&config.cluster);
    let mut datagrams = Vec::new();
    for kind in [Kind::Window, Kind::Ask, Kind::Answer, Kind::Pull, Kind::Probe, Kind::Proof] {
        for body_bytes in 0..80 {
            let header = Header {
                version: 1,
                kind,
                cluster: cluster_hash(&config.cluster),
                sender: NodeId::of_name(&member(1).name, 0),
                incarnation: Incarnation::new(1),
                key_id: 0,
                salt: 1,
                counter: datagrams.len() as u64 + 1,
            };
            let mut datagram = header.to_bytes().to_vec();
            // The preamble of each kind, and then nothing but the largest numbers there are.
            let asks = matches!(kind, Kind::Ask | Kind::Answer | Kind::Pull);
            let preamble = if asks { [0, 1, 8, 0] } else { [1, 0, 8, 0] };
            datagram.extend(preamble.into_iter().chain([0xFF; 80]).take(body_bytes));
            datagram.resize(datagram.len() + TAG_BYTES, 0);
            keys.seal(&mut datagram);
            datagrams.push(datagram);
        }
    }
    let before = ALLOCATIONS.get();
    for datagram in &mut datagrams {
        victim.handle_datagram(Instant::EPOCH, address(1), datagram);
    }
    assert_eq!(ALLOCATIONS.get(), before);
    let counters = victim.counters();
    assert!(counters.dropped_malformed > 200, "{counters:?}");
    assert_eq!(counters.entries_news, 0);
}
