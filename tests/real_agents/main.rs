//! Agents as real processes: real sockets, real signals, real files.
//!
//! Each test starts agents of its own on ports that the kernel picks, and controls them through
//! the control socket, HTTP, signals and files, as users do. [`tidings_experiment::agents`] is the
//! harness.

mod board;
mod collectors;
mod colonies;
mod company;
mod deaths;
mod flood;
mod forecast;
mod health;
mod heap;
mod hooks;
mod identities;
mod keys;
mod large_pages;
mod lives;
mod memory;
mod pages;
mod pick;
mod processor;
mod prometheus;
mod publish;
mod readings;
mod refusals;
mod scrapes;
mod users;
mod versions;

use std::net::UdpSocket;

use rustix::process::Signal;
use tidings_control::{ClientError, ErrorKind, Mode, Pick, State};
use tidings_experiment::agents::Cluster;

const KEYS: [&str; 2] = [
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
    "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=\n",
];

#[test]
fn two_agents_know_each_other_and_their_machine() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1", "n2"], 2);
    let nodes = cluster.until("n1 has readings of n2", |cluster| {
        let nodes = cluster.agent("n1").client().nodes().expect("answered");
        nodes.nodes.iter().all(|node| node.cores.is_some()).then_some(nodes)
    });
    let names: Vec<_> = nodes.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!((nodes.observer.as_str(), names), ("n1", vec!["n1", "n2"]));
    let n2 = &nodes.nodes[1];
    assert_eq!(n2.address, cluster.agent("n2").status().address);
    assert!(n2.mem_total_bytes.is_some() && n2.load1.is_some() && n2.kernel.is_some(), "{n2:?}");
    let status = cluster.agent("n2").status();
    assert_eq!((status.mode, status.encrypted, status.keys), (Mode::Seeds, false, 0));
    assert!(status.counters["entries_news"] > 0);
}

#[test]
fn agents_report_whether_they_meet_their_age_target() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--interval", "20ms", "--age-target", "300ms"]);
    cluster.join("n2", "n1", &["--interval", "20ms", "--age-target", "10ms"]);
    cluster.until("both have checked their ages", |cluster| {
        let is_decided = |name| cluster.agent(name).status().age_target_kept.is_some();
        (is_decided("n1") && is_decided("n2")).then_some(())
    });
    let status = cluster.agent("n1").status();
    assert_eq!((status.age_target_ms, status.age_target_quantile), (Some(300.0), None));
    // Its entry of the other is a little over half a unit old on average, whatever it sends.
    cluster.until("n2 logs that it cannot meet its age target", |cluster| {
        let reported = |line: &String| line.contains("older than the age target");
        cluster.agent("n2").log().iter().any(reported).then_some(())
    });
}

#[test]
fn a_roster_needs_no_seeds() {
    let mut cluster = Cluster::new();
    let addresses = free_addresses();
    let roster = cluster.write("roster", &roster_of(&addresses));
    for (name, address) in ["n1", "n2", "n3"].iter().zip(&addresses) {
        cluster.start(name, &["--roster", &roster, "--listen", address]);
    }
    cluster.until_known(&["n1", "n2", "n3"], 3);
    assert_eq!(cluster.agent("n1").status().mode, Mode::Roster);
}

#[test]
fn a_roster_grows_at_run_time() {
    let mut cluster = Cluster::new();
    let addresses = free_addresses();
    let roster = cluster.write("roster", &roster_of(&addresses[..2]));
    for (name, address) in ["n1", "n2"].iter().zip(&addresses) {
        cluster.start(name, &["--roster", &roster, "--listen", address]);
    }
    cluster.until_known(&["n1", "n2"], 2);
    cluster.write("roster", "n2=127.0.0.1:1\n");
    cluster.agent("n1").signal(Signal::HUP);
    cluster.until("a roster without the node itself is rejected", |cluster| {
        (cluster.agent("n1").counter("reloads_failed") == 1).then_some(())
    });
    assert_eq!(cluster.agent("n1").status().members, 2);
    cluster.write("roster", &roster_of(&addresses));
    cluster.agent("n1").signal(Signal::HUP);
    cluster.agent("n2").signal(Signal::HUP);
    cluster.start("n3", &["--roster", &roster, "--listen", &addresses[2]]);
    cluster.until_known(&["n1", "n2", "n3"], 3);
}

/// Three addresses on loopback that were free a moment ago: a roster names them in advance.
fn free_addresses() -> [String; 3] {
    let sockets = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a free port"));
    sockets.map(|socket| socket.local_addr().expect("bound").to_string())
}

/// A roster that names nodes n1, n2, … at these addresses.
fn roster_of(addresses: &[String]) -> String {
    let line = |(address, at): (&String, u32)| format!("n{at}={address}");
    let lines: Vec<_> = addresses.iter().zip(1..).map(line).collect();
    lines.join("\n")
}

#[test]
fn nodes_of_other_clusters_are_counted_and_never_known() {
    let mut cluster = Cluster::new();
    let keys = [cluster.write("key", KEYS[0]), cluster.write("other-key", KEYS[1])];
    cluster.start("n1", &["--keys", &keys[0]]);
    cluster.join("wrong-key", "n1", &["--keys", &keys[1]]);
    cluster.join("no-key", "n1", &[]);
    cluster.join("wrong-cluster", "n1", &["--keys", &keys[0], "--cluster", "other"]);
    cluster.until("n1 has dropped datagrams of all three", |cluster| {
        let counters = cluster.agent("n1").status().counters;
        (counters["dropped_key"] >= 2 && counters["dropped_cluster"] >= 1).then_some(())
    });
    for name in ["wrong-key", "no-key", "wrong-cluster"] {
        cluster.until(&format!("{name} logs that it is alone, and why"), |cluster| {
            let reported = |line: &String| line.contains("no seed answers");
            cluster.agent(name).log().iter().any(reported).then_some(())
        });
    }
    for name in ["n1", "wrong-key", "no-key", "wrong-cluster"] {
        assert_eq!(cluster.agent(name).status().members, 1, "{name} knows only itself");
    }
}

#[test]
fn malformed_datagrams_are_counted_and_harmless() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let to = cluster.agent("n1").status().address;
    let mut rubbish = vec![0_u8; 2000];
    for length in [0, 1, 27, 28, 43, 44, 100, 1452, 2000] {
        rubbish.iter_mut().zip(0_usize..).for_each(|(byte, at)| *byte = (at * 37) as u8);
        socket.send_to(&rubbish[..length], &to).expect("sent");
        rubbish[..3].copy_from_slice(b"Tg\x01");
        socket.send_to(&rubbish[..length], &to).expect("sent");
    }
    cluster.until("all of it was dropped", |cluster| {
        let counters = cluster.agent("n1").status().counters;
        let dropped: u64 =
            counters.iter().filter(|(name, _)| name.starts_with("dropped_")).map(|(_, n)| n).sum();
        (dropped >= 16).then_some(())
    });
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1", "n2"], 2);
}

#[test]
fn sigterm_leaves_cleanly() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1", "n2"], 2);
    let runtime_dir = cluster.agent("n2").runtime_dir().to_owned();
    assert_eq!(cluster.stop("n2"), Some(0));
    assert!(!runtime_dir.join("control.sock").exists());
    let left = cluster.until("n1 knows that n2 has left", |cluster| {
        cluster.agent("n1").node("n2").filter(|node| node.state == State::Left)
    });
    assert!(left.readings_age_ms >= left.age_ms, "what it said last stays, with its age");
    assert_eq!(cluster.agent("n1").status().members, 1);
}

#[test]
fn a_request_to_leave_is_answered_before_the_end() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let leaving = cluster.agent("n1").client().leave().expect("answered");
    assert_eq!(leaving.name, "n1");
    assert_eq!(cluster.end("n1"), Some(0));
}

#[test]
fn a_restart_is_a_later_incarnation() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1"], 2);
    let first = cluster.agent("n1").node("n2").expect("known").incarnation;
    assert_eq!(cluster.stop("n2"), Some(0));
    cluster.join("n2", "n1", &[]);
    cluster.until("n1 knows the later incarnation", |cluster| {
        let node = cluster.agent("n1").node("n2")?;
        (node.state == State::Alive && node.incarnation > first).then_some(())
    });
}

#[test]
fn a_crash_does_not_prevent_a_restart() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let runtime_dir = cluster.agent("n1").runtime_dir().to_owned();
    cluster.agent("n1").signal(Signal::KILL);
    assert_eq!(cluster.end("n1"), None, "killed by the signal");
    assert!(runtime_dir.join("control.sock").exists(), "a killed agent cannot tidy up");
    cluster.start("n1", &[]);
    assert_eq!(cluster.agent("n1").status().name, "n1");
}

#[test]
fn keys_rotate_without_losing_a_node() {
    let mut cluster = Cluster::new();
    let names = ["n1", "n2", "n3"];
    let keys = cluster.write("keys", KEYS[0]);
    cluster.start("n1", &["--keys", &keys]);
    cluster.join("n2", "n1", &["--keys", &keys]);
    cluster.join("n3", "n1", &["--keys", &keys]);
    cluster.until_known(&names, 3);
    let steps = [KEYS.concat(), [KEYS[1], KEYS[0]].concat(), KEYS[1].to_owned()];
    for (step, text) in (1..).zip(&steps) {
        cluster.write("keys", text);
        for name in names {
            let seen = cluster.agent(name).counter("rounds");
            cluster.agent(name).signal(Signal::HUP);
            cluster.until(&format!("{name} has applied step {step} and gossips"), |cluster| {
                let counters = cluster.agent(name).status().counters;
                (counters["reloads"] == step && counters["rounds"] > seen + 3).then_some(())
            });
        }
    }
    cluster.until("entries under the new key alone", |cluster| {
        let young = |name: &&str| cluster.agent(name).status().age_max_ms < 2000.0;
        names.iter().all(young).then_some(())
    });
    cluster.until_known(&names, 3);
    for name in names {
        let agent = cluster.agent(name);
        assert_eq!((agent.counter("dropped_key"), agent.counter("dropped_corrupt")), (0, 0));
        assert!(agent.log().iter().all(|line| !line.contains("left")), "nobody was lost");
    }
}

#[test]
fn a_broken_configuration_changes_nothing_in_a_running_agent() {
    let mut cluster = Cluster::new();
    let config = cluster.write("agent.toml", "log = \"info\"\ncluster = \"c\"\n");
    cluster.start("n1", &["--config", &config]);
    cluster.write("agent.toml", "log = \"info\"\nclutser = \"c\"\n");
    cluster.agent("n1").signal(Signal::HUP);
    cluster.until("the error is counted", |cluster| {
        (cluster.agent("n1").counter("reloads_failed") == 1).then_some(())
    });
    cluster.until("the error is explained", |cluster| {
        let complaint = |line: &String| line.contains("did you mean `cluster`?");
        cluster.agent("n1").log().iter().any(complaint).then_some(())
    });
    cluster.write("agent.toml", "log = \"warn\"\ncluster = \"other\"\n");
    cluster.agent("n1").signal(Signal::HUP);
    cluster.until("settings that can be applied are", |cluster| {
        (cluster.agent("n1").counter("reloads") == 1).then_some(())
    });
    cluster.until("settings that cannot are logged", |cluster| {
        let kept = |line: &String| line.contains("only a restart") && line.contains("cluster");
        cluster.agent("n1").log().iter().any(kept).then_some(())
    });
    assert_eq!(cluster.agent("n1").status().cluster, "c");
}

#[test]
fn user_metrics_are_seen_elsewhere_until_they_expire() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1", "n2"], 2);
    let mut client = cluster.agent("n2").client();
    client.publish("gpu", "3 idle", 3600).expect("it fits");
    client.publish("job", "7", 1).expect("it fits");
    let user = |cluster: &Cluster| Some(cluster.agent("n1").node("n2")?.user);
    cluster.until("n1 sees it", |cluster| {
        user(cluster)?.get("gpu").filter(|value| *value == "3 idle").map(drop)
    });
    cluster.until("the short-lived one has gone", |cluster| {
        let user = user(cluster)?;
        (user.contains_key("gpu") && !user.contains_key("job")).then_some(())
    });
    client.publish("gpu", "", 0).expect("withdrawing always works");
    cluster.until("the withdrawn one has gone", |cluster| user(cluster)?.is_empty().then_some(()));
    let Err(ClientError::Refused(report)) = client.publish("gpu", &"x".repeat(200), 60) else {
        panic!("200 bytes cannot fit in a payload of 64");
    };
    assert_eq!(report.kind, ErrorKind::BadValue);
    assert!(report.message.contains("payload_bytes"), "{}", report.message);
}

#[test]
fn callers_of_one_agent_do_not_all_get_the_same_node() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    for name in ["n2", "n3", "n4"] {
        cluster.join(name, "n1", &[]);
    }
    cluster.until_known(&["n1"], 4);
    cluster.until("all have readings", |cluster| {
        let nodes = cluster.agent("n1").client().nodes().expect("answered").nodes;
        nodes.iter().all(|node| node.cores.is_some()).then_some(())
    });
    let pick = |policy: &str, avoid: &[&str]| Pick {
        count: 1,
        cpus: 0.0,
        mem_bytes: 0,
        avoid: avoid.iter().map(ToString::to_string).collect(),
        policy: policy.to_owned(),
    };
    let mut client = cluster.agent("n1").client();
    // All nodes are this machine, with one load: what was picked before decides.
    let mut names: Vec<String> = (0..3)
        .map(|_| client.pick(pick("least-loaded", &["n4"])).expect("three will do"))
        .map(|picked| picked.nodes[0].name.clone())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["n1", "n2", "n3"]);
    let huge = Pick { cpus: 1e6, ..pick("spread", &[]) };
    let refused = client.pick(huge).expect_err("no machine has as many");
    let ClientError::Refused(report) = refused else { panic!("{refused}") };
    assert_eq!(report.kind, ErrorKind::Unsatisfied);
    assert!(report.message.contains("cpus=1000000 fails on 4"), "{}", report.message);
    let unknown = client.pick(pick("best", &[])).expect_err("no such policy");
    assert!(unknown.to_string().contains("two-choices"), "{unknown}");
}
