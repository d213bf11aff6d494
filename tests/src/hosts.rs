//! Hosts for tests: network namespaces with an address each, on one switch, with what goes wrong
//! between them.
//!
//! A switch is a namespace with a bridge, or with a [`Relay`] that delays and doubles; a host is a
//! namespace with one end of a cable (veth) to it. Nothing of the machine's own network is touched,
//! and all of it goes when a [`Hosts`] is dropped. Loss and cuts are rules of netfilter in the
//! hosts, so a kernel without netem will do. Wants root, `ip` (iproute2) and `nft` (nftables); says
//! so where one of them is missing.

#![expect(clippy::missing_panics_doc, reason = "this is test code: every method asserts")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::relay::Relay;

/// Namespaces of one test.
#[derive(Debug)]
pub struct Hosts {
    /// What tells them from those of others.
    tag: String,
    count: usize,
    relay: Option<Relay>,
}

/// Numbers the networks of this process.
static NETWORKS: AtomicU32 = AtomicU32::new(0);

impl Hosts {
    /// `count` hosts, numbered from 1, at most 200, that reach each other.
    pub fn new(count: usize) -> Self {
        let hosts = Self::unplugged(count);
        let switch = hosts.switch();
        run("ip", &["-n", &switch, "link", "add", "bridge", "type", "bridge"]);
        run("ip", &["-n", &switch, "link", "set", "bridge", "up"]);
        for host in 1..=count {
            run("ip", &["-n", &switch, "link", "set", &port(host), "master", "bridge"]);
            hosts.plug_in(host);
        }
        hosts
    }

    /// The same with a [`Relay`] for a switch, whose choices follow from `seed`.
    pub fn relayed(count: usize, seed: u64) -> Self {
        let mut hosts = Self::unplugged(count);
        let ports = (1..=count).map(port).collect();
        let relay = Relay::between(&hosts.switch(), ports, seed);
        hosts.relay = Some(relay.unwrap_or_else(|error| panic!("no relay: {error}")));
        for host in 1..=count {
            hosts.plug_in(host);
        }
        hosts
    }

    /// Hosts with cables, the ends of which are not connected to each other yet.
    fn unplugged(count: usize) -> Self {
        assert!(count <= 200, "one byte of an address numbers them");
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let tag = format!("tidings-{}-{number}", std::process::id());
        let hosts = Self { tag, count, relay: None };
        let switch = hosts.switch();
        run("ip", &["netns", "add", &switch]);
        for host in 1..=count {
            let (name, port) = (hosts.namespace(host), port(host));
            run("ip", &["netns", "add", &name]);
            let cable =
                ["type", "veth", "peer", "name", "eth0", "address", &card(host), "netns", &name];
            run("ip", &[&["-n", &switch, "link", "add", &port][..], &cable].concat());
            // The switch says nothing of its own.
            run("ip", &["-n", &switch, "link", "set", &port, "addrgenmode", "none", "up"]);
        }
        hosts
    }

    fn plug_in(&self, host: usize) {
        // What passes on the cable are the datagrams as they will be, not one for many.
        let mut lines =
            "link set lo up\nlink set eth0 gso_max_segs 1 addrgenmode none up\n".to_owned();
        // Nobody has to ask where others are: the kernel keeps few answers, for all networks.
        for other in (1..=self.count).filter(|&other| other != host) {
            let (address, card) = (Self::address(other), card(other));
            let _ = writeln!(lines, "neighbour add {address} lladdr {card} dev eth0 nud permanent");
        }
        let arguments = ["-n", &self.namespace(host), "-batch", "-"];
        run_with("ip", &arguments, &lines);
        self.live_at(host, &Self::address(host));
        for rule in
            ["add table inet test", "add chain inet test in { type filter hook input priority 0; }"]
        {
            self.nft(host, rule);
        }
    }

    /// Gives a host an address, and a way to all others.
    fn live_at(&self, host: usize, address: &str) {
        let name = self.namespace(host);
        run("ip", &["-n", &name, "address", "add", &format!("{address}/24"), "dev", "eth0"]);
        run("ip", &["-n", &name, "route", "add", "default", "dev", "eth0"]);
    }

    /// The relay between them.
    ///
    /// # Panics
    /// If a bridge is, which the kernel runs.
    pub fn relay(&self) -> &Relay {
        self.relay.as_ref().expect("these hosts were made with a relay")
    }

    /// Does something in the network of a host, such as opening a socket.
    pub fn within<T: Send>(&self, host: usize, act: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/run/netns/{}", self.namespace(host)));
        let namespace = namespace.expect("the host is there");
        thread::scope(|scope| {
            // A thread of its own, since it cannot come back.
            let acting = scope.spawn(move || {
                setns(namespace, CloneFlags::CLONE_NEWNET).expect("root may enter a network");
                act()
            });
            acting.join().expect("what is done there does not panic")
        })
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
        run("ip", &["-n", &self.namespace(host), "address", "flush", "dev", "eth0"]);
        self.live_at(host, address);
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
        drop(self.relay.take()); // its sockets would keep the namespace alive
        let hosts = (1..=self.count).map(|host| self.namespace(host));
        for name in hosts.chain([self.switch()]) {
            // What was not made cannot be removed; the rest goes all the same.
            let _ = Command::new("ip").args(["netns", "delete", &name]).output();
        }
    }
}

/// The switch's end of a host's cable.
fn port(host: usize) -> String {
    format!("port{host}")
}

/// The hardware address of a host.
fn card(host: usize) -> String {
    format!("02:00:0a:2f:00:{host:02x}")
}

fn run(program: &str, arguments: &[&str]) {
    run_with(program, arguments, "");
}

/// Runs a program that reads `input`.
fn run_with(program: &str, arguments: &[&str], input: &str) {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{program}: {error}; is it installed?"));
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("an own child ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && written.is_some_and(|written| written.is_ok()),
        "{program} {}: {said} (these tests make network namespaces: run them as root)",
        arguments.join(" ")
    );
}
