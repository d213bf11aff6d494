//! Hosts for tests: network namespaces with an address each, on one switch, with what goes wrong
//! between them.
//!
//! A switch is a namespace with a bridge; a host is a namespace with one end of a cable (veth) to
//! it. Nothing of the machine's own network is touched, and all of it goes when a [`Hosts`] is
//! dropped. Loss and cuts are rules of netfilter in the hosts, so a kernel without netem will do.
//! Wants root, `ip` (iproute2) and `nft` (nftables); says so where one of them is missing.

#![expect(clippy::missing_panics_doc, reason = "this is test code: every method asserts")]

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Namespaces of one test.
#[derive(Debug)]
pub struct Hosts {
    /// What tells them from those of others.
    tag: String,
    count: usize,
}

/// Numbers the networks of this process.
static NETWORKS: AtomicU32 = AtomicU32::new(0);

impl Hosts {
    /// `count` hosts, numbered from 1, at most 200, that reach each other.
    pub fn new(count: usize) -> Self {
        assert!(count <= 200, "one byte of an address numbers them");
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let hosts = Self { tag: format!("tidings-{}-{number}", std::process::id()), count };
        let switch = hosts.switch();
        run("ip", &["netns", "add", &switch]);
        run("ip", &["-n", &switch, "link", "add", "bridge", "type", "bridge"]);
        run("ip", &["-n", &switch, "link", "set", "bridge", "up"]);
        for host in 1..=count {
            hosts.plug_in(host);
        }
        hosts
    }

    fn plug_in(&self, host: usize) {
        let (switch, name, port) = (self.switch(), self.namespace(host), format!("port{host}"));
        run("ip", &["netns", "add", &name]);
        let cable = ["type", "veth", "peer", "name", "eth0", "netns", &name];
        run("ip", &[&["-n", &switch, "link", "add", &port][..], &cable].concat());
        run("ip", &["-n", &switch, "link", "set", &port, "master", "bridge", "up"]);
        let address = format!("{}/24", Self::address(host));
        run("ip", &["-n", &name, "address", "add", &address, "dev", "eth0"]);
        run("ip", &["-n", &name, "link", "set", "lo", "up"]);
        run("ip", &["-n", &name, "link", "set", "eth0", "up"]);
        for rule in
            ["add table inet test", "add chain inet test in { type filter hook input priority 0; }"]
        {
            self.nft(host, rule);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The address of a host, the same in every network.
    pub fn address(host: usize) -> String {
        format!("10.47.0.{host}")
    }

    /// The words before a command that is to run on a host.
    pub fn on(&self, host: usize) -> [String; 4] {
        ["ip", "netns", "exec"]
            .map(str::to_owned)
            .into_iter()
            .chain([self.namespace(host)])
            .collect::<Vec<_>>()
            .try_into()
            .expect("four words")
    }

    /// Lets a host lose this share of all that arrives, in per cent; 0: nothing, and no cut.
    pub fn lose(&self, host: usize, percent: u32) {
        self.nft(host, "flush chain inet test in");
        if percent > 0 {
            let rule = format!("add rule inet test in numgen random mod 100 < {percent} drop");
            self.nft(host, &rule);
        }
    }

    /// Lets a host hear nothing from others any more.
    pub fn deafen(&self, host: usize, to: impl Iterator<Item = usize>) {
        for other in to {
            let rule = format!("add rule inet test in ip saddr {} drop", Self::address(other));
            self.nft(host, &rule);
        }
    }

    /// Ends all loss and all cuts.
    pub fn heal(&self) {
        for host in 1..=self.count {
            self.lose(host, 0);
        }
    }

    /// Moves a host to another address.
    pub fn move_to(&self, host: usize, address: &str) {
        let name = self.namespace(host);
        run("ip", &["-n", &name, "address", "flush", "dev", "eth0"]);
        run("ip", &["-n", &name, "address", "add", &format!("{address}/24"), "dev", "eth0"]);
    }

    fn nft(&self, host: usize, rule: &str) {
        run("ip", &["netns", "exec", &self.namespace(host), "nft", rule]);
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.tag)
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}-{host}", self.tag)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let hosts = (1..=self.count).map(|host| self.namespace(host));
        for name in hosts.chain([self.switch()]) {
            // What was not made cannot be removed; the rest goes all the same.
            let _ = Command::new("ip").args(["netns", "delete", &name]).output();
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; is it installed?"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {}: {said} (these tests make network namespaces: run them as root)",
        arguments.join(" ")
    );
    output
}
