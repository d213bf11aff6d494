//! Hosts with IPv6 only, with both families, and without a default route: each agent finds the
//! address that the others reach.

use std::process::Command;

use tidings_experiment::agents::{Site, name};
use tidings_experiment::hosts::Hosts;

/// The card of a host.
const CARD: &str = "eth0";

/// The address of a host in a network of IPv6.
fn sixth(host: usize) -> String {
    format!("fd00:48::{host}")
}

/// `ip` with these words on a host.
fn ip(hosts: &Hosts, host: usize, words: &str) {
    let place = hosts.on(host);
    let mut command = Command::new(&place[0]);
    command.args(&place[1..]).arg("ip").args(words.split(' '));
    assert!(command.status().expect("iproute2 has made the hosts").success(), "{host}: ip {words}");
}

/// Gives each host an address of IPv6 in one network, and no route beyond it.
fn add_sixth(hosts: &Hosts) {
    for host in 1..=hosts.count() {
        ip(hosts, host, &format!("address add {}/64 dev {CARD} nodad", sixth(host)));
    }
}

/// Takes the addresses and routes of IPv4 away.
fn remove_fourth(hosts: &Hosts) {
    for host in 1..=hosts.count() {
        ip(hosts, host, &format!("-4 address flush dev {CARD}"));
    }
}

/// Starts an agent on each host, which all name the first one as their seed, and waits until they
/// know each other; the addresses that they announce.
fn announced(site: &mut Site, listen: &str, seed: &str) -> Vec<String> {
    for host in site.all() {
        let place = site.hosts.on(host);
        let flags = ["--keys", &site.cluster.path().join("keys").display().to_string(), "--listen"];
        let flags = [&flags[..], &[listen, "--seed", seed, "--interval", "64ms"]].concat();
        site.cluster.start_on(&place, &name(host), &flags);
    }
    site.until_all_know(&site.all());
    site.all().into_iter().map(|host| site.agent(host).status().address).collect()
}

#[test]
fn with_ipv6_alone_and_no_default_route() {
    let mut site = Site::dark(Hosts::new(3), &[]);
    add_sixth(&site.hosts);
    remove_fourth(&site.hosts);
    let addresses = announced(&mut site, "[::]:9616", &format!("[{}]:9616", sixth(1)));
    let expected: Vec<_> = (1..=3).map(|host| format!("[{}]:9616", sixth(host))).collect();
    assert_eq!(addresses, expected);
}

#[test]
fn with_both_families_the_seed_s_is_announced() {
    let mut site = Site::dark(Hosts::new(3), &[]);
    add_sixth(&site.hosts);
    let addresses = announced(&mut site, "[::]:9616", &format!("[{}]:9616", sixth(1)));
    let expected: Vec<_> = (1..=3).map(|host| format!("[{}]:9616", sixth(host))).collect();
    assert_eq!(addresses, expected);
    let mut site = Site::dark(Hosts::new(3), &[]);
    add_sixth(&site.hosts);
    let addresses = announced(&mut site, "[::]:9616", &format!("{}:9616", Hosts::address(1)));
    let expected: Vec<_> = (1..=3).map(|host| format!("{}:9616", Hosts::address(host))).collect();
    assert_eq!(addresses, expected);
}

#[test]
fn with_ipv4_and_no_default_route() {
    let mut site = Site::dark(Hosts::new(3), &[]);
    for host in site.all() {
        ip(&site.hosts, host, "-4 route del default");
    }
    let addresses = announced(&mut site, "0.0.0.0:9616", &format!("{}:9616", Hosts::address(1)));
    let expected: Vec<_> = (1..=3).map(|host| format!("{}:9616", Hosts::address(host))).collect();
    assert_eq!(addresses, expected);
}
