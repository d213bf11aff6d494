//! Several hosts on one machine: a network namespace each, on one switch, with the rate, delay and
//! loss that are asked for.
//!
//! A host is a network namespace with a card. Cards are ends of cables (veth), whose other ends lie
//! on a bridge of the kernel in a namespace of its own, or are those of a [`Relay`] that delays,
//! doubles and mixes; or cards are those of a [`DelayLine`], where packets are to travel for a
//! while, since many kernels have no netem. Rate is a token bucket
//! (tbf) where a host sends, loss a rule of netfilter where it receives; both count what they do to
//! packets. Nothing of the machine's own network is touched, and all of it goes with the
//! [`Fabric`]. Wants root, `ip` and `tc` (iproute2), and `nft` (nftables) for loss.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::delay_line::DelayLine;
use super::home::PREFIX;
use super::network::Network;
use super::relay::Relay;
use crate::ExperimentError;

/// More hosts than this do not fit into the addresses of a fabric.
pub const MOST_HOSTS: u32 = 250;
/// The name of a host's card, as its processes see it.
pub const CARD: &str = "eth0";
/// How long a packet may wait for its tokens before it is dropped.
const QUEUE_MS: u32 = 50;

/// Numbers the fabrics of this process.
static FABRICS: AtomicU32 = AtomicU32::new(0);

/// Hosts that reach each other.
#[derive(Debug)]
pub struct Fabric {
    /// What tells its namespaces from those of others.
    tag: String,
    hosts: u32,
    switch: Middle,
}

/// What lies between the hosts.
#[derive(Debug)]
enum Middle {
    /// A bridge of the kernel.
    Bridge,
    /// A thread of this process, to which hosts have no cables.
    Line { _line: DelayLine },
    /// A thread of this process, at the other ends of cables.
    Relay(Relay),
}

impl Fabric {
    /// Makes so many hosts.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with what was refused; nothing is left behind.
    pub fn new(tag: String, hosts: u32, network: &Network) -> Result<Self, ExperimentError> {
        let mut fabric = Self::bare(tag, hosts)?; // what is there already goes when it is dropped
        if network.delay_us > 0.0 {
            let names = (0..hosts).map(|host| fabric.namespace(host)).collect();
            let line = DelayLine::between(names, CARD, network.delay_us);
            let line = line.map_err(|error| no_switch("delay_us wants TUN devices", &error))?;
            fabric.switch = Middle::Line { _line: line };
        } else {
            fabric.lay_cables(Some("bridge"))?;
        }
        (0..hosts).try_for_each(|host| fabric.settle(host, network))?;
        Ok(fabric)
    }

    /// The same on a [`Relay`], whose choices follow from `seed`.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with what was refused; nothing is left behind.
    pub fn relayed(tag: String, hosts: u32, seed: u64) -> Result<Self, ExperimentError> {
        let mut fabric = Self::bare(tag, hosts)?;
        fabric.lay_cables(None)?;
        let relay = Relay::between(&fabric.switch(), (0..hosts).map(port).collect(), seed);
        let relay = relay.map_err(|error| no_switch("a relay wants packet sockets", &error))?;
        fabric.switch = Middle::Relay(relay);
        (0..hosts).try_for_each(|host| fabric.settle(host, &Network::default()))?;
        Ok(fabric)
    }

    /// Hosts without cards.
    fn bare(tag: String, hosts: u32) -> Result<Self, ExperimentError> {
        if hosts > MOST_HOSTS {
            let reason = format!("{hosts} hosts: one machine is made {MOST_HOSTS} at most");
            return Err(ExperimentError::Machine(reason));
        }
        let fabric = Self { tag, hosts, switch: Middle::Bridge };
        for host in 0..hosts {
            run("ip", &["netns", "add", &fabric.namespace(host)], "")?;
        }
        Ok(fabric)
    }

    /// Lays a cable from each host to the namespace of the switch, there to a bridge if one is
    /// named.
    fn lay_cables(&self, bridge: Option<&str>) -> Result<(), ExperimentError> {
        let switch = self.switch();
        run("ip", &["netns", "add", &switch], "")?;
        let mut lines = String::new();
        let mut master = String::new();
        if let Some(bridge) = bridge {
            let _ = write!(lines, "link add {bridge} type bridge\nlink set {bridge} up\n");
            master = format!("master {bridge} ");
        }
        for host in 0..self.hosts {
            let (name, port, address) = (self.namespace(host), port(host), hardware_address(host));
            let _ = write!(
                lines,
                "link add {port} type veth peer name {CARD} address {address} netns {name}\n\
                 link set {port} addrgenmode none {master}up\n"
            );
        }
        run("ip", &["-n", &switch, "-batch", "-"], &lines)
    }

    /// Gives a host its address, and its card its rate and its loss.
    fn settle(&self, host: u32, network: &Network) -> Result<(), ExperimentError> {
        let name = self.namespace(host);
        let mut lines = format!(
            "link set lo up\nlink set {CARD} gso_max_segs 1 addrgenmode none up\n\
             address add {}/24 dev {CARD}\n",
            address(host)
        );
        // Nobody on a cable has to ask where others are.
        let is_on_cable = !matches!(self.switch, Middle::Line { .. });
        for other in (0..self.hosts).filter(|&other| is_on_cable && other != host) {
            let (to, card) = (address(other), hardware_address(other));
            let _ = writeln!(lines, "neighbour add {to} lladdr {card} dev {CARD} nud permanent");
        }
        run("ip", &["-n", &name, "-batch", "-"], &lines)?;
        if let Some(rate_mbit) = network.rate_mbit {
            let rate = format!("{:.0}", rate_mbit * 1e6);
            // A millisecond's worth, but for some full packets at least.
            let burst = format!("{:.0}", (rate_mbit * 1e3 / 8.0).max(16_000.0));
            let bucket = ["tbf", "rate", &rate, "burst", &burst];
            let queue = ["latency", &format!("{QUEUE_MS}ms")];
            let add = ["-n", &name, "qdisc", "add", "dev", CARD, "root"];
            run("tc", &[&add[..], &bucket, &queue].concat(), "")?;
        }
        if network.loss_percent > 0.0 {
            let drops = (network.loss_percent * 1e4).round();
            let drop = format!("numgen random mod 1000000 < {drops} counter drop");
            self.filter(host, &format!("add rule inet lab in iifname {CARD} {drop}\n"))?;
        }
        Ok(())
    }

    /// Gives what arrives at a host further lines of netfilter, which may name the chain `in` of
    /// the table `inet lab`.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with what nft says.
    pub fn filter(&self, host: u32, lines: &str) -> Result<(), ExperimentError> {
        let chain = "add chain inet lab in { type filter hook input priority 0; }";
        let rules = format!("add table inet lab\n{chain}\n{lines}");
        run("ip", &["netns", "exec", &self.namespace(host), "nft", "-f", "-"], &rules)
    }

    /// Pulls the cable of a host out of the bridge, or puts it back: nothing passes meanwhile, and
    /// nobody is told.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with what ip says.
    pub fn plug(&self, host: u32, is_plugged: bool) -> Result<(), ExperimentError> {
        let state = if is_plugged { "up" } else { "down" };
        run("ip", &["-n", &self.switch(), "link", "set", &port(host), state], "")
    }

    /// Leads a host by its card to all addresses there are.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with what ip says.
    pub fn lead_everywhere(&self, host: u32) -> Result<(), ExperimentError> {
        run("ip", &["-n", &self.namespace(host), "route", "add", "default", "dev", CARD], "")
    }

    /// Moves a host to another address, from which it is led everywhere.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with what ip says.
    pub fn move_to(&self, host: u32, address: &str) -> Result<(), ExperimentError> {
        let lines = format!("address flush dev {CARD}\naddress add {address}/24 dev {CARD}\n");
        run("ip", &["-n", &self.namespace(host), "-batch", "-"], &lines)?;
        self.lead_everywhere(host)
    }

    /// How many hosts there are.
    pub fn count(&self) -> u32 {
        self.hosts
    }

    /// The relay between them, where there is one.
    pub fn relay(&self) -> Option<&Relay> {
        match &self.switch {
            Middle::Relay(relay) => Some(relay),
            Middle::Bridge | Middle::Line { .. } => None,
        }
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: u32) -> String {
        format!("{}-{host}", self.tag)
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.tag)
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        self.switch = Middle::Bridge; // a thread holds namespaces alive
        let hosts = (0..self.hosts).map(|host| self.namespace(host));
        for name in hosts.chain([self.switch()]) {
            // What was not made cannot be removed; the rest goes all the same.
            let _ = Command::new("ip").args(["netns", "delete", &name]).output();
        }
    }
}

/// A tag for a fabric: what the names of its namespaces begin with.
pub fn tag() -> String {
    let number = FABRICS.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{number}", std::process::id())
}

/// Removes what namespaces there are with this tag.
pub fn remove(tag: &str) {
    for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix(tag).is_some_and(|rest| rest.starts_with('-')) {
            let _ = Command::new("ip").args(["netns", "delete", &name]).output();
        }
    }
}

/// The name of a host, as its processes see it.
pub fn host_name(host: u32) -> String {
    format!("h{host}")
}

/// The address of a host.
pub fn address(host: u32) -> String {
    format!("10.48.0.{}", host + 1)
}

/// The switch's end of a host's cable.
fn port(host: u32) -> String {
    format!("port{host}")
}

/// The hardware address of a host.
fn hardware_address(host: u32) -> String {
    format!("02:00:0a:30:00:{:02x}", host + 1)
}

pub(super) fn no_switch(wanted: &str, error: &io::Error) -> ExperimentError {
    ExperimentError::Machine(format!(
        "no switch between hosts: {error}: {wanted}: run it as root, on a kernel that has them \
         (modprobe tun, modprobe af_packet)"
    ))
}

/// Runs a program that reads `input`.
pub(super) fn run(program: &str, arguments: &[&str], input: &str) -> Result<(), ExperimentError> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let refused = |reason: &str| {
        ExperimentError::Machine(format!(
            "{program} {}: {}: hosts made here are network namespaces: run it as root, with \
             iproute2 and nftables installed",
            arguments.join(" "),
            reason.trim()
        ))
    };
    let mut child = command.spawn().map_err(|error| refused(&error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes()); // who ends early says why itself
    }
    let output = child.wait_with_output().map_err(|error| refused(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(refused(&String::from_utf8_lossy(&output.stderr)))
}
