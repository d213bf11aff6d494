//! Two versions of the datagrams in one cluster of hosts, with loss, and the change from one to the
//! other and back, host by host.

use tidings_experiment::agents::{Cluster, KEY};
use tidings_experiment::hosts::Hosts;

const HOSTS: usize = 8;

/// Hosts whose agents write these versions, in turn.
struct Mixed {
    cluster: Cluster,
    hosts: Hosts,
    keys: String,
}

fn name(host: usize) -> String {
    format!("h{host:02}")
}

impl Mixed {
    fn new(version_of: impl Fn(usize) -> u8) -> Self {
        let (cluster, hosts) = (Cluster::new(), Hosts::new(HOSTS));
        let keys = cluster.write("keys", KEY);
        let mut mixed = Self { cluster, hosts, keys };
        (1..=HOSTS).for_each(|host| mixed.start(host, version_of(host)));
        mixed
    }

    fn start(&mut self, host: usize, version: u8) {
        let (listen, version) = (format!("{}:9616", Hosts::address(host)), version.to_string());
        let mut flags = vec!["--listen", &listen, "--keys", &self.keys, "--interval", "64ms"];
        flags.extend(["--wire-version", &version]);
        let seeds: Vec<String> =
            (1..=2).map(|seed| format!("{}:9616", Hosts::address(seed))).collect();
        flags.extend(seeds.iter().flat_map(|seed| ["--seed", seed]));
        self.cluster.start_on(&self.hosts.on(host), &name(host), &flags);
    }

    fn lose(&self, percent: u32) {
        (1..=HOSTS).for_each(|host| self.hosts.lose(host, percent));
    }

    /// Waits until all know all, by news that is not older than 3 s.
    fn until_all_know(&self) {
        self.cluster.until("all know all", |cluster| {
            let knows_all = |host| {
                let status = cluster.agent(&name(host)).status();
                status.known == HOSTS && status.members == HOSTS && status.age_max_ms < 3_000.0
            };
            (1..=HOSTS).all(knows_all).then_some(())
        });
    }

    /// Nothing was refused for its version or its form, and nobody was taken for dead.
    fn is_clean(&self) {
        for host in 1..=HOSTS {
            let counters = self.cluster.agent(&name(host)).status().counters;
            for counter in ["dropped_version", "dropped_malformed", "deaths_declared"] {
                assert_eq!(counters[counter], 0, "{}: {counter}", name(host));
            }
        }
    }
}

#[test]
fn half_of_each_version_know_each_other_with_a_third_of_all_datagrams_lost() {
    let mixed = Mixed::new(|host| 1 + (host % 2) as u8);
    mixed.until_all_know();
    for percent in [10, 30] {
        mixed.lose(percent);
        mixed.until_all_know();
    }
    mixed.lose(0);
    mixed.cluster.until("all have heard both versions", |cluster| {
        let heard = |host| cluster.agent(&name(host)).status().wire_written_lowest;
        (1..=HOSTS).all(|host| heard(host) == Some(1)).then_some(())
    });
    mixed.is_clean();
}

#[test]
fn a_rolling_change_of_version_and_back_loses_nobody() {
    let mut mixed = Mixed::new(|_| 1);
    mixed.until_all_know();
    for version in [2, 1] {
        for host in 1..=HOSTS {
            assert_eq!(mixed.cluster.stop(&name(host)), Some(0));
            mixed.start(host, version);
        }
        mixed.until_all_know();
        mixed.cluster.until("all write the version", |cluster| {
            let status = |host| cluster.agent(&name(host)).status();
            let speak = |host| status(host).wire_written_lowest == Some(version);
            (1..=HOSTS).all(speak).then_some(())
        });
    }
    mixed.is_clean();
}
