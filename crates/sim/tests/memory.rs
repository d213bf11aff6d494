//! The memory of a node in a colony, counted where it is taken: by the allocator.
//!
//! One real node of each colony that `tidings sim colonies` plans for 10⁴, 10⁵ and 10⁶ nodes; all
//! others are played by datagrams that they could have sent: windows with entries and records,
//! pulls and calls, from every member, for as many units as a node takes to hear of everything, and
//! more. What the node sends goes nowhere. Run with `--nocapture` the test prints the rows of
//! studies/colonies/README.md:
//!
//! `cargo test --release -p tidings-sim --test memory -- --nocapture`

mod counting;

use std::time::Duration;

use counting::{HELD, MOST};
use tidings_gossip::aggregate::{Aggregate, Contribution, MAX_BYTES};
use tidings_gossip::colony::table::RECORD_MEMORY_BYTES;
use tidings_gossip::payload::NodeState;
use tidings_gossip::wire::header::{self, Header, Kind, cluster_hash};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::wire::record::{MAX_RECORD_BYTES, write_record};
use tidings_gossip::{
    Address, ColonyConfig, ColonyId, Config, Incarnation, Instant, KeyRing, Member, Node, NodeId,
};
use tidings_sim::colonies::World;
use tidings_sim::colonies::scenario::ColoniesScenario;

const CLUSTER: &str = "tidings";
/// The number of the node's own colony; the others follow it.
const OWN: u32 = 1;
/// Units that pass: three sweeps of pulls among 10⁶ nodes.
const UNITS: u32 = 64;
/// Entries and records in one window, each about another member or colony.
const ENTRIES: usize = 8;
const RECORDS: usize = 2;

fn name(n: usize) -> String {
    format!("n{n:07}")
}

/// Six bytes, as those of IPv4 with a port.
fn address(n: usize) -> Address {
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&(n as u32).to_le_bytes());
    Address::from_bytes(&bytes).expect("six bytes are an address")
}

fn member(n: usize) -> Member {
    Member { name: name(n), address: address(n) }
}

/// Members of the node's colony, and other colonies.
#[derive(Clone, Copy)]
struct Size {
    members: usize,
    colonies: usize,
}

/// A node alone with the datagrams of all others.
struct Lonely {
    node: Node,
    size: Size,
    ids: Vec<NodeId>,
    keys: KeyRing,
    aggregate: Vec<u8>,
    now: Instant,
    buffer: Vec<u8>,
    datagram: Vec<u8>,
    /// The member that sends next, and the number of its datagram.
    sender: usize,
    counter: u64,
}

impl Lonely {
    /// With the room that the configuration names, and the bytes that the node took for it.
    fn of(size: Size, mut config: Config, max_colonies: usize) -> (Self, i64) {
        let max_colonies = max_colonies as u32;
        config.colony = Some(ColonyConfig { id: ColonyId(OWN), max_colonies });
        let roster: Vec<Member> = (0..size.members).map(member).collect();
        let ids = roster.iter().map(|member| NodeId::of_name(&member.name, 0)).collect();
        let keys = KeyRing::open(CLUSTER);
        let aggregate = aggregate(size.members);
        let before = HELD.get();
        let (life, start) = (Incarnation::new(1), Instant::EPOCH);
        let mut node = Node::new(config, keys.clone(), member(0), &roster, life, 7, start)
            .expect("the configuration is valid");
        for colony in 1..=size.colonies as u32 {
            let contacts = [1, 2].map(|n| address(colony as usize * 10_000 + n));
            assert!(node.introduce(ColonyId(OWN + colony), &contacts));
        }
        let taken = HELD.get() - before;
        let (buffer, datagram) = (vec![0; 1 << 16], Vec::with_capacity(2048));
        let (now, sender, counter) = (start, 0, 0);
        let lonely =
            Self { node, size, ids, keys, aggregate, now, buffer, datagram, sender, counter };
        (lonely, taken)
    }

    /// Lets a unit pass, in which every member sends a window and some of them ask.
    fn unit(&mut self, unit: u32) {
        let members = self.size.members - 1;
        for step in 0..16 {
            self.now = self.now + Duration::from_millis(16);
            if self.node.poll_timeout() <= self.now {
                self.node.handle_timeout(self.now);
            }
            while self.node.poll_transmit(self.now, &mut self.buffer).is_some() {}
            while self.node.poll_event().is_some() {}
            for _ in members * step / 16..members * (step + 1) / 16 {
                self.sender = self.sender % members + 1;
                self.counter += u64::from(self.sender == 1);
                self.window(unit);
                match self.sender % 16 {
                    1 => self.pull(),
                    2 => self.call(),
                    _ => {}
                }
            }
        }
    }

    /// The entry of the sender, and those of members that follow it; then records.
    fn window(&mut self, unit: u32) {
        let body = &mut self.datagram;
        body.clear();
        body.extend([1, 8, 64, 0, ENTRIES as u8, 0]);
        for n in 0..ENTRIES {
            let origin = (self.sender - 1 + n * 31) % (self.size.members - 1) + 1;
            body.extend(self.ids[origin].0.to_le_bytes());
            body.extend(&unit.to_le_bytes()[..3]);
            body.extend([1, 0, 0, 0, 0]);
            body.extend([n as u8; 64]);
        }
        for n in 0..RECORDS {
            let colony = (self.sender * RECORDS + n) % self.size.colonies + 1;
            let mut record = [0; MAX_RECORD_BYTES];
            let contacts = (0..3).map(|n| address(colony * 10_000 + n + unit as usize));
            let head = (ColonyId(OWN + colony as u32), 0);
            let bytes = write_record(&mut record, head, contacts, &self.aggregate);
            body.extend(&record[..bytes]);
        }
        self.deliver(Kind::Window, 2);
    }

    /// Asks for all entries and records, of any age.
    fn pull(&mut self) {
        self.datagram.clear();
        self.datagram.extend([1, 0, 64, 0]);
        self.datagram.extend([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        self.datagram.extend([0xFF, 0xFF, 0, 0]);
        self.datagram.extend([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        self.deliver(Kind::Pull, 3);
    }

    /// A call of another colony: token, colony called, colony of the caller, room for the answer.
    fn call(&mut self) {
        self.datagram.clear();
        self.datagram.extend(self.counter.to_le_bytes());
        self.datagram.extend(OWN.to_le_bytes());
        self.datagram.extend((OWN + 1).to_le_bytes());
        self.datagram.resize(700, 0);
        self.deliver(Kind::Call, 1);
    }

    /// Seals the body and hands it to the node, as the sender's datagram number `counter` of three.
    fn deliver(&mut self, kind: Kind, number: u64) {
        let colony = if kind.is_foreign() { 0 } else { OWN };
        let header = Header {
            version: 1,
            kind,
            cluster: cluster_hash(CLUSTER).wrapping_add(colony),
            sender: self.ids[self.sender],
            incarnation: Incarnation::new(1),
            key_id: 0,
            salt: 1,
            counter: 3 * self.counter + number,
        };
        self.datagram.splice(..0, header.to_bytes());
        self.datagram.resize(self.datagram.len() + TAG_BYTES, 0);
        self.keys.seal(&mut self.datagram);
        self.node.handle_datagram(self.now, address(self.sender), &mut self.datagram);
        debug_assert_eq!(header.to_bytes().len(), header::BYTES);
    }
}

/// An aggregate of so many nodes, as it travels.
fn aggregate(members: usize) -> Vec<u8> {
    let mut payloads = vec![[0; 64]; members];
    for (n, payload) in payloads.iter_mut().enumerate() {
        let share = n as f64 / members as f64;
        let state = NodeState {
            cores: Some(128),
            load1: Some(128.0 * share),
            cpu_busy_percent: Some(100.0 * share),
            mem_available_bytes: Some(((1.0 - share) * 2e11) as u64),
            ..NodeState::default()
        };
        state.encode(payload).expect("64 bytes hold the readings");
    }
    let age = Duration::from_secs(1);
    let heard = payloads.iter().map(|payload| Contribution::Alive { age, payload });
    let aggregate = Aggregate::of(heard, Duration::from_secs(16));
    let mut bytes = [0; MAX_BYTES];
    let written = aggregate.encode(&mut bytes).expect("a colony's nodes are few enough");
    bytes[..written].to_vec()
}

/// The configuration that `tidings sim colonies` plans with.
fn config(scenario: &ColoniesScenario) -> Config {
    let mut config = Config::default();
    config.window = scenario.window;
    config.payload_bytes = scenario.payload_bytes;
    config.datagram_bytes = scenario.datagram_bytes();
    config
}

fn world(nodes: u32) -> (World, Size) {
    let scenario = ColoniesScenario { nodes, ..ColoniesScenario::default() };
    let world = World::of(&scenario).expect("the scenario is valid");
    let colonies = world.colonies();
    let members = (nodes as usize).div_ceil(colonies);
    (world, Size { members, colonies: colonies - 1 })
}

/// Lets a node hear of everything; what it held when it was made, and at most.
fn hear_all(size: Size, config: Config, max_colonies: usize) -> (i64, i64) {
    let outside = HELD.get();
    let (mut lonely, taken) = Lonely::of(size, config, max_colonies);
    let around = HELD.get() - outside - taken;
    MOST.set(HELD.get());
    for unit in 1..=UNITS {
        lonely.unit(unit);
    }
    let most = MOST.get() - outside - around;
    let now = lonely.now;
    assert_eq!(lonely.node.ages(now).known as usize, size.members, "it has heard of all members");
    let heard = lonely.node.other_colonies(now).filter(|view| view.age.is_some()).count();
    assert_eq!(heard, size.colonies, "it has heard of all colonies");
    let counters = lonely.node.counters();
    // Where members are many more than colonies, not all represent one.
    let calls = size.members > 4 * size.colonies || counters.calls_sent > 0;
    assert!(calls && counters.calls_answered > 0, "{counters:?}");
    assert!(counters.records_sent > 0 && counters.dropped_stale_sender == 0, "{counters:?}");
    (taken, most)
}

#[test]
fn a_node_takes_less_than_the_simulator_says() {
    println!("| nodes | members | other colonies | at the start | at most | computed |");
    for nodes in [10_000, 100_000, 1_000_000] {
        let (world, size) = world(nodes);
        let mut config = config(world.scenario());
        config.max_nodes = size.members as u32;
        let (taken, most) = hear_all(size, config, size.colonies);
        let computed = world.node_memory_bytes();
        let Size { members, colonies } = size;
        println!("| {nodes} | {members} | {colonies} | {taken} | {most} | {computed} |");
        assert!(most <= computed as i64, "{most} bytes held, {computed} computed");
    }
}

/// An agent is not told how many there will be: by default it has room for 4,096 members and 1,024
/// colonies.
#[test]
fn room_that_is_not_used_is_bounded_too() {
    let (world, size) = world(1_000_000);
    let (taken, most) = hear_all(size, config(world.scenario()), 1_024);
    println!("room for 4096 members and 1024 colonies: {taken} at the start, {most} at most");
    let tables = 16 * (2 * 4_096 - (2 * size.members).next_power_of_two());
    let members = (244 + 64) * (4_096 - size.members);
    let more = members + tables + RECORD_MEMORY_BYTES * (1_024 - size.colonies);
    let bound = (world.node_memory_bytes() + more as u64) as i64;
    assert!(most <= bound, "{most} bytes held, {bound} computed");
}
