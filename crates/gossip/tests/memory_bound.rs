//! A node takes no more memory than its configuration says, whoever speaks to it and how much.
//!
//! The allocator of this program adds up what the thread holds. A node with the longest names, full
//! of members, then full of others after all were forgotten, with nobody who fetches what it has to
//! send and to tell, stays below [`Config::memory_bound_bytes`], and above a third of it: a bound
//! that is far from what is taken would be of no use.

mod cluster;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cluster::{UNIT, address, config};
use tidings_gossip::wire::header::{Header, Kind, cluster_hash};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::{Config, Incarnation, Instant, KeyRing, Member, Node, NodeId, Strategy};

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, adding up the bytes that each thread holds.
struct Counting;

fn count(bytes: i64) {
    // A thread that is ending has no count any more, and nothing to prove.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call is passed on to `System` as it came, and `System` keeps to the contract; the
// counts are thread-locals without destructor, which never allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps to the contract of `alloc`, which is this one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both blocks are held while one is copied to the other.
        count(new_size as i64);
        count(-(layout.size() as i64));
        // SAFETY: the block is from `System`, to which every allocation is passed on.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the block is from `System`, to which every allocation is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A name of full length.
fn long_name(n: usize) -> String {
    format!("{n:0>63}")
}

fn id(n: usize) -> NodeId {
    NodeId::of_name(&long_name(n), 0)
}

/// Somebody with the key who introduces members: those numbered from `first` on.
fn introduction(first: usize, counter: u64, config: &Config) -> Vec<u8> {
    let payload_bytes = usize::from(config.payload_bytes);
    let mut body = vec![1, config.payload_schema];
    body.extend(config.payload_bytes.to_le_bytes());
    body.extend([4, 0]);
    for n in first..first + 4 {
        body.push(63);
        body.extend(long_name(n).as_bytes());
        body.push(4);
        body.extend(address(n).as_bytes());
        body.extend(id(n).0.to_le_bytes());
        body.extend([1, 0, 0, 1, 0, 0, 0, 0]);
        body.resize(body.len() + payload_bytes, 7);
    }
    let header = Header {
        version: 1,
        kind: Kind::Answer,
        cluster: cluster_hash(&config.cluster),
        sender: NodeId(77),
        incarnation: Incarnation::new(1),
        key_id: 0,
        salt: 5,
        counter,
    };
    let mut datagram = [&header.to_bytes()[..], &body, &[0; TAG_BYTES]].concat();
    KeyRing::open(&config.cluster).seal(&mut datagram);
    datagram
}

/// The most that a node held while it met as many members as fit, forgot them, and met others.
fn most_held(config: &Config) -> i64 {
    let nodes = config.max_nodes as usize;
    let before = HELD.get();
    MOST.set(before);
    let (keys, life) = (KeyRing::open(&config.cluster), Incarnation::new(1));
    let me = Member { name: "n".to_owned(), address: address(0) };
    let mut node = Node::new(config.clone(), keys, me, &[], life, 1, Instant::EPOCH)
        .expect("the configuration is valid");
    node.note_changes();
    let mut now = Instant::EPOCH + UNIT;
    let mut counter = 0;
    for generation in [1, 2] {
        for n in (0..nodes).step_by(4) {
            counter += 1;
            // Made outside of the count.
            let held = (HELD.get(), MOST.get());
            let mut datagram = introduction(generation * 100_000 + n, counter, config);
            HELD.set(held.0);
            MOST.set(held.1);
            node.handle_datagram(now, address(1), &mut datagram);
            let held = HELD.get();
            drop(datagram);
            HELD.set(held);
            node.handle_timeout(now);
            while node.poll_change(now).is_some() {}
        }
        assert!(node.entries(now).count() + 1 >= nodes, "it is full");
        now = now + config.forget_after;
        for _ in 0..nodes / 16 {
            now = now + UNIT;
            node.handle_timeout(now);
        }
        assert!(node.entries(now).count() < 4, "all are forgotten");
    }
    MOST.get() - before
}

#[test]
fn a_node_takes_no_more_than_its_configuration_says() {
    for (nodes, payload_bytes) in [(600, 0), (2_000, 64), (9_000, 256)] {
        let mut config = config(nodes);
        (config.payload_bytes, config.death_after) = (payload_bytes, Some(UNIT * 10));
        let (held, bound) = (most_held(&config) as u64, config.memory_bound_bytes());
        println!("{nodes} nodes, payload {payload_bytes}: {held} of {bound} bytes");
        assert!(held <= bound, "{nodes}: {held} bytes are more than {bound}");
        assert!(held * 4 >= bound || nodes < 1_000, "{nodes}: {held} bytes are far below {bound}");
    }
}

/// Two payloads of each node and what is said of them: as much as the bound has for that.
#[test]
fn bases_take_no_more_than_the_configuration_says() {
    for (nodes, payload_bytes) in [(600, 0), (2_000, 64), (4_000, 256)] {
        let [whole, changes] = [2, 3].map(|version| {
            let mut config = config(nodes);
            (config.strategy, config.wire_version) = (Strategy::Grid, version);
            (config.payload_bytes, config.death_after) = (payload_bytes, Some(UNIT * 10));
            (most_held(&config) as u64, config.memory_bound_bytes())
        });
        let (held, bound) = (changes.0 - whole.0, changes.1 - whole.1);
        println!("{nodes} nodes, payload {payload_bytes}: {changes:?}; bases {held} of {bound}");
        assert!(changes.0 <= changes.1, "{nodes}: {changes:?}");
        // What a node keeps of its own bases is among what is of fixed length.
        assert!(held <= bound + 4_096, "{nodes}: {held} bytes are more than {bound}");
        // Their peaks may be at other moments.
        assert!(held * 100 >= bound * 99, "{nodes}: {held} bytes are below {bound}");
    }
}

#[test]
fn the_bound_grows_with_what_it_is_made_of() {
    let bound = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        config.memory_bound_bytes()
    };
    let plain = bound(|_| ());
    // An entry's payload is held once, wherever it lies.
    assert_eq!(bound(|config| config.payload_bytes += 100) - plain, 4_096 * 100);
    assert!(bound(|config| config.max_nodes *= 2) > plain * 3 / 2);
}
