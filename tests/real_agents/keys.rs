//! `tidings keys status` of real agents, whose keys are exchanged one node after the other.

use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::Value;
use tidings_experiment::agents::{Cluster, programs};
use tidings_gossip::KeyRing;

use super::KEYS;
use super::pages::page;

const NAMES: [&str; 3] = ["n1", "n2", "n3"];

/// Three nodes, each with a key file of its own.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    for name in NAMES {
        let keys = cluster.write(&format!("{name}.keys"), KEYS[0]);
        match name {
            "n1" => cluster.start(name, &["--keys", &keys, "--http", "127.0.0.1:0"]),
            _ => cluster.join(name, "n1", &["--keys", &keys]),
        };
    }
    cluster.until_known(&NAMES, 3);
    cluster
}

/// Gives a node other keys, while it runs.
fn give(cluster: &Cluster, name: &str, keys: &str) {
    cluster.write(&format!("{name}.keys"), keys);
    let agent = cluster.agent(name);
    let before = agent.counter("reloads");
    agent.signal(Signal::HUP);
    cluster.until("the keys are read", |_| (agent.counter("reloads") > before).then_some(()));
}

fn keys(cluster: &Cluster, words: &[&str]) -> Output {
    let mut command = Command::new(programs().join("tidings"));
    command.arg("--runtime-dir").arg(cluster.agent("n1").runtime_dir());
    command.args(["keys"]).args(words).output().expect("built")
}

/// What the status says as JSON, and whether it exits with 0.
fn status(cluster: &Cluster, words: &[&str]) -> (Value, bool) {
    let output = keys(cluster, &[&["status", "--json"], words].concat());
    (serde_json::from_slice(&output.stdout).expect("one JSON object"), output.status.success())
}

/// Whether each step is safe.
fn safe(cluster: &Cluster) -> (bool, bool) {
    let step = |step: &str| {
        let (found, succeeded) = status(cluster, &["--before", step]);
        assert_eq!(found[step]["safe"], succeeded, "the exit code says the same: {found}");
        succeeded
    };
    (step("promote"), step("drop"))
}

fn fingerprints(text: &str) -> Vec<String> {
    let ring = KeyRing::parse(text).expect("keys");
    ring.fingerprints().iter().map(ToString::to_string).collect()
}

#[test]
fn an_exchange_of_keys_is_safe_step_by_step_and_the_status_says_when() {
    let cluster = cluster();
    let (both, turned) = (KEYS.concat(), [KEYS[1], KEYS[0]].concat());
    assert_eq!(safe(&cluster), (true, true), "one key");
    for name in &NAMES[..2] {
        give(&cluster, name, &both);
    }
    assert_eq!(safe(&cluster), (false, true), "n3 lacks the new one");
    let (found, answered) = status(&cluster, &[]);
    assert!(answered, "everybody has answered: {found}");
    let reason = format!("{} is not held by n3", fingerprints(KEYS[1])[0]);
    assert_eq!(found["promote"]["text"], reason);
    for (node, keys) in found["nodes"].as_array().expect("nodes").iter().zip([&both, &both]) {
        assert_eq!(node["keys"], Value::from(fingerprints(keys)), "{found}");
    }
    let text = String::from_utf8(keys(&cluster, &["status"]).stdout).expect("text");
    assert!(text.contains(&format!("promote: not yet: {reason}\n")), "{text}");
    assert!(text.contains(&format!("{}  ", fingerprints(&both).join(" "))), "{text}");
    give(&cluster, "n3", &both);
    assert_eq!(safe(&cluster), (true, true), "all hold both");
    give(&cluster, "n1", &turned);
    assert_eq!(safe(&cluster), (true, false), "n2 and n3 seal with the old one");
    for name in &NAMES[1..] {
        give(&cluster, name, &turned);
    }
    assert_eq!(safe(&cluster), (true, true), "all seal with the new one");
    for name in NAMES {
        give(&cluster, name, KEYS[1]);
    }
    assert_eq!(status(&cluster, &[]).0["nodes"][2]["keys"], Value::from(fingerprints(KEYS[1])));
}

#[test]
fn a_node_that_does_not_answer_makes_every_step_unsafe() {
    let cluster = cluster();
    cluster.agent("n3").signal(Signal::STOP);
    let (found, answered) = status(&cluster, &[]);
    cluster.agent("n3").signal(Signal::CONT);
    assert!(!answered, "{found}");
    assert_eq!(found["nodes"][2]["answer"], "silent");
    assert_eq!(found["promote"]["text"], "no answer from n3");
    assert_eq!(found["drop"]["safe"], false);
}

/// A node that seals with what others lack is heard by nobody; they say so of what it is asked.
#[test]
fn a_node_with_another_key_is_named() {
    let cluster = cluster();
    give(&cluster, "n3", KEYS[1]);
    let (found, answered) = status(&cluster, &[]);
    assert!(!answered, "{found}");
    assert_eq!(found["nodes"][2]["answer"], "rejected", "{found}");
}

#[test]
fn own_keys_are_in_the_status_and_the_metrics_and_files_are_shown() {
    let cluster = cluster();
    let both = KEYS.concat();
    give(&cluster, "n1", &both);
    let status = cluster.agent("n1").status();
    assert_eq!(status.key_fingerprints, fingerprints(&both));
    let address = status.http.expect("asked for");
    let (_, metrics) = page(&address, "/metrics");
    for (key, value) in fingerprints(&both).iter().zip([2, 1]) {
        let line = format!("tidings_key{{fingerprint=\"{key}\"}} {value}\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
    let file = cluster.write("file", &both);
    let shown = String::from_utf8(keys(&cluster, &["show", &file]).stdout).expect("text");
    assert_eq!(shown.lines().collect::<Vec<_>>(), fingerprints(&both));
    assert!(!shown.contains(KEYS[0].trim()), "nobody reads a key from it");
}
