//! `tidings doctor peer` between hosts: firewalls, hosts that are not there, narrow paths.

use std::process::Command;

use tidings_control::{Checkup, Finding, Verdict};
use tidings_experiment::agents::{Site, name, programs};
use tidings_experiment::hosts::Hosts;

/// What the agent of a host finds on the way to another.
fn checkup(site: &Site, from: usize, host: &str) -> Vec<Finding> {
    let mut command = Command::new(programs().join("tidings"));
    command.arg("--runtime-dir").arg(site.agent(from).runtime_dir());
    let output = command.args(["doctor", "peer", host, "--json"]).output().expect("it starts");
    let checkup: Checkup = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(i32::from(!checkup.is_clear())), "{checkup:?}");
    checkup.findings
}

#[test]
fn a_doctor_finds_firewalls_absent_hosts_and_narrow_paths() {
    let site = Site::new(Hosts::new(3), &[]);
    let found = checkup(&site, 1, &name(2));
    assert!(found.iter().all(|finding| finding.verdict == Verdict::Ok), "{found:?}");
    site.hosts.deafen(2, [1].into_iter());
    let found = checkup(&site, 1, &Hosts::address(2));
    assert_eq!(found[0].of, "firewall", "{found:?}");
    site.hosts.heal();
    let found = checkup(&site, 1, "10.48.0.250");
    assert_eq!(found[0].of, "address", "nobody is there: {found:?}");
    site.hosts.narrow(2, 1300);
    let found = checkup(&site, 1, &name(2));
    let mtu = found.iter().find(|finding| finding.of == "mtu").expect("it was tried");
    assert_eq!(mtu.verdict, Verdict::Wrong, "{mtu:?}");
    assert!(mtu.text.contains("of 1232 they do: set mtu = 1260"), "{mtu:?}");
}
