//! Hosts for agents: numbered from 1, with what goes wrong between them.
//!
//! Loss and cuts are rules of netfilter in the hosts. Wants root, `ip` (iproute2) and `nft`
//! (nftables); panics and says so where one of them is missing.

#![expect(clippy::missing_panics_doc, reason = "a measurement without hosts is none")]

use std::fmt::Write as _;
use std::process::Command;

use super::fabric::{self, Fabric};
use super::network::Network;
use super::relay::Relay;
use crate::ExperimentError;
use crate::switch::within;

/// Hosts that go when they are dropped.
#[derive(Debug)]
pub struct Hosts {
    fabric: Fabric,
    count: usize,
}

impl Hosts {
    /// `count` hosts, numbered from 1, that reach each other.
    pub fn new(count: usize) -> Self {
        let fabric = Fabric::new(fabric::tag(), count as u32, &Network::default());
        Self::with_a_way_to_all(made(fabric), count)
    }

    /// The same with a [`Relay`] for a switch, whose choices follow from `seed`.
    pub fn relayed(count: usize, seed: u64) -> Self {
        let fabric = Fabric::relayed(fabric::tag(), count as u32, seed);
        Self::with_a_way_to_all(made(fabric), count)
    }

    fn with_a_way_to_all(fabric: Fabric, count: usize) -> Self {
        (0..fabric.count()).for_each(|host| made(fabric.lead_everywhere(host)));
        Self { fabric, count }
    }

    /// The relay between them.
    ///
    /// # Panics
    /// If a bridge is, which the kernel runs.
    pub fn relay(&self) -> &Relay {
        self.fabric.relay().expect("these hosts were made with a relay")
    }

    /// Does something in the network of a host, such as opening a socket.
    pub fn within<T: Send>(&self, host: usize, act: impl FnOnce() -> T + Send) -> T {
        within(&self.namespace(host), || Ok(act())).expect("root may enter a network that is there")
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The address of a host, the same in every network.
    pub fn address(host: usize) -> String {
        fabric::address(host as u32 - 1)
    }

    /// The words before a command that is to run on a host.
    pub fn on(&self, host: usize) -> [String; 4] {
        ["ip".to_owned(), "netns".to_owned(), "exec".to_owned(), self.namespace(host)]
    }

    /// Lets a host lose this share of all that arrives, in per cent; 0: nothing, and no cut.
    pub fn lose(&self, host: usize, percent: u32) {
        let mut rules = "flush chain inet lab in\n".to_owned();
        if percent > 0 {
            let _ = writeln!(rules, "add rule inet lab in numgen random mod 100 < {percent} drop");
        }
        self.filter(host, &rules);
    }

    /// Lets a host hear nothing from others any more.
    pub fn deafen(&self, host: usize, to: impl Iterator<Item = usize>) {
        let mut rules = String::new();
        for other in to {
            let address = Self::address(other);
            let _ = writeln!(rules, "add rule inet lab in ip saddr {address} drop");
        }
        self.filter(host, &rules);
    }

    /// Lets nothing pass to a host that has more bytes than this, and says so to nobody.
    pub fn narrow(&self, host: usize, bytes: u32) {
        self.filter(host, &format!("add rule inet lab in meta length > {bytes} drop\n"));
    }

    /// Pulls the cable of a host: it hears nothing, and nothing is heard of it.
    pub fn unplug(&self, host: usize) {
        made(self.fabric.plug(host as u32 - 1, false));
    }

    /// Puts the cable of a host back.
    pub fn plug(&self, host: usize) {
        made(self.fabric.plug(host as u32 - 1, true));
    }

    /// The processes that run on a host just now.
    pub fn processes(&self, host: usize) -> Vec<u32> {
        let listed = Command::new("ip").args(["netns", "pids", &self.namespace(host)]).output();
        let listed = listed.expect("iproute2 has made the hosts").stdout;
        let numbers = String::from_utf8_lossy(&listed).into_owned();
        numbers.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// Ends all loss and all cuts but pulled cables.
    pub fn heal(&self) {
        for host in 1..=self.count {
            self.lose(host, 0);
        }
    }

    /// Moves a host to another address.
    pub fn move_to(&self, host: usize, address: &str) {
        made(self.fabric.move_to(host as u32 - 1, address));
    }

    fn filter(&self, host: usize, rules: &str) {
        made(self.fabric.filter(host as u32 - 1, rules));
    }

    fn namespace(&self, host: usize) -> String {
        self.fabric.namespace(host as u32 - 1)
    }
}

fn made<T>(result: Result<T, ExperimentError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}
