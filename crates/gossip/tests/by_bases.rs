//! Changes by bases among nodes: whatever versions they write, whatever is lost, doubled or sent
//! by a traitor, a node holds of another what that said under its stamp, or something newer.

mod cluster;
mod traitor;

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{Cluster, UNIT, address, config, member, name, node};
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::model;
use tidings_gossip::payload::{NodeState, Settled, Tolerances};
use tidings_gossip::wire::{ENTRY_OVERHEAD_BYTES, frame_bytes, overhead_bytes};
use tidings_gossip::{
    Config, Counters, EntryState, Incarnation, Instant, KeyRing, Member, Node, NodeId, Strategy,
    Window,
};

const PAYLOAD_BYTES: usize = 64;
/// The windows of most tests.
const PERCENT: f64 = 50.0;

/// What a node says in a unit.
type Speech = fn(node: usize, unit: u32) -> Vec<u8>;

/// Readings that move now and then, as most do, of each node at times of its own.
fn usual(node: usize, unit: u32) -> Vec<u8> {
    let (number, mut payload) = (node as u32, vec![0; PAYLOAD_BYTES]);
    payload[..4].copy_from_slice(&(number * 77).to_le_bytes());
    payload[20] = ((unit + 3 * number) / 7 + number) as u8;
    payload[40] = ((unit + 11 * number) / 31) as u8;
    payload
}

/// Bytes that are new each unit.
fn all_new(node: usize, unit: u32) -> Vec<u8> {
    let seed = (node as u64) << 32 | u64::from(unit);
    let words = (0..PAYLOAD_BYTES as u64 / 8).map(|at| seed * 8 + at);
    words.flat_map(|word| tidings_primitives::chance::mix(word).to_le_bytes()).collect()
}

fn settings(nodes: usize, version: u8, percent: f64) -> Config {
    let mut config = config(nodes);
    config.strategy = Strategy::Grid;
    config.payload_bytes = PAYLOAD_BYTES as u16;
    config.datagram_bytes = 1452;
    config.window = Window::Percent(percent);
    config.wire_version = version;
    config
}

/// Nodes that write these versions in turn, and all that they have said.
struct Talk {
    cluster: Cluster,
    speech: Speech,
    said: BTreeMap<(usize, u32, u32), Vec<u8>>,
    unit: u32,
}

impl Talk {
    fn new(nodes: usize, versions: &[u8], speech: Speech) -> Self {
        Self::with_windows(nodes, versions, speech, PERCENT)
    }

    fn with_windows(nodes: usize, versions: &[u8], speech: Speech, percent: f64) -> Self {
        let roster: Vec<Member> = (0..nodes).map(member).collect();
        let make = |n: usize| {
            let config = settings(nodes, versions[n % versions.len()], percent);
            node(&config, n, &roster, 1, Instant::EPOCH)
        };
        let cluster = Cluster::of((0..nodes).map(make).collect());
        Self { cluster, speech, said: BTreeMap::new(), unit: 0 }
    }

    /// Lets units pass; after each all that is held is held against what was said.
    fn run(&mut self, units: u32) {
        for _ in 0..units {
            self.unit_with_look(UNIT, |_| ());
        }
    }

    /// Lets a unit pass, and looks at the cluster after so much of it.
    fn unit_with_look(&mut self, part: Duration, look: impl FnOnce(&Cluster)) {
        self.publish();
        self.cluster.run_for(part);
        look(&self.cluster);
        self.cluster.run_for(UNIT.saturating_sub(part));
        self.unit += 1;
        self.note_said();
        self.check();
    }

    /// Gives the nodes clocks that agree, with rounds in the middle of what is a unit here.
    fn set_clocks(&mut self) {
        for node in self.cluster.nodes.iter_mut().flatten() {
            node.set_clock(Instant::EPOCH, UNIT.as_micros() as i64 / 2);
        }
        // The first rounds are at any time: two of a node may be in one unit.
        self.publish();
        for _ in 0..256 {
            self.cluster.run_for(UNIT / 128);
            self.note_said();
        }
    }

    fn publish(&mut self) {
        let (speech, unit) = (self.speech, self.unit);
        for (n, node) in self.cluster.nodes.iter_mut().enumerate() {
            if let Some(node) = node {
                node.publish(&speech(n, unit)).expect("it fits");
            }
        }
    }

    fn note_said(&mut self) {
        let now = self.cluster.now;
        for (n, node) in self.cluster.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let own = node.entry(&name(n), now).expect("it knows itself");
            let stamp = (n, own.incarnation, own.sequence.unwrap_or_default());
            self.said.insert(stamp, own.payload.to_vec());
        }
    }

    fn check(&self) {
        let now = self.cluster.now;
        for node in self.cluster.up() {
            for (n, view) in (0..).map_while(|n| Some((n, node.entry(&name(n), now)?))) {
                let Some(sequence) = view.sequence.filter(|&sequence| sequence > 0) else {
                    continue;
                };
                let said = self.said.get(&(n, view.incarnation, sequence));
                assert_eq!(said.map(|said| &said[..]), Some(view.payload), "{n} {sequence}");
            }
        }
    }

    fn sum(&self, of: fn(&Counters) -> u64) -> u64 {
        self.cluster.up().map(|node| of(node.counters())).sum()
    }

    /// Bytes that an entry takes in so many units, with all that is sent beside.
    fn bytes_an_entry(&mut self, units: u32) -> f64 {
        let counted = |talk: &Self| {
            [|of: &Counters| of.bytes_sent, |of: &Counters| of.entries_sent].map(|of| talk.sum(of))
        };
        let before = counted(self);
        self.run(units);
        let [bytes, entries] = counted(self);
        (bytes - before[0]) as f64 / (entries - before[1]) as f64
    }
}

#[test]
fn changes_take_a_fraction_of_the_bytes_and_none_is_passed_over() {
    let [mut whole, mut changes] = [2, 3].map(|version| Talk::new(40, &[version], usual));
    let [before, after] = [&mut whole, &mut changes].map(|talk| {
        talk.run(30);
        talk.bytes_an_entry(30)
    });
    // Frames and requests are in it; what is saved goes into more answers.
    assert!(after < 0.75 * before, "{after} bytes an entry, {before} whole");
    assert_eq!(changes.cluster.known_min(), 40);
    let [before, after] = [&whole, &changes].map(|talk| talk.cluster.ages().0);
    assert!(after < before, "{after} units, {before} whole");
    let counted = changes.sum(|counters| counters.entries_disagreed);
    let sent = changes.sum(|counters| counters.entries_sent);
    assert!(counted * 200 < sent, "{counted} of {sent} by other bases than are held");
    assert_eq!(whole.sum(|counters| counters.bases_sent + counters.bases_taken), 0);
}

/// Nodes whose clocks agree and that send changes: what an entry takes in their answers is given to
/// the model, which says ages and bytes of windows of all sizes.
#[test]
fn the_model_knows_what_changes_cost() {
    const NODES: usize = 96;
    const UNITS: u32 = 160;
    for percent in [15.0, 30.0, 60.0] {
        let mut talk = Talk::with_windows(NODES, &[3], usual, percent);
        talk.set_clocks();
        talk.run(80);
        let counted = |talk: &Talk| {
            let of: [fn(&Counters) -> u64; 3] = [
                |counters| counters.answer_bytes_received,
                |counters| counters.answer_entries_received,
                |counters| counters.bytes_sent,
            ];
            of.map(|of| talk.sum(of) as f64)
        };
        let (before, mut age) = (counted(&talk), 0.0);
        for step in 0..UNITS {
            // Moments that fill the unit evenly.
            let part = UNIT.mul_f64(f64::from(step) * 0.618_034 % 1.0);
            talk.unit_with_look(part, |cluster| age += cluster.ages().0 / f64::from(UNITS));
        }
        let after = counted(&talk);
        let [bytes, entries, sent] = [0, 1, 2].map(|at| after[at] - before[at]);
        let config = settings(NODES, 3, percent);
        let (entry_bytes, frame_bytes) = (ENTRY_OVERHEAD_BYTES + PAYLOAD_BYTES, frame_bytes(3));
        let room = usize::from(config.datagram_bytes) - overhead_bytes(3);
        let whole = Budget {
            entry_bytes,
            frame_bytes,
            datagram_entries: room / entry_bytes,
            window_entries: config.window.entries(NODES),
            changes: None,
        };
        let an_entry = (bytes / entries).round() as usize;
        let forecast = |budget: &Budget| model::forecast(Strategy::Grid, NODES, budget, 0.0);
        let found = forecast(&whole.with_changes(an_entry, room));
        let sent = sent / (NODES as f64 * f64::from(UNITS));
        // Nodes count the own entry too, whose age is half a unit on average.
        let age = (age * NODES as f64 - 0.5) / (NODES as f64 - 1.0);
        println!(
            "{percent} %: {an_entry} bytes an entry; age {age:.3}, by the model {:.3}; bytes a unit \
             {sent:.0}, by the model {:.0}; age of whole entries {:.3}",
            found.age_avg_units,
            found.bytes,
            forecast(&whole).age_avg_units
        );
        assert!((age / found.age_avg_units - 1.0).abs() < 0.1, "{age} {found:?}");
        assert!((sent / found.bytes - 1.0).abs() < 0.1, "{sent} {}", found.bytes);
    }
}

#[test]
fn nodes_of_all_versions_know_each_other_whatever_is_lost() {
    let mut talk = Talk::new(36, &[1, 2, 3], usual);
    talk.cluster.delivers = |from, to, datagram| {
        let number = u64::from(datagram[22]) << 8 | (from * 37 + to) as u64;
        tidings_primitives::chance::mix(number) % 8 > 0
    };
    talk.run(40);
    // One is gone and comes back with nothing, in its next life.
    talk.cluster.crash(2);
    talk.run(10);
    let roster: Vec<Member> = (0..36).map(member).collect();
    let again = node(&settings(36, 3, PERCENT), 2, &roster, 2, talk.cluster.now);
    talk.cluster.start(2, again);
    talk.run(30);
    assert_eq!(talk.cluster.known_min(), 36);
    assert!(talk.cluster.ages().0 < 3.0, "{:?}", talk.cluster.ages());
    let taken = talk.sum(|counters| counters.bases_taken);
    assert!(taken > 0 && talk.sum(|counters| counters.dropped_malformed) == 0, "{taken}");
    // Who reads no changes is sent none.
    assert_eq!(talk.sum(|counters| counters.dropped_version), 0);
}

#[test]
fn a_member_that_goes_back_to_an_earlier_version_is_sent_whole_entries() {
    let mut talk = Talk::new(8, &[3], usual);
    talk.run(20);
    talk.cluster.crash(5);
    let roster: Vec<Member> = (0..8).map(member).collect();
    let back = node(&settings(8, 1, PERCENT), 5, &roster, 2, talk.cluster.now);
    talk.cluster.start(5, back);
    talk.run(20);
    let dropped = talk.cluster.node(5).counters().dropped_version;
    talk.run(20);
    assert_eq!(talk.cluster.node(5).counters().dropped_version, dropped, "all have heard of it");
    assert_eq!(talk.cluster.known_min(), 8);
}

#[test]
fn what_is_all_new_each_unit_costs_no_more_than_whole_entries() {
    let [mut whole, mut changes] = [2, 3].map(|version| Talk::new(64, &[version], all_new));
    for talk in [&mut whole, &mut changes] {
        for node in &mut talk.cluster.nodes {
            assert!(node.as_ref().is_some_and(|node| node.window_entries() == 32));
        }
        talk.run(20);
    }
    let [before, after] = [&mut whole, &mut changes].map(|talk| talk.bytes_an_entry(20));
    assert!(after <= before, "{after} bytes an entry, {before} whole");
}

/// Nodes whose readings are all new each unit, with version 1 and with version 3: the same bytes a
/// unit, and entries that are no older.
#[test]
fn what_is_all_new_is_no_older_than_with_version_1() {
    const UNITS: u32 = 160;
    let [before, after] = [1, 3].map(|version| {
        let mut talk = Talk::with_windows(96, &[version], all_new, 20.0);
        talk.set_clocks();
        talk.run(80);
        let (sent, mut age) = (talk.sum(|counters| counters.bytes_sent), 0.0);
        for step in 0..UNITS {
            let part = UNIT.mul_f64(f64::from(step) * 0.618_034 % 1.0);
            talk.unit_with_look(part, |cluster| age += cluster.ages().0 / f64::from(UNITS));
        }
        let sent = talk.sum(|counters| counters.bytes_sent) - sent;
        (age, sent as f64 / (96.0 * f64::from(UNITS)))
    });
    println!("units and bytes a unit: {before:?} with version 1, {after:?} with version 3");
    assert!(after.0 <= before.0 && after.1 <= 1.005 * before.1, "{after:?} {before:?}");
}

/// Readings that nodes of even and odd numbers settle within other tolerances, or not at all.
fn settled(node: usize, unit: u32) -> Vec<u8> {
    let tolerances = if node % 2 == 0 { Tolerances::default() } else { Tolerances::exact() };
    let busy = f64::from((unit * 7 + node as u32 * 13) % 100) + 0.37;
    let state = NodeState { cpu_busy_percent: Some(busy), ..NodeState::default() };
    let mut payload = vec![0; PAYLOAD_BYTES];
    let mut settled = Settled::default();
    settled.encode(&tolerances, &state, &mut payload).expect("it has room");
    payload
}

#[test]
fn nodes_with_other_tolerances_read_what_was_said() {
    let mut talk = Talk::new(24, &[3], settled);
    talk.run(40);
    assert_eq!(talk.cluster.known_min(), 24);
    assert_eq!(talk.sum(|counters| counters.dropped_malformed), 0);
    assert!(talk.sum(|counters| counters.bases_taken) > 0);
}

/// Payloads of which a longer one comes and goes: a base that says more than a datagram has room
/// for is not used.
#[test]
fn payloads_of_another_length_are_told_all_the_same() {
    fn short(node: usize, unit: u32) -> Vec<u8> {
        let mut payload = usual(node, unit);
        payload.truncate(if (10..20).contains(&(unit % 30)) { 64 } else { 30 });
        payload.iter_mut().skip(30).for_each(|byte| *byte = 9);
        payload
    }
    let roster: Vec<Member> = (0..6).map(member).collect();
    let make = |n: usize| {
        let mut config = settings(6, 3, PERCENT);
        (config.payload_bytes, config.payload_bytes_most) = (30, 64);
        let mut node = node(&config, n, &roster, 1, Instant::EPOCH);
        if n == 0 {
            node.set_payload_bytes(64).expect("there is room");
        }
        node
    };
    let cluster = Cluster::of((0..6).map(make).collect());
    let speech: Speech =
        |node, unit| if node == 0 { short(0, unit) } else { usual(node, unit)[..30].to_vec() };
    let mut talk = Talk { cluster, speech, said: BTreeMap::new(), unit: 0 };
    talk.run(90);
    assert_eq!(talk.cluster.known_min(), 6);
    assert!(talk.cluster.ages().0 < 2.0);
}

#[test]
fn the_bound_on_memory_knows_of_bases() {
    let [whole, changes] =
        [2, 3].map(|version| settings(100, version, PERCENT).memory_bound_bytes());
    assert_eq!(changes - whole, 100 * (2 * PAYLOAD_BYTES as u64 + 40));
}
