//! An agent states its memory bound, and stays within it with a full roster and many readers.

use std::fs;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tidings_experiment::agents::{Agent, Cluster};
use tidings_gossip::payload::NodeState;
use tidings_gossip::wire::header::{Header, Kind, cluster_hash};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::{Incarnation, KeyRing, NodeId};

const NODES: usize = 8_192;
const PAYLOAD_BYTES: usize = 64;
/// Entries in one datagram.
const ENTRIES: usize = 16;
/// Clients that request all nodes at the same time, and how often each.
const READERS: usize = 12;
const READS: usize = 4;

fn name(n: usize) -> String {
    format!("node-with-a-rather-long-name-{n:04}")
}

/// The entries of sixteen nodes, as node 1 would send them, with user metrics in each.
fn window(first: usize, counter: u64) -> Vec<u8> {
    let mut state = NodeState { cores: Some(256), load1: Some(1.0 / 3.0), ..NodeState::default() };
    state.user = [("note".to_owned(), "a\"\\b".to_owned())].into();
    let mut payload = [0; PAYLOAD_BYTES];
    state.encode(&mut payload).expect("it fits");
    let mut body = vec![1, 0, PAYLOAD_BYTES as u8, 0, ENTRIES as u8, 0];
    for n in first..first + ENTRIES {
        body.extend(NodeId::of_name(&name(n), 0).0.to_le_bytes());
        body.extend([1, 0, 0, 1, 0, 0, 0, 0]);
        body.extend(payload);
    }
    let header = Header {
        version: 1,
        kind: Kind::Window,
        cluster: cluster_hash("tidings"),
        sender: NodeId::of_name(&name(1), 0),
        incarnation: Incarnation::new(1),
        key_id: 0,
        salt: 5,
        counter,
    };
    let mut datagram = [&header.to_bytes()[..], &body, &[0; TAG_BYTES]].concat();
    KeyRing::open("tidings").seal(&mut datagram);
    datagram
}

/// A number of KiB in /proc/PID/status, in bytes.
fn kept_bytes(agent: &Agent, field: &str) -> u64 {
    let path = format!("/proc/{}/status", agent.status().pid);
    let text = fs::read_to_string(path).expect("a running process");
    let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("a field of it");
    let kib = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    kib.parse::<u64>().expect("a number") * 1024
}

#[test]
fn an_agent_with_8192_members_stays_within_its_memory_bound() {
    let mut cluster = Cluster::new();
    let port = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    // There is no listener at these addresses; a sender is accepted by the key alone.
    let address = |n: usize| format!("127.1.{}.{}:9616", n / 250, n % 250 + 1);
    let lines = (0..NODES).map(|n| format!("{}={}\n", name(n), address(n)));
    let roster = cluster.write("roster", &lines.collect::<String>());
    let (own, nodes) = (name(0), NODES.to_string());
    // Rounds are rare: the agent's work between them is measured.
    let flags = ["--roster", &roster, "--max-nodes", &nodes, "--interval", "60s"];
    let flags = [&flags[..], &["--forget-after", "2h", "--death-after", "off"]].concat();
    cluster.start(&own, &flags);
    let to = cluster.agent(&own).log().iter().find_map(|line| {
        let (_, rest) = line.split_once("listens on ")?;
        rest.split([':', ';', ' ']).nth(1)?.parse::<u16>().ok()
    });
    let to = to.expect("it warns that its roster has another port, and names its own");
    let mut counter = 0;
    for first in (0..NODES).step_by(ENTRIES) {
        counter += 1;
        port.send_to(&window(first, counter), ("127.0.0.1", to)).expect("loopback");
        if counter % 32 == 0 {
            let known = first + ENTRIES;
            cluster.until("the entries are merged", |cluster| {
                (cluster.agent(&own).status().known >= known).then_some(())
            });
        }
    }
    let agent = cluster.agent(&own);
    assert_eq!(agent.status().known, NODES);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                for _ in 0..READS {
                    // A client without a place in two seconds gets an error, which is an answer
                    // too.
                    if let Ok(nodes) = agent.client().nodes() {
                        assert_eq!(nodes.nodes.len(), NODES);
                        ended.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(ended.load(Ordering::Relaxed), "some of them were given the nodes");
    let bound = agent.status().memory_bound_bytes;
    let (most, now) = (kept_bytes(agent, "VmHWM"), kept_bytes(agent, "VmRSS"));
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!("stated {:.1} MiB, at most {:.1}, now {:.1}", mib(bound), mib(most), mib(now));
    assert!(most <= bound, "{most} bytes are more than the {bound} that are stated");
    assert!(bound < 12 * most, "{bound} bytes say nothing about {most}");
}

#[test]
fn a_configuration_that_may_need_more_than_there_is_does_not_start() {
    let cluster = Cluster::new();
    let flags = ["--max-nodes", "1048576", "--payload-bytes", "1024", "--check"];
    let total = fs::read_to_string("/proc/meminfo").expect("Linux has it");
    let total = total.lines().next().and_then(|line| line.split_whitespace().nth(1));
    let total_gib = total.and_then(|kib| kib.parse::<u64>().ok()).expect("MemTotal") >> 20;
    let checked = cluster.refused("n1", &flags);
    let said = String::from_utf8_lossy(&checked.stderr);
    if total_gib < 26 || !checked.status.success() {
        assert_eq!(checked.status.code(), Some(2), "{said}");
        assert!(said.contains("MiB of memory, and ") && said.contains("lower max_nodes"), "{said}");
    } else {
        let said = String::from_utf8_lossy(&checked.stdout);
        assert!(said.contains("MiB of memory at most"), "there is as much: {said}");
    }
}
