//! An upgrade of the package on hosts whose agents run: what the operator has written stays, each
//! service is restarted once, and nobody is taken for dead.
//!
//! Both packages are of this tree, under two revisions, since to build an earlier commit takes many
//! minutes. `.ci/upgrade COMMIT` builds one, and names its package by `TIDINGS_OLD_DEB=FILE`: then
//! the upgrade is from that one.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use tidings_experiment::agents::KEY;
use tidings_experiment::hosts::Hosts;

use crate::machine::{Machine, until};
use crate::{light, lightened};

const HOSTS: usize = 3;

/// What the operator of a host has written.
fn configuration(host: usize) -> String {
    // Two, so that each of them finds the other when it starts again.
    let seeds = [1, 2].map(|host| format!("\"{}:9616\"", Hosts::address(host)));
    let seeds = seeds.join(", ");
    format!(
        "# ours\ncluster = \"c\"\nname = \"h{host}\"\nlisten = \"0.0.0.0:9616\"\nseed = [{seeds}]\n"
    )
}

/// The packages before and after.
fn packages(directory: &Path) -> [PathBuf; 2] {
    let old = match env::var_os("TIDINGS_OLD_DEB") {
        Some(old) => lightened(old.as_ref(), directory, "old"),
        None => light(directory, "1"),
    };
    [old, light(directory, "2")]
}

/// Installs a package and starts its service, as the operator of a host does.
fn install(machine: &Machine, package: &Path, host: usize) {
    machine.text(&["dpkg", "--install", &machine.share(package)]);
    machine.write("/etc/tidings/cluster.key", KEY);
    machine.write("/shared/agent.toml", &configuration(host));
    machine.text(&["cp", "/shared/agent.toml", "/etc/tidings/agent.toml"]);
    if env::var_os("TIDINGS_OLD_DEB").is_some() {
        hand_over_key(machine);
    }
    machine.text(&["systemctl", "enable", "--now", "tidings-agent"]);
}

/// Lets the agent of an older package read its key. Until decision 0068 that was a credential of
/// systemd, which namespaces may not have, and before the package made a user it was a dynamic one,
/// to whom no file can be given.
fn hand_over_key(machine: &Machine) {
    let mut lines =
        "[Service]\nLoadCredential=\nEnvironment=TIDINGS_KEYS=/etc/tidings/own.key\n".to_owned();
    if !machine.run(&["id", "tidings"]).status.success() {
        machine.text(&["useradd", "--system", "tidings"]);
        lines += "DynamicUser=no\nUser=tidings\n";
    }
    machine.write("/etc/tidings/own.key", KEY);
    machine.text(&["chown", "tidings", "/etc/tidings/own.key"]);
    machine.write("/etc/systemd/system/tidings-agent.service.d/key.conf", &lines);
    machine.text(&["systemctl", "daemon-reload"]);
}

fn json(machine: &Machine, command: &str) -> Value {
    let text = machine.text(&["tidings", command, "--json"]);
    serde_json::from_str(&text).expect("one JSON object")
}

/// Waits until all know all as alive, by words that agents of older packages know.
fn until_all_know_all(machines: &[Machine]) {
    until("all know all", || {
        let knows_all = |machine: &Machine| {
            let output = machine.run(&["tidings", "nodes", "--json"]);
            let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let nodes = said["nodes"].as_array().map_or(&[][..], Vec::as_slice);
            nodes.len() == HOSTS && nodes.iter().all(|node| node["state"] == "alive")
        };
        machines.iter().all(knows_all).then_some(())
    });
}

#[test]
fn an_upgrade_restarts_each_agent_once_and_keeps_configuration_and_membership() {
    let directory = TempDir::new().expect("a temporary directory");
    let [old, new] = packages(directory.path());
    let hosts = Hosts::new(HOSTS);
    let machines: Vec<Machine> = (1..=HOSTS).map(|host| Machine::boot(&hosts, host)).collect();
    for (machine, host) in machines.iter().zip(1..) {
        install(machine, &old, host);
    }
    until_all_know_all(&machines);
    for (machine, host) in machines.iter().zip(1..) {
        let before = json(machine, "status");
        // As unattended upgrades do: what the operator wrote stays.
        machine.text(&["dpkg", "--force-confold", "--install", &machine.share(&new)]);
        until_all_know_all(&machines);
        let installed = machine.text(&["dpkg-query", "-W", "-f", "${Version}", "tidings"]);
        assert!(installed.ends_with("-2"), "{installed}");
        assert_eq!(machine.text(&["cat", "/etc/tidings/agent.toml"]), configuration(host));
        assert_ne!(json(machine, "status")["pid"], before["pid"], "the new program runs");
        let starts = until("the journal has both starts", || {
            let journal = machine.journal();
            let starts = journal.lines().filter(|line| line.contains(" listening ")).count();
            (starts >= 2).then_some(starts)
        });
        assert_eq!(starts, 2, "one restart: {}", machine.journal());
    }
    for machine in &machines {
        let status = json(machine, "status");
        assert_eq!(status["counters"]["deaths_declared"], 0, "they have left and come back");
        assert_eq!(status["states"]["dead"], 0);
        let enabled = machine.text(&["systemctl", "is-enabled", "tidings-agent"]);
        assert_eq!(enabled, "enabled\n");
    }
    let last = &machines[HOSTS - 1];
    last.text(&["dpkg", "--purge", "tidings"]);
    assert_ne!(last.run(&["systemctl", "is-active", "tidings-agent"]).status.code(), Some(0));
    let link = "/etc/systemd/system/multi-user.target.wants/tidings-agent.service";
    assert_ne!(last.run(&["test", "-L", link]).status.code(), Some(0), "nothing is left enabled");
    until("the others know that it has left", || {
        (json(&machines[0], "status")["states"]["left"] == 1).then_some(())
    });
}
