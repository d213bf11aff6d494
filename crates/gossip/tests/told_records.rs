//! Records of colonies as changes by bases: colonies of nodes that write versions 2 and 3 side by
//! side know each other as before, in fewer bytes, and whatever is lost, doubled and reordered,
//! nobody holds an aggregate that no member of its colony made.

mod cluster;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Cluster, UNIT, address, config, member};
use tidings_gossip::payload::NodeState;
use tidings_gossip::{
    ColonyConfig, ColonyId, Config, Counters, Incarnation, Instant, KeyRing, Member, Node,
    Strategy, Window,
};
use tidings_primitives::Chance;

const COLONIES: usize = 4;
const MEMBERS: usize = 32;

fn id(colony: usize) -> ColonyId {
    ColonyId(1 + colony as u32)
}

/// Entries of a window that leave enough for pulls, and that leave little: most goes to records.
const WIDE: u32 = 200;
const NARROW: u32 = 14;

fn colony_config(n: usize, version: u8, window: u32) -> Config {
    let mut config = config(MEMBERS);
    config.payload_bytes = 64;
    config.datagram_bytes = 1400;
    config.window = Window::Entries(window);
    config.strategy = Strategy::Grid;
    config.catch_up = false;
    config.wire_version = version;
    let max_colonies = COLONIES as u32;
    config.colony = Some(ColonyConfig { id: id(n / MEMBERS), max_colonies });
    config
}

fn start(n: usize, version: u8, window: u32) -> Node {
    let config = colony_config(n, version, window);
    let first = n / MEMBERS * MEMBERS;
    let roster: Vec<Member> = (first..first + MEMBERS).map(member).collect();
    let keys = KeyRing::open(&config.cluster);
    let (life, seed) = (Incarnation::new(1), 0x92 + n as u64);
    let mut node = Node::new(config, keys, member(n), &roster, life, seed, Instant::EPOCH)
        .expect("the configuration is valid");
    for other in (0..COLONIES).filter(|&other| other != n / MEMBERS) {
        let contacts = [address(other * MEMBERS), address(other * MEMBERS + 1)];
        assert!(node.introduce(id(other), &contacts));
    }
    node
}

/// Colonies whose nodes write these versions in turn, after `units`, in each of which one node in
/// 16 says another load.
fn colonies(versions: &[u8], delivers: cluster::Fate, units: u32, window: u32) -> Cluster {
    let all = (0..COLONIES * MEMBERS).map(|n| start(n, versions[n % versions.len()], window));
    let mut cluster = Cluster::of(all.collect());
    cluster.delivers = delivers;
    let mut chance = Chance::new(9);
    for unit in 0..units {
        for n in 0..COLONIES * MEMBERS {
            if unit > 0 && chance.below(16) > 0 {
                continue;
            }
            let mut payload = [0; 64];
            let load1 = Some(chance.real() * 8.0);
            let state = NodeState {
                cores: Some(128),
                load1,
                cpu_busy_percent: Some((n % 32) as f64),
                mem_available_bytes: Some((1 + n as u64) << 30),
                temperature_c: Some((40 + n % 32) as f64),
                power_w: Some((100 + n) as f64),
                ..NodeState::default()
            };
            state.encode(&mut payload).expect("64 bytes hold the readings");
            cluster.node(n).publish(&payload).expect("it has the length of payloads");
        }
        cluster.run(1);
    }
    cluster
}

fn sum(cluster: &Cluster, of: impl Fn(&Counters) -> u64) -> u64 {
    cluster.up().map(|node| of(node.counters())).sum()
}

/// Mean age in units of other colonies' aggregates; none may be lacking, and all are of all nodes.
fn mean_age(cluster: &Cluster) -> f64 {
    let (mut ages, mut count) = (Duration::ZERO, 0);
    for node in cluster.up() {
        for view in node.other_colonies(cluster.now) {
            let aggregate = view.aggregate().expect("no aggregate is lacking");
            assert_eq!(aggregate.nodes() as usize, MEMBERS);
            ages += view.age.expect("it has an age");
            count += 1;
        }
    }
    assert_eq!(count, COLONIES * MEMBERS * (COLONIES - 1));
    ages.as_secs_f64() / f64::from(count as u32) / UNIT.as_secs_f64()
}

#[test]
fn colonies_of_two_versions_know_each_other_as_before() {
    let all = |_: usize, _: usize, _: &[u8]| true;
    let [whole, mixed, changed] =
        [&[2][..], &[2, 3], &[3]].map(|versions| colonies(versions, all, 60, WIDE));
    let ages = [&whole, &mixed, &changed].map(mean_age);
    assert!(ages[1] < ages[0] + 0.2 && ages[2] < ages[0] + 0.1, "{ages:?}");
    let sent = |cluster| sum(cluster, |counters| counters.records_changed_sent);
    assert_eq!(sent(&whole), 0);
    assert!(sent(&mixed) > 0, "those that read changes get them");
    let all = sum(&changed, |counters| counters.records_sent);
    assert!(sent(&changed) * 10 > all * 8, "{} of {all}", sent(&changed));
    for cluster in [&whole, &mixed, &changed] {
        let counted = [
            sum(cluster, |counters| counters.records_refused),
            sum(cluster, |counters| counters.dropped_malformed),
            sum(cluster, |counters| counters.dropped_version),
        ];
        assert_eq!(counted, [0; 3]);
        let passed_over = sum(cluster, |counters| counters.records_disagreed);
        assert!(passed_over * 100 <= all, "{passed_over} of {all} passed over");
    }
    let a_record = |cluster| {
        let bytes = sum(cluster, |counters| counters.answer_record_bytes_received);
        bytes / sum(cluster, |counters| counters.answer_records_received)
    };
    let bytes = [&whole, &changed].map(a_record);
    assert!(bytes[1] * 3 < bytes[0] * 2, "{bytes:?} bytes a record in answers");
    // Who does not write version 3 has no room for bases.
    let bound = |version| colony_config(0, version, WIDE).memory_bound_bytes();
    assert!(bound(2) + 500 * COLONIES as u64 <= bound(3), "{} {}", bound(2), bound(3));
}

/// A push of a record to a row costs more than a node earns. Representatives paid for theirs alone,
/// and never pulled.
#[test]
fn who_represents_others_pulls_like_anyone_and_all_keep_to_the_bytes() {
    let all = |_: usize, _: usize, _: &[u8]| true;
    for version in [2, 3] {
        let mut cluster = colonies(&[version], all, 60, NARROW);
        let sums = |cluster: &Cluster| sum(cluster, |counters| counters.bytes_sent);
        let (bytes, units) = (sums(&cluster), 40);
        cluster.run(units);
        let pulls: Vec<u64> = cluster.up().map(|node| node.counters().pulls_sent).collect();
        let (least, all) =
            (pulls.iter().min().expect("there are nodes"), pulls.iter().sum::<u64>());
        assert!(least * 2 * pulls.len() as u64 > all, "version {version}: {pulls:?}");
        let sent = (sums(&cluster) - bytes) as f64 / f64::from(units) / pulls.len() as f64;
        assert!(sent < 1.05 * f64::from(NARROW * 76 + 50), "version {version}: {sent} a unit");
    }
}

/// The byte of a datagram that is its kind, and a reply's.
const KIND_AT: usize = 3;
const REPLY: u8 = 6;

/// The aggregates that a node holds.
fn held(node: &Node, now: Instant) -> impl Iterator<Item = (ColonyId, Vec<u8>)> + '_ {
    let views = node.other_colonies(now).filter(|view| view.age.is_some());
    views.map(|view| (view.id, view.aggregate_bytes().to_vec()))
}

/// One datagram in five is lost, one in five comes twice, and some are more than a unit late.
#[test]
fn loss_doubling_and_reordering_invent_no_aggregate() {
    for seed in 0..3 {
        let mut chance = Chance::new(seed);
        let mut nodes: Vec<Node> = (0..COLONIES * MEMBERS).map(|n| start(n, 3, WIDE)).collect();
        let mut made = BTreeSet::new();
        let mut under_way: BTreeMap<(u32, u64), (usize, usize, Vec<u8>)> = BTreeMap::new();
        let (mut buffer, mut sent) = (vec![0; 65_507], 0u64);
        for sixteenth in 1..=16 * 30 {
            let now = Instant::EPOCH + UNIT * sixteenth / 16;
            let later = under_way.split_off(&(sixteenth + 1, 0));
            for (_, (from, to, mut datagram)) in std::mem::replace(&mut under_way, later) {
                let (kind, node) = (datagram.get(KIND_AT).copied(), &mut nodes[to]);
                node.handle_datagram(now, address(from), &mut datagram);
                if kind == Some(REPLY) {
                    made.extend(held(node, now));
                }
                let invented = held(node, now).find(|aggregate| !made.contains(aggregate));
                assert_eq!(invented, None, "seed {seed}, sixteenth {sixteenth}");
            }
            for (from, node) in nodes.iter_mut().enumerate() {
                if sixteenth % 16 == 1 && chance.below(4) == 0 {
                    let mut payload = [0; 64];
                    let load1 = Some(chance.real() * 8.0);
                    let state = NodeState { load1, ..NodeState::default() };
                    state.encode(&mut payload).expect("64 bytes hold a reading");
                    node.publish(&payload).expect("it has the length of payloads");
                }
                node.handle_timeout(now);
                while let Some(out) = node.poll_transmit(now, &mut buffer) {
                    let to = out.to.as_bytes().try_into().map(u32::from_le_bytes);
                    let to = to.expect("addresses have four bytes") as usize;
                    for datagram in buffer[..out.bytes].chunks(out.segment_bytes) {
                        let copies = [0, 1, 1, 1, 2][chance.below(5)];
                        for _ in 0..copies {
                            let most = [2, 2, 24][chance.below(3)];
                            let at = sixteenth + 1 + chance.below(most) as u32;
                            under_way.insert((at, sent), (from, to, datagram.to_vec()));
                            sent += 1;
                        }
                    }
                }
            }
        }
        let counted =
            |of: fn(&Counters) -> u64| nodes.iter().map(|n| of(n.counters())).sum::<u64>();
        let counts = [
            counted(|counters| counters.records_changed_sent),
            counted(|counters| counters.record_bases_taken),
            counted(|counters| counters.records_disagreed),
            counted(|counters| counters.records_sent),
            counted(|counters| counters.records_news),
        ];
        assert!(counts[0] > 1_000 && counts[1] > 100 && counts[2] > 0, "{counts:?}");
        assert_eq!(counted(|counters| counters.records_refused), 0);
    }
}
