//! The class of service of datagrams, by the rule that the reference of the configuration shows.

use std::process::{Command, Stdio};

use tidings_experiment::agents::Site;
use tidings_experiment::hosts::Hosts;
use tidings_tests::page::blocks;

/// Counts what comes in of a class, and of no class.
const COUNTERS: &str = "table inet count { chain in { type filter hook input priority 0; \
                        udp dport 9616 ip dscp cs1 counter name of_class; \
                        udp dport 9616 ip dscp cs0 counter name of_none; }; \
                        counter of_class { }; counter of_none { }; }";

/// Has nft read rules on a host, and returns what it says.
fn nft(site: &Site, host: usize, arguments: &[&str], rules: &str) -> String {
    let mut command = Command::new("ip");
    command.args(&site.hosts.on(host)[1..]).arg("nft").args(arguments);
    let mut nft = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut rest = nft.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut rest, rules.as_bytes()).expect("it reads");
    drop(rest);
    let output = nft.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{arguments:?}: {rules}");
    String::from_utf8(output.stdout).expect("text")
}

/// Datagrams that a counter of a host has seen.
fn count(site: &Site, host: usize, counter: &str) -> u64 {
    let text = nft(site, host, &["list", "counter", "inet", "count", counter], "");
    let packets = text.split("packets ").nth(1).and_then(|rest| rest.split(' ').next());
    packets.and_then(|packets| packets.parse().ok()).expect("a number of packets")
}

#[test]
fn the_rule_of_the_reference_gives_datagrams_their_class() {
    let site = Site::new(Hosts::new(2), &[]);
    let page = include_str!("../../docs/reference/config.md");
    nft(&site, 1, &["-f", "-"], blocks(page, "nft")[0]);
    nft(&site, 2, &["-f", "-"], COUNTERS);
    site.pass_rounds(1, 20);
    assert!(count(&site, 2, "of_class") > 0, "what host 1 sends has the class");
    assert_eq!(count(&site, 2, "of_none"), 0);
    // The other way there is no rule.
    nft(&site, 1, &["-f", "-"], COUNTERS);
    site.pass_rounds(1, 20);
    assert_eq!(count(&site, 1, "of_class"), 0);
    assert!(count(&site, 1, "of_none") > 0);
}
