//! The target `wire`: a Node with a known key goes through a list of operations read from the
//! input. Time passes, honest peers send, and an attacker sends any bytes, with the key or without.
//!
//! What must hold, whatever arrives:
//! - nothing panics, and the node's datagrams stay within their limits;
//! - each datagram is counted once: as dropped for one reason, or as accepted;
//! - no entry that is held loses its stamp to an older one (Invariant 2 of ARCHITECTURE.md);
//! - the node's own entry is its own: alive, with a payload that it published.

use std::collections::BTreeMap;
use std::time::Duration;

use tidings_gossip::signed::SIGNED_BYTES;
use tidings_gossip::{
    Address, Capacity, ColonyConfig, ColonyId, Config, Counters, EntryState, Identities,
    Incarnation, Instant, Member, Node, Signer, Stamp, Strategy, Window,
};

use super::datagrams::{
    CLUSTER, Claim, Entry, answer, changes, id_of, keys, probe, pull, sealed, window,
};
use super::input::Input;
use super::told_records::{inventory, records};

const PAYLOAD_BYTES: u16 = 8;
const DATAGRAM_BYTES: u16 = 600;
/// The same if the node is in a colony.
const COLONY_DATAGRAM_BYTES: u16 = 1100;
/// Bit of the mode: the node and its peer are in two colonies, with vectors in full.
const COLONIES: u8 = 0x80;
/// Bit of the mode of a node with a small vector, or with version 3.
const BOUNDED: u8 = 4;
/// Bit of the mode of a node whose driver has a calendar.
const CALENDAR: u8 = 0x40;
/// Both: the node signs its entries, and takes no others.
const SIGNED: u8 = COLONIES | CALENDAR;
const NAMES: [&str; 8] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];
/// What the node says, but for the last byte, which counts its news.
const OWN_PAYLOAD: [u8; PAYLOAD_BYTES as usize] = *b"own new0";
/// Bit of an operation by which time passes: the node has news first.
const NEWS: u8 = 0x40;
/// The node's room is less than the names of the cluster.
const MAX_NODES: u32 = 12;
/// Its room for other colonies.
const MAX_COLONIES: usize = 3;
/// Bit of an operation whose datagrams are of version 2, with a block in front of the body.
const VERSION_2: u8 = 0x10;
/// The same with that one: of version 3, whose windows have changes and whose pulls say which bases
/// there are.
const VERSION_3: u8 = 0x20;
/// Bit of an operation after which the node's transmits and events are not fetched.
const UNATTENDED: u8 = 0x80;
/// The sequence of a tombstone, which is not a multiple of the others' factor.
const TOMBSTONE: u16 = 0xFFFE;
/// Two names with one node id.
const COLLIDING: [&str; 2] = ["c22613", "c63661"];
/// More datagrams than one input of the fuzzer can cause between two inputs of the node: windows,
/// and for each doubt a probe, three by others and four that announce a death.
const DATAGRAMS_AT_ONCE: usize = 192;

/// Runs the operations that the bytes encode.
pub fn wire(bytes: &[u8]) {
    counters_after(bytes);
}

/// Runs them and returns the node's counters, so that a test can check what its inputs reach.
pub fn counters_after(bytes: &[u8]) -> Counters {
    let mut input = Input(bytes);
    let mut world = World::new(input.byte());
    while !input.0.is_empty() {
        world.step(&mut input);
        world.check();
    }
    *world.node.counters()
}

/// The node under test, an honest peer, and what has been seen of them.
struct World {
    node: Node,
    peer: Node,
    now: Instant,
    /// Datagrams sealed so far with the key.
    sealed: u32,
    /// The stamp of each entry held at the last check.
    stamps: BTreeMap<String, (u32, Option<u32>)>,
    /// A datagram to send again.
    kept: Vec<u8>,
    /// What the node published last.
    payload: [u8; PAYLOAD_BYTES as usize],
    /// Whether the vector is smaller than the cluster may be.
    bounded: bool,
    /// Whether the node knows other colonies.
    colonies: bool,
    /// The version of the datagrams that the attacker makes.
    version: u8,
}

impl World {
    fn new(mode: u8) -> Self {
        let now = Instant::from_micros(1_000_000);
        let mut node = node_of(0, mode, now);
        let mut peer = node_of(1, mode, now);
        if mode & SIGNED == SIGNED {
            node.sign(signer(0), Some(&identities())).expect("there is room for a signature");
        }
        node.publish(&OWN_PAYLOAD).expect("it has the size of a payload");
        if mode & CALENDAR != 0 {
            node.believe_up_to(Incarnation::new(200));
        }
        node.join(&[address_of(1)]);
        peer.join(&[address_of(0)]);
        let bounded = is_bounded(mode);
        let colonies = mode & COLONIES != 0;
        if colonies {
            node.introduce(colony_of(1), &[address_of(1)]);
            peer.introduce(colony_of(0), &[address_of(0)]);
            node.visit(colony_of(1));
        }
        let (stamps, kept) = (BTreeMap::new(), Vec::new());
        let bounded = bounded && !colonies;
        let (payload, version, sealed) = (OWN_PAYLOAD, 1, 0);
        Self { node, peer, now, sealed, stamps, kept, payload, bounded, colonies, version }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let choice = input.byte();
        self.version = match (choice & VERSION_2, choice & VERSION_3) {
            (0, _) => 1,
            (_, 0) => 2,
            _ => 3,
        };
        match choice % 8 {
            0 => {
                if choice & NEWS != 0 {
                    self.publish_news();
                }
                self.elapse(Duration::from_millis(u64::from(input.word())));
            }
            1 => self.deliver(input),
            2 => self.converse(input.word(), input.byte()),
            3 => {
                let claim = self.claim(input);
                let bytes = usize::from(input.word() % u16::from(u8::MAX));
                // Between colonies there are four kinds more, one of which does not exist.
                let foreign = self.colonies && claim.kind == 0;
                let kind = if foreign { 5 + input.byte() % 5 } else { claim.kind };
                self.receive(sealed(Claim { kind, ..claim }, &[], input.bytes(bytes)));
            }
            4 => self.receive_window(input),
            5 => self.receive_members(input),
            6 => self.damage(input.byte(), input.byte()),
            _ if choice & 8 != 0 => self.receive_pull(input),
            _ if choice & 0x40 != 0 => self.receive_probe(input),
            _ if choice & 0x20 != 0 => {
                let of = address_of(usize::from(input.byte() % 8));
                self.node.handle_refused(self.now, of);
            }
            _ => self.receive(self.kept.clone()),
        }
        if choice & UNATTENDED == 0 {
            self.drain();
        }
    }

    /// The node says something else from its next round on.
    fn publish_news(&mut self) {
        let [.., count] = &mut self.payload;
        *count = count.wrapping_add(1);
        self.node.publish(&self.payload).expect("it has the size of a payload");
    }

    /// Time passes for both.
    fn elapse(&mut self, duration: Duration) {
        self.now = self.now + duration;
        for node in [&mut self.node, &mut self.peer] {
            if node.poll_timeout() <= self.now {
                node.handle_timeout(self.now);
            }
        }
    }

    /// Bytes without a seal.
    fn deliver(&mut self, input: &mut Input<'_>) {
        let bytes = usize::from(input.byte());
        let datagram = input.bytes(bytes).to_vec();
        self.receive(datagram);
    }

    /// The peer receives from the node, and the node from the peer, with one byte changed on the
    /// way (or none: changed by 0).
    fn converse(&mut self, at: u16, change: u8) {
        for mut datagram in transmits(&mut self.node, self.now) {
            self.peer.handle_datagram(self.now, address_of(0), &mut datagram);
        }
        for mut datagram in transmits(&mut self.peer, self.now) {
            let at = usize::from(at) % datagram.len();
            datagram[at] ^= change;
            self.receive(datagram);
        }
    }

    /// A window as a traitor would send it: well formed, with any content.
    fn receive_window(&mut self, input: &mut Input<'_>) {
        let claim = Claim { kind: 1, ..self.claim(input) };
        let entries: Vec<Entry> = (0..input.byte() % 8).map(|_| entry(input)).collect();
        let block = self.block(claim.counter);
        let body = match self.version {
            3 => {
                let mut body = changes(input.byte(), &entries, PAYLOAD_BYTES);
                if self.colonies {
                    records(input, &mut body);
                }
                body
            }
            _ => window(&entries, PAYLOAD_BYTES),
        };
        self.receive(sealed(claim, &block, &body));
    }

    /// A pull of any range of ids, well formed.
    fn receive_pull(&mut self, input: &mut Input<'_>) {
        let claim = Claim { kind: 4, ..self.claim(input) };
        let (first, last) = (u32::from(input.byte()), u32::MAX - u32::from(input.byte()));
        let block = self.block(claim.counter);
        let mut body = Vec::new();
        if self.version == 3 {
            let members = input.byte();
            body.push(members);
            // Salt, roll and marks; the roll is hardly that of the members there are.
            let marks = if members == 0 { 0 } else { 5 + usize::from(members) };
            body.extend(input.bytes(marks));
        }
        body.extend(pull([first << 24, last], PAYLOAD_BYTES));
        if self.colonies && self.version == 3 {
            inventory(input, &mut body);
        }
        self.receive(sealed(claim, &block, &body));
    }

    /// A probe or a proof of any node, well formed.
    fn receive_probe(&mut self, input: &mut Input<'_>) {
        let marks = input.byte();
        let claim = Claim { kind: 9 + (marks >> 1 & 1), ..self.claim(input) };
        let (target, held) = (id(input.byte()), entry(input));
        let entry = if marks & 4 == 0 { Entry { origin: claim.sender, ..held } } else { held };
        let body = probe((marks & 1, target), (held, entry), PAYLOAD_BYTES);
        let block = self.block(claim.counter);
        self.receive(sealed(claim, &block, &body));
    }

    /// An answer that introduces members: well formed, with names of the input's choice.
    fn receive_members(&mut self, input: &mut Input<'_>) {
        let claim = Claim { kind: 3, ..self.claim(input) };
        let members: Vec<(String, Entry)> = (0..input.byte() % 8)
            .map(|_| {
                let choice = input.byte();
                let colliding = COLLIDING.get(usize::from(choice)).map(ToString::to_string);
                let name = colliding.unwrap_or_else(|| format!("m{choice}"));
                let entry = Entry { origin: id_of(&name), ..entry(input) };
                (name, entry)
            })
            .collect();
        let block = self.block(claim.counter);
        self.receive(sealed(claim, &block, &answer(&members, PAYLOAD_BYTES)));
    }

    /// The kept datagram again, one byte changed or cut off.
    fn damage(&mut self, at: u8, change: u8) {
        let mut datagram = self.kept.clone();
        if change == 0 {
            datagram.truncate(usize::from(at));
        } else if let Some(byte) = datagram.get_mut(usize::from(at)) {
            *byte ^= change;
        }
        self.receive(datagram);
    }

    fn receive(&mut self, mut datagram: Vec<u8>) {
        let before = Tally::of(&self.node);
        self.kept.clone_from(&datagram);
        self.node.handle_datagram(self.now, address_of(1), &mut datagram);
        let after = Tally::of(&self.node);
        assert_eq!(after.received, before.received + 1, "a datagram is counted as received");
        assert!(after.dropped <= before.dropped + 1, "a datagram is dropped for one reason");
    }

    /// A sender that may be a member, the node itself, or unknown.
    fn claim(&mut self, input: &mut Input<'_>) -> Claim {
        self.sealed += 1;
        // Few bytes stand for checks and their answers, so that the others mean what they did.
        let kind = match input.byte() {
            rare @ 0xF0.. => 11 + rare % 2,
            usual => usual % 6,
        };
        Claim {
            version: self.version,
            colony: if self.colonies { colony_of(0).0 } else { 0 },
            kind,
            sender: id(input.byte()),
            incarnation: u32::from(input.byte()),
            salt: input.byte() % 3,
            counter: self.sealed.wrapping_add(u32::from(input.byte() % 16) * 8),
        }
    }

    /// The block in front of a body: in version 2 the versions read, an item of an unknown type,
    /// and the receiver, which is not always this node, or this incarnation of it.
    fn block(&self, choice: u32) -> Vec<u8> {
        if self.version == 1 {
            return Vec::new();
        }
        let mut block = vec![0, 1, 2, 1, 2, 77, 1, 9];
        if choice % 4 > 0 {
            block.extend([2, 7]);
            block.extend(id(u8::from(choice % 16 == 1)).to_le_bytes());
            block.extend([if choice % 8 == 2 { 2 } else { 3 }, 0, 0]);
        }
        block[0] = block.len() as u8 - 1;
        block
    }

    /// What the agent would do after each input.
    fn drain(&mut self) {
        if self.node.poll_timeout() <= self.now {
            self.node.handle_timeout(self.now);
        }
        drop(transmits(&mut self.node, self.now));
        while self.node.poll_event().is_some() {}
    }

    fn check(&mut self) {
        let own = self.node.entry(NAMES[0], self.now).expect("a node knows itself");
        assert!(own.age.is_some() && own.state == EntryState::Alive, "a node has its own entry");
        let (_, said) = OWN_PAYLOAD.split_last().expect("it has eight bytes");
        let published = own.sequence == Some(0) || own.payload.starts_with(said);
        assert!(published, "a node says of itself what it published, not {:?}", own.payload);
        let before = std::mem::take(&mut self.stamps);
        let mut members = 0;
        for entry in self.node.entries(self.now) {
            members += 1;
            if entry.age.is_none() {
                continue;
            }
            let stamp = (entry.incarnation, entry.sequence);
            // A bounded vector may evict an entry and accept an older one instead.
            let held = before.get(entry.name).copied().unwrap_or_default();
            assert!(self.bounded || stamp >= held, "{}: {held:?} lowered to {stamp:?}", entry.name);
            self.stamps.insert(entry.name.to_owned(), stamp);
        }
        let others = self.node.other_colonies(self.now).count();
        assert!(others <= MAX_COLONIES, "{others} colonies with room for {MAX_COLONIES}");
        let seen = self.node.visited(self.now).map_or(0, |visit| visit.entries().len());
        assert!(seen <= MAX_NODES as usize, "a visit brought {seen} entries");
        assert!(members <= MAX_NODES, "{members} nodes with room for {MAX_NODES}");
    }
}

/// What the counters must show about datagrams.
struct Tally {
    received: u64,
    dropped: u64,
}

impl Tally {
    fn of(node: &Node) -> Self {
        let counters = node.counters();
        let of_datagrams = [
            counters.dropped_foreign,
            counters.dropped_version,
            counters.dropped_cluster,
            counters.dropped_key,
            counters.dropped_corrupt,
            counters.dropped_replayed,
            counters.dropped_stale_sender,
            counters.dropped_unknown_sender,
            counters.dropped_own_id,
            counters.dropped_malformed,
            counters.dropped_schema,
            counters.dropped_colony,
            counters.dropped_misdirected,
            counters.dropped_excess,
            counters.dropped_implausible,
        ];
        Self { received: counters.datagrams_received, dropped: of_datagrams.iter().sum() }
    }
}

/// Whether there is room for four entries: `grid` needs room for all, so that bit stands for
/// version 3 there.
fn is_bounded(mode: u8) -> bool {
    let strategy = Strategy::ALL[usize::from(mode >> 3) % Strategy::ALL.len()];
    mode & BOUNDED != 0 && strategy != Strategy::Grid
}

/// Bit 0 of `mode`: joined by seeds instead of a roster. Bit 1: a window of one entry. Bit 2: room
/// for four entries, or version 3, with long payloads where version 2 is chosen too. Bit 7: in a
/// colony of its own. The others choose the strategy and the version that is written.
fn node_of(index: usize, mode: u8, now: Instant) -> Node {
    let mut config = Config::default();
    config.cluster = String::from(CLUSTER);
    config.window = if mode & 2 == 0 { Window::Percent(50.0) } else { Window::Entries(1) };
    config.strategy = Strategy::ALL[usize::from(mode >> 3) % Strategy::ALL.len()];
    let is_later = (mode >> 3) / Strategy::ALL.len() as u8 % 2 == 1;
    config.wire_version = if is_later { 2 } else { 1 };
    if is_bounded(mode) {
        config.capacity = Capacity::Bounded(4);
    } else if mode & BOUNDED != 0 {
        config.wire_version = 3;
    }
    // By a step an entry takes fewer bits than a whole one only if that is long.
    let has_steps = config.wire_version == 3 && is_later && mode & COLONIES == 0;
    config.payload_bytes = if has_steps { 2 * PAYLOAD_BYTES } else { PAYLOAD_BYTES };
    if mode & SIGNED == SIGNED {
        config.payload_bytes += SIGNED_BYTES;
        config.payload_bytes_most = config.payload_bytes;
    }
    config.datagram_bytes = DATAGRAM_BYTES;
    config.max_nodes = MAX_NODES;
    config.forget_after = Duration::from_secs(100);
    if mode & COLONIES != 0 {
        config.strategy = Strategy::Grid;
        config.capacity = Capacity::Full;
        config.datagram_bytes = COLONY_DATAGRAM_BYTES;
        let (id, max_colonies) = (colony_of(index), MAX_COLONIES as u32);
        config.colony = Some(ColonyConfig { id, max_colonies });
    }
    let member =
        |index: usize| Member { name: NAMES[index].to_owned(), address: address_of(index) };
    let roster: Vec<Member> =
        if mode & 1 == 0 { (0..NAMES.len()).map(member).collect() } else { Vec::new() };
    let incarnation = Incarnation::new(3);
    Node::new(config, keys(), member(index), &roster, incarnation, index as u64, now)
        .expect("the configuration is in range")
}

fn signer(index: usize) -> Signer {
    Signer::from_bytes([index as u8; 32])
}

fn identities() -> Identities {
    let lines = NAMES.iter().enumerate();
    let lines = lines.map(|(index, name)| format!("{name} {}\n", signer(index).public()));
    Identities::parse(&lines.collect::<String>()).expect("a list")
}

/// The colony of a node; the stored inputs have these numbers.
fn colony_of(index: usize) -> ColonyId {
    ColonyId([0x7059_2c12, 0xca31_f6d0][index])
}

fn address_of(index: usize) -> Address {
    Address::from_bytes(&[10, 0, 0, index as u8, 0x25, 0x90]).expect("six bytes are an address")
}

/// The id of one of the names, or a number that is not an id.
fn id(choice: u8) -> u32 {
    NAMES.get(usize::from(choice % 10)).map_or(u32::from(choice), |name| id_of(name))
}

fn entry(input: &mut Input<'_>) -> Entry {
    Entry {
        origin: id(input.byte()),
        incarnation: u32::from(input.byte()) * 0x01_0101,
        sequence: match input.word() {
            TOMBSTONE => Stamp::SEQUENCE_DEAD,
            word => u32::from(word) * 0x0101,
        },
        age: input.word(),
        fill: input.byte(),
    }
}

/// All transmits of a node now, as single datagrams.
fn transmits(node: &mut Node, now: Instant) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    let limit = usize::from(node.config().datagram_bytes);
    let mut buffer = [0; 4 * COLONY_DATAGRAM_BYTES as usize];
    while let Some(transmit) = node.poll_transmit(now, &mut buffer) {
        assert!(transmit.segment_bytes <= limit, "a datagram is too large");
        assert!(transmit.bytes <= buffer.len() && transmit.bytes > 0);
        let segments = buffer[..transmit.bytes].chunks(transmit.segment_bytes);
        datagrams.extend(segments.map(<[u8]>::to_vec));
        assert!(datagrams.len() <= DATAGRAMS_AT_ONCE, "the node sends without end");
    }
    datagrams
}
