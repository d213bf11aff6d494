//! The packaged service under systemd: it starts, reads changed keys at a reload, and refuses what
//! is wrong.

use tidings_experiment::agents::KEY;
use tidings_experiment::hosts::Hosts;

use crate::machine::{Machine, until};
use crate::package;

/// Where the operator keeps the keys.
const KEYS: &str = "/etc/tidings/cluster.key";
/// Another key than [`KEY`].
pub(crate) const OTHER: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=\n";

/// A machine on which the package is installed and the service runs, with [`KEY`].
fn served(hosts: &Hosts, host: usize) -> Machine {
    let machine = Machine::boot(hosts, host);
    machine.text(&["dpkg", "--install", &machine.share(package())]);
    machine.write(KEYS, KEY);
    machine.text(&["systemctl", "start", "tidings-agent"]);
    machine
}

fn status(machine: &Machine) -> serde_json::Value {
    let text = machine.text(&["tidings", "status", "--json"]);
    serde_json::from_str(&text).expect("one JSON object")
}

/// Keys could be changed by a restart only: systemd had given the agent a copy of the file when it
/// started (`LoadCredential`), and the reload read that copy again.
#[test]
fn a_reload_takes_changed_keys_and_the_file_stays_root_s() {
    let hosts = Hosts::new(1);
    let machine = served(&hosts, 1);
    let before = status(&machine);
    assert_eq!(before["keys"], 1);
    machine.text(&["tidings", "keys", "add", KEYS]);
    machine.text(&["systemctl", "reload", "tidings-agent"]);
    until("the agent has both keys", || (status(&machine)["keys"] == 2).then_some(()));
    assert_eq!(status(&machine)["pid"], before["pid"], "nothing was restarted");
    assert_eq!(machine.text(&["stat", "-c", "%U %a", KEYS]), "root 600\n");
    let copy = "/run/tidings-agent/cluster.key";
    assert_eq!(machine.text(&["stat", "-c", "%U %a", copy]), "tidings 400\n");
    assert_eq!(machine.text(&["stat", "-c", "%U %a", "/run/tidings-agent"]), "root 755\n");
    machine.text(&["systemctl", "stop", "tidings-agent"]);
    assert!(!machine.run(&["test", "-e", copy]).status.success(), "the copy goes with the agent");
}

#[test]
fn a_reload_of_what_is_wrong_fails_and_the_agent_goes_on() {
    let hosts = Hosts::new(1);
    let machine = served(&hosts, 1);
    let before = status(&machine);
    machine.write(KEYS, "no key\n");
    let reloaded = machine.run(&["systemctl", "reload", "tidings-agent"]);
    assert!(!reloaded.status.success(), "a key file without a key");
    machine.until_journal_says("line 1: not a key");
    let now = status(&machine);
    let kept = ["pid", "keys", "members"];
    assert!(kept.iter().all(|field| now[field] == before[field]), "{now}");
    assert_eq!(now["counters"]["reloads_failed"], 0, "it was not even asked");
    machine.write(KEYS, OTHER);
    machine.text(&["systemctl", "reload", "tidings-agent"]);
    until("the reload is done", || (status(&machine)["counters"]["reloads"] == 1).then_some(()));
}

/// Root could not check the configuration of a service that runs: the runtime directory belongs to
/// the service's user, and the check took that for a danger.
#[test]
fn root_checks_the_configuration_of_the_running_service() {
    let hosts = Hosts::new(1);
    let machine = served(&hosts, 1);
    let words = ["tidings", "agent", "--config", "/etc/tidings/agent.toml", "--keys", KEYS];
    let checked = machine.text(&[&words[..], &["--check"]].concat());
    assert!(checked.contains("the configuration is valid"), "{checked}");
    assert!(checked.contains("is of the user "), "{checked}");
    let started = machine.run(&words);
    assert_eq!(started.status.code(), Some(2), "root's own agent would be replaced by that user");
}

#[test]
fn without_a_key_file_the_service_says_which_is_missing() {
    let hosts = Hosts::new(1);
    let machine = Machine::boot(&hosts, 1);
    machine.text(&["dpkg", "--install", &machine.share(package())]);
    assert!(!machine.run(&["systemctl", "start", "tidings-agent"]).status.success());
    machine.until_journal_says("cannot stat '/etc/tidings/cluster.key'");
}

/// Kernels let only root read the counters of energy, so the reading of power was never there; the
/// log did not say why. The counters of this machine, which may have none, are invented.
#[test]
fn the_agent_alone_reads_the_counters_of_energy() {
    let hosts = Hosts::new(1);
    let machine = Machine::boot(&hosts, 1);
    machine.text(&["dpkg", "--install", &machine.share(package())]);
    let zone = "/sys/class/powercap/intel-rapl:0";
    machine.text(&["mount", "-t", "tmpfs", "tmpfs", "/sys/class"]);
    for (file, text) in
        [("name", "package-0\n"), ("max_energy_range_uj", "1000\n"), ("energy_uj", "7\n")]
    {
        machine.write(&format!("{zone}/{file}"), text);
    }
    for file in ["name", "max_energy_range_uj"] {
        machine.text(&["chmod", "444", &format!("{zone}/{file}")]);
    }
    machine.write(KEYS, KEY);
    machine.text(&["systemctl", "start", "tidings-agent"]);
    let power = || {
        let text = machine.text(&["tidings", "nodes", "--json"]);
        let nodes: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        nodes["nodes"][0]["power_w"].as_f64()
    };
    let watts = until("there is a reading of power", power);
    assert!(watts.abs() < 0.1, "the counter stands still: {watts}");
    let counter = format!("{zone}/energy_uj");
    let about = machine.text(&["stat", "-c", "%U %G %a", &counter]);
    assert_eq!(about, "root tidings-energy 440\n");
    assert_eq!(machine.text(&["id", "-nG", "tidings"]), "tidings tidings-energy\n");

    // An operator who does not want that says so, and the agent says what lacks.
    machine.text(&["ln", "-s", "/dev/null", "/etc/tmpfiles.d/tidings.conf"]);
    machine.text(&["chmod", "400", &counter]);
    machine.text(&["systemctl", "restart", "tidings-agent"]);
    machine.until_journal_says("a reading lacks");
    machine.until_journal_says(&counter);
}

/// The service is closed to much, which executables that it starts find too.
#[test]
fn the_service_runs_collectors() {
    let hosts = Hosts::new(1);
    let machine = Machine::boot(&hosts, 1);
    machine.text(&["dpkg", "--install", &machine.share(package())]);
    machine.write(KEYS, KEY);
    let folder = "/etc/tidings/collectors.d";
    let script = "#!/bin/sh\necho \"files $(ls / | sort | uniq | grep -c .)\"\n";
    for (name, mode, text) in
        [("files", "755", script), ("files.toml", "644", "interval = \"1s\"\n")]
    {
        machine.write(&format!("/shared/{name}"), text);
        let (from, to) = (format!("/shared/{name}"), format!("{folder}/{name}"));
        machine.text(&["install", "-D", "-m", mode, &from, &to]);
    }
    machine.write("/shared/agent.toml", &format!("collectors = \"{folder}\"\n"));
    machine.text(&["install", "-m", "644", "/shared/agent.toml", "/etc/tidings/agent.toml"]);
    machine.text(&["systemctl", "start", "tidings-agent"]);
    let files = || {
        let text = machine.text(&["tidings", "nodes", "--json"]);
        let nodes: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        nodes["nodes"][0]["user"]["files"].as_str()?.parse::<u32>().ok()
    };
    assert!(until("there is a metric of the collector", files) > 5);
}

/// By the steps of the reference: each node a secret of its own, which belongs to the agent's user.
#[test]
fn services_sign_their_entries() {
    let hosts = Hosts::new(2);
    let machines = [1, 2].map(|host| {
        let machine = Machine::boot(&hosts, host);
        machine.text(&["dpkg", "--install", &machine.share(package())]);
        machine.write(KEYS, KEY);
        machine
    });
    let identity = "/etc/tidings/identity";
    let names = ["m1", "m2"];
    let lines = [0, 1].map(|at| {
        let words = ["tidings", "keys", "identity", "--name", names[at], identity];
        let line = machines[at].text(&words);
        machines[at].text(&["chown", "tidings", identity]);
        line
    });
    let seed = format!("{}:9616", Hosts::address(1));
    for (at, machine) in machines.iter().enumerate() {
        let settings = format!(
            "name = \"{}\"\nlisten = \"{}:9616\"\nseed = [\"{seed}\"]\npayload_bytes = 136\n\
             identity = \"{identity}\"\nidentities = \"/etc/tidings/identities\"\n",
            names[at],
            Hosts::address(at + 1),
        );
        for (path, text) in [("agent.toml", settings), ("identities", lines.concat())] {
            machine.write(&format!("/etc/tidings/{path}"), &text);
            machine.text(&["chmod", "644", &format!("/etc/tidings/{path}")]);
        }
        machine.text(&["systemctl", "start", "tidings-agent"]);
    }
    for machine in &machines {
        until("both know both", || (status(machine)["members"] == 2).then_some(()));
        assert_eq!(status(machine)["counters"]["entries_unsigned"], 0);
    }
    // A user who is not of the agent's group cannot read the secret, and root's own is refused.
    let read = machines[0].run(&["runuser", "-u", "nobody", "--", "cat", identity]);
    assert!(!read.status.success(), "the secret is the agent's alone");
    machines[0].text(&["chown", "root", identity]);
    assert!(!machines[0].run(&["systemctl", "restart", "tidings-agent"]).status.success());
    machines[0].until_journal_says("its owner has to be the user of the agent");
}
