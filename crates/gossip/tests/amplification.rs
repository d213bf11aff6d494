//! Nobody without the key has a node send more than he sends himself.
//!
//! All that a cluster sends is recorded. Then somebody sends each datagram again: to its receiver,
//! to everybody else, to nodes that have just started and know no counters, and from addresses of
//! his choice. What a node sends at once because of a datagram must not have more bytes than that
//! has. What docs/concepts/threats.md names as exceptions is bounded here as it says there.

mod cluster;

use std::cell::RefCell;

use cluster::{Cluster, address, config, member, node};
use tidings_gossip::wire::ENTRY_OVERHEAD_BYTES;
use tidings_gossip::{
    Address, ColonyConfig, ColonyId, Config, Event, Instant, Node, Strategy, Window,
};

/// A datagram and between whom it went.
#[derive(Clone)]
struct Recorded {
    to: usize,
    bytes: Vec<u8>,
}

thread_local! {
    static RECORDED: RefCell<Vec<Recorded>> = const { RefCell::new(Vec::new()) };
}

/// What is sent, until now; and what arrives: nine of ten.
fn record(_: usize, to: usize, datagram: &[u8]) -> bool {
    RECORDED.with_borrow_mut(|all| {
        all.push(Recorded { to, bytes: datagram.to_vec() });
        all.len() % 10 != 0
    })
}

fn recorded() -> Vec<Recorded> {
    RECORDED.with_borrow_mut(std::mem::take)
}

const NODES: usize = 12;
/// Where a forger would like things to be sent.
const VICTIM: usize = 4_711;
/// Kinds that are answered with more than they are: a pull, and half a window.
const PULL: u8 = 4;
const CHECKED: u8 = 12;
const WINDOW: u8 = 1;

fn configuration(strategy: Strategy, version: u8) -> Config {
    let mut config = config(NODES);
    config.strategy = strategy;
    config.datagram_bytes = 1_200;
    // In a grid as small as this one, less would leave nothing for pulls.
    config.window = Window::Percent(100.0);
    config.payload_bytes = 64;
    config.wire_version = version;
    config.death_after = Some(config.interval * 10);
    config
}

const STRATEGIES: [Strategy; 5] =
    [Strategy::Uniform, Strategy::Spread, Strategy::PushPull, Strategy::Staggered, Strategy::Grid];

/// What a node does at once because of a datagram.
#[derive(Default)]
struct Caused {
    bytes: usize,
    to: Vec<Address>,
    /// Deaths it heard of.
    deaths: usize,
}

fn caused(node: &mut Node, now: Instant, from: usize, datagram: &[u8]) -> Caused {
    let (mut buffer, mut caused) = (vec![0; 65_507], Caused::default());
    node.handle_datagram(now, address(from), &mut datagram.to_vec());
    while let Some(out) = node.poll_transmit(now, &mut buffer) {
        caused.bytes += out.bytes;
        caused.to.push(out.to);
    }
    let died = |event| matches!(event, Event::Died(..));
    caused.deaths = std::iter::from_fn(|| node.poll_event()).filter(|e| died(e.clone())).count();
    caused
}

/// Runs a cluster, and gives it with all that was sent. Node 5 is killed if `kills`.
fn run(config: &Config, by_seeds: bool, kills: bool) -> (Cluster, Vec<Recorded>) {
    recorded();
    let mut cluster = if by_seeds {
        Cluster::with_seed(config, NODES)
    } else {
        Cluster::with_roster(config, NODES)
    };
    cluster.delivers = record;
    cluster.run(24);
    if kills {
        cluster.crash(5);
        cluster.run(24);
    }
    // Nothing that nodes still want to send shall count for what comes now.
    for n in (0..NODES).filter(|&n| !kills || n != 5) {
        cluster.flush(n);
    }
    (cluster, recorded())
}

/// Whether a datagram asks for a window, as its length shows where all that is sealed is equal.
fn asks_for_a_window(config: &Config, datagram: &[u8]) -> bool {
    datagram[3] == PULL || (datagram[3] == WINDOW && config.strategy == Strategy::PushPull)
}

fn all_settings() -> impl Iterator<Item = (Config, bool)> {
    let each = |strategy| [1, 2, 3].map(|version| configuration(strategy, version));
    STRATEGIES
        .into_iter()
        .flat_map(each)
        .flat_map(|config| [(config.clone(), false), (config, true)])
}

/// To whom it was made for, once more: nothing at all comes of it, wherever it seems to come from.
#[test]
fn recordings_sent_again_to_their_receiver_cause_nothing() {
    for (config, by_seeds) in all_settings() {
        let (mut cluster, recordings) = run(&config, by_seeds, false);
        assert!(recordings.len() > 300);
        if config.wire_version == 3 && config.strategy == Strategy::Grid {
            for kind in [WINDOW, PULL] {
                let is_of_changes = |one: &&Recorded| (one.bytes[2], one.bytes[3]) == (3, kind);
                let count = recordings.iter().filter(is_of_changes).count();
                assert!(count > 50, "kind {kind}: {count}");
            }
        }
        let now = cluster.now;
        // The last ones may lie before what has arrived, and be new: they come first, and count
        // not.
        for again in [false, true] {
            for (at, one) in recordings.iter().enumerate() {
                let caused = caused(cluster.node(one.to), now, VICTIM + at % 3, &one.bytes);
                let quiet = caused.bytes == 0 || !again;
                assert!(quiet, "{:?} {by_seeds} kind {}", config.strategy, one.bytes[3]);
            }
        }
    }
}

/// To everybody else, and to nodes that have just started: no more bytes than it has. In version 1
/// a pull and half a window are excepted: they are answered to the member's own address, as often
/// as its share allows, 64 times and 16 times a unit. In later ones they say for whom they are.
#[test]
fn copies_cause_no_more_than_they_are() {
    for (config, by_seeds) in all_settings() {
        let (mut cluster, recordings) = run(&config, by_seeds, false);
        let now = cluster.now;
        let roster: Vec<_> = (0..NODES).map(member).collect();
        let roster = if by_seeds { &[][..] } else { &roster };
        let mut fresh: Vec<Node> = (0..NODES).map(|n| node(&config, n, roster, 2, now)).collect();
        let mut in_all = 0;
        for (n, begun) in fresh.iter_mut().enumerate() {
            let mut answered = 0;
            for node in [cluster.node(n), begun] {
                for (at, one) in recordings.iter().enumerate() {
                    let caused = caused(node, now, VICTIM + at % 3, &one.bytes);
                    if caused.bytes <= one.bytes.len() {
                        continue;
                    }
                    let what = format!("{:?} {by_seeds} kind {}", config.strategy, one.bytes[3]);
                    // The answer to a check that was never answered is the first one.
                    let is_first = one.bytes[3] == CHECKED && one.to == n;
                    let excepted = is_first || asks_for_a_window(&config, &one.bytes);
                    assert!(excepted, "{what}: {} bytes of {}", caused.bytes, one.bytes.len());
                    let forged = |to: &Address| (0..3).any(|n| *to == address(VICTIM + n));
                    assert!(!caused.to.iter().any(forged), "{what}: to whom a forger names");
                    // Who had heard nothing of anybody names no life of the receiver.
                    assert!(config.wire_version == 1 || one.to == n, "{what}: no version 1");
                    answered += 1;
                }
            }
            assert!(answered <= 2 * 64 * (NODES - 1), "{answered}");
            in_all += answered;
        }
        let asks = config.strategy == Strategy::Grid && config.wire_version == 1;
        assert!(in_all > 0 || !asks, "pulls are among the recordings");
    }
}

/// With deaths, news of them is passed on: once each, to four members. And who is held as dead
/// while a recording shows it alive is probed, which is eight bytes more than the least window.
#[test]
fn news_of_deaths_is_passed_on_once() {
    for (config, by_seeds) in all_settings() {
        let (mut cluster, recordings) = run(&config, by_seeds, true);
        let now = cluster.now;
        let roster: Vec<_> = (0..NODES).map(member).collect();
        let roster = if by_seeds { &[][..] } else { &roster };
        let mut fresh = node(&config, 1, roster, 2, now);
        let entry = ENTRY_OVERHEAD_BYTES + usize::from(config.payload_bytes);
        let (tombstone, probe) = (64 + entry, 72 + entry);
        let mut deaths = 0;
        for node in [cluster.node(1), &mut fresh] {
            for (at, one) in recordings.iter().enumerate() {
                let warned = node.counters().probes_sent;
                let caused = caused(node, now, VICTIM + at % 3, &one.bytes);
                let warned = (node.counters().probes_sent - warned) as usize;
                deaths += caused.deaths;
                let most = one.bytes.len() + caused.deaths * 4 * tombstone + warned * probe;
                let excepted = asks_for_a_window(&config, &one.bytes);
                assert!(caused.bytes <= most || excepted, "kind {}", one.bytes[3]);
            }
        }
        assert!(deaths <= 2, "{deaths} of one node, which died once");
    }
}

/// Between colonies there is no replay window: a call is answered each time, and a visit too,
/// within the share of the colony that calls and with no more bytes; answers that nobody asked for
/// are not.
#[test]
fn what_passes_between_colonies_is_answered_with_no_more() {
    for version in [1, 2, 3] {
        let [mut here, mut there] = [0usize, 1].map(|n| {
            let mut config = configuration(Strategy::Grid, version);
            config.window = Window::Percent(100.0);
            config.catch_up = false;
            config.colony = Some(ColonyConfig { id: ColonyId(n as u32 + 1), max_colonies: 2 });
            let mut node = node(&config, n, &[member(n)], 1, Instant::EPOCH);
            node.introduce(ColonyId(2 - n as u32), &[address(1 - n)]);
            node
        });
        let now = Instant::EPOCH + here.config().interval;
        here.handle_timeout(now);
        assert!(here.visit(ColonyId(2)));
        let mut buffer = vec![0; 1_200];
        let mut requests = Vec::new();
        while let Some(out) = here.poll_transmit(now, &mut buffer) {
            requests.push(buffer[..out.bytes].to_vec());
        }
        assert_eq!(requests.iter().map(|one| one[3]).collect::<Vec<_>>(), [5, 7]);
        for request in &requests {
            let sent: Vec<_> =
                (0..100).map(|_| caused(&mut there, now, VICTIM, request).bytes).collect();
            assert!(sent.iter().all(|&bytes| bytes <= request.len()), "{sent:?}");
            let answered = sent.iter().filter(|&&bytes| bytes > 0).count();
            assert_eq!(answered, if request[3] == 5 { 64 } else { 100 });
        }
        assert_eq!(there.counters().dropped_excess, 36);
    }
}
