//! Hosts with links of their own from one to the next, as on a torus: no switch is between them.
//!
//! A link is a cable (veth) whose two ends are cards of two hosts, named by their direction, such
//! as `x-up`; with a delay its ends are those of a [`DelayLine`]. Rate is a token bucket (tbf) at
//! each end, so that a link has it in each direction. Such machines lose nothing: a sender waits,
//! so a bucket's queue holds more than there are bytes on the way. Hosts pass packets on as
//! routers, each by a fixed way to each other host ([`Shape`]). A host's address belongs to a card
//! of its own without a link (`eth0`), since no link is more its own than another.
//!
//! Invariant: all of it goes with the [`Mesh`]. Wants root, `ip` and `tc` (iproute2).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;

use tidings_flows::shape::Heading;

use super::cards::{self, Count};
use super::delay_line::{DelayLine, End};
use super::fabric::{CARD, MOST_HOSTS, address, no_switch, remove, run};
use super::network::Network;
use super::shape::{Cable, Shape, card};
use crate::ExperimentError;
use crate::switch::within;

/// Bytes that may wait at an end of a link.
const QUEUE_BYTES: u32 = 16 << 20;
/// The least that a token bucket holds, two full frames: fewer, and it would pass none.
const LEAST_BURST_BYTES: f64 = 3_028.0;
/// A bucket holds what the rate passes in this time, so that it is a rate at all times but shorter
/// ones.
const BURST_S: f64 = 1e-3;
/// What a host of a machine with links of its own does otherwise than one of the internet: it
/// passes packets on, does not complain of their way, and sends at full speed after a pause too.
const SETTINGS: [(&str, &str); 5] = [
    ("ip_forward", "1"),
    ("conf/all/send_redirects", "0"),
    ("conf/default/send_redirects", "0"),
    ("conf/all/rp_filter", "0"),
    ("tcp_slow_start_after_idle", "0"),
];

/// Without this a host asks for IPv6 routers, now and then, on each card: 48 bytes that nobody sent
/// stand in the counters of a link.
const NO_IPV6: &str = "/proc/sys/net/ipv6/conf/all/disable_ipv6";

/// Hosts with links from each to its neighbours.
#[derive(Debug)]
pub struct Mesh {
    tag: String,
    shape: Shape,
    network: Network,
    line: Option<DelayLine>,
}

impl Mesh {
    /// Makes all hosts of a shape.
    ///
    /// # Errors
    /// [`ExperimentError::Machine`] with what was refused; nothing is left behind.
    pub fn new(tag: String, shape: Shape, network: &Network) -> Result<Self, ExperimentError> {
        let hosts = shape.hosts();
        if hosts > MOST_HOSTS {
            let reason = format!("{shape}: one machine is made {MOST_HOSTS} at most");
            return Err(ExperimentError::Machine(reason));
        }
        // What is there already goes when it is dropped.
        let mut mesh = Self { tag, shape, network: *network, line: None };
        let names = (0..hosts).map(|host| format!("netns add {}\n", mesh.namespace(host)));
        run("ip", &["-batch", "-"], &names.collect::<String>())?;
        mesh.lay_cables()?;
        (0..hosts).try_for_each(|host| mesh.settle(host))?;
        Ok(mesh)
    }

    fn lay_cables(&mut self) -> Result<(), ExperimentError> {
        if self.network.delay_us > 0.0 {
            let ends = self.shape.cables().into_iter().flat_map(|cable| Self::ends(&cable));
            let ends =
                ends.map(|(host, way)| End { namespace: self.namespace(host), card: card(way) });
            let line = DelayLine::cables(ends.collect(), self.network.delay_us);
            let line = line.map_err(|error| no_switch("delay_us wants TUN devices", &error))?;
            self.line = Some(line);
            return Ok(());
        }
        let mut lines = String::new();
        for cable in self.shape.cables() {
            let [low, high] = Self::ends(&cable).map(|(host, way)| {
                let (card, namespace) = (card(way), self.namespace(host));
                format!("name {card} address {} netns {namespace}", hardware_address(host, way))
            });
            let _ = writeln!(lines, "link add {low} type veth peer {high}");
        }
        run("ip", &["-batch", "-"], &lines)
    }

    /// The hosts of a cable, and the way by which it leaves each.
    fn ends(cable: &Cable) -> [(u32, Heading); 2] {
        let axis = cable.axis;
        [(cable.low, Heading { axis, is_up: true }), (cable.high, Heading { axis, is_up: false })]
    }

    /// The ways from a host along its cables, with the neighbour and the way back.
    fn ways(&self, host: u32) -> Vec<(Heading, u32, Heading)> {
        let mut ways = Vec::new();
        for cable in self.shape.cables() {
            let [(low, up), (high, down)] = Self::ends(&cable);
            ways.extend((low == host).then_some((up, high, down)));
            ways.extend((high == host).then_some((down, low, up)));
        }
        ways
    }

    /// Gives a host its address, its ways to all others, and its links their rates.
    fn settle(&self, host: u32) -> Result<(), ExperimentError> {
        let (name, own) = (self.namespace(host), address(host));
        let set = || {
            if fs::exists(NO_IPV6)? {
                fs::write(NO_IPV6, "1")?;
            }
            SETTINGS.iter().try_for_each(|(setting, value)| {
                fs::write(format!("/proc/sys/net/ipv4/{setting}"), value)
            })
        };
        within(&name, set).map_err(|error| {
            ExperimentError::Machine(format!(
                "hosts that pass packets on want /proc/sys/net writable ({error}): run it as \
                 root, outside a container that forbids it"
            ))
        })?;
        let mut lines = format!(
            "link set lo up\nlink add {CARD} type veth peer name {CARD}-end\n\
             link set {CARD}-end addrgenmode none up\nlink set {CARD} addrgenmode none up\n\
             address add {own}/32 dev {CARD}\n"
        );
        let mut buckets = String::new();
        for (way, neighbour, back) in self.ways(host) {
            let (card, far) = (card(way), hardware_address(neighbour, back));
            let _ = writeln!(lines, "link set {card} gso_max_segs 1 addrgenmode none up");
            if self.line.is_none() {
                let to = address(neighbour);
                let _ = writeln!(lines, "neighbour add {to} lladdr {far} dev {card} nud permanent");
            }
            if let Some(rate_mbit) = self.network.rate_along(way.axis) {
                let (rate, burst) = (rate_mbit * 1e6, burst_bytes(rate_mbit));
                let bucket = format!("tbf rate {rate:.0} burst {burst:.0} limit {QUEUE_BYTES}");
                let _ = writeln!(buckets, "qdisc add dev {card} root {bucket}");
            }
        }
        for other in 0..self.count() {
            let Some(way) = self.shape.first_step(host, other) else { continue };
            let (to, card) = (address(other), card(way));
            let by = match &self.line {
                Some(_) => String::new(),
                None => format!("via {} onlink ", address(self.shape.next(host, way))),
            };
            let _ = writeln!(lines, "route add {to}/32 {by}dev {card} src {own}");
        }
        run("ip", &["-n", &name, "-batch", "-"], &lines)?;
        if buckets.is_empty() { Ok(()) } else { run("tc", &["-n", &name, "-batch", "-"], &buckets) }
    }

    /// How many hosts there are.
    pub fn count(&self) -> u32 {
        self.shape.hosts()
    }

    /// What was asked for.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// All links, each for both directions.
    pub fn cables(&self) -> Vec<Cable> {
        self.shape.cables()
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: u32) -> String {
        format!("{}-{host}", self.tag)
    }

    /// What the cards of a host have counted, by their names.
    ///
    /// # Errors
    /// What the system says.
    pub fn counts(&self, host: u32) -> io::Result<BTreeMap<String, Count>> {
        cards::counts(&self.namespace(host))
    }

    /// The bytes of a frame on a link that holds so many of IP: a packet alone on a delay line.
    pub(super) fn frame_bytes(&self, packet_bytes: usize) -> usize {
        packet_bytes + if self.line.is_some() { 0 } else { ETHERNET_BYTES }
    }
}

/// Destination, source and kind: what a frame of a cable begins with.
const ETHERNET_BYTES: usize = 14;

/// What the bucket of a link holds.
pub(super) fn burst_bytes(rate_mbit: f64) -> f64 {
    (rate_mbit * 1e6 / 8.0 * BURST_S).max(LEAST_BURST_BYTES)
}

/// The hardware address of a card.
fn hardware_address(host: u32, way: Heading) -> String {
    let card = 2 * way.axis + usize::from(way.is_up);
    format!("02:00:0a:30:{:02x}:{card:02x}", host + 1)
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.line = None; // a thread holds namespaces alive
        remove(&self.tag);
    }
}
