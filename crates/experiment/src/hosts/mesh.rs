//! Hosts with links of their own from one to the next, as on a torus: no switch is between them.
//!
//! A link is a cable (veth) whose two ends are cards of two hosts, named by their direction, such
//! as `x-up`; with a delay its ends are those of a [`DelayLine`]. Each may have a rate and a delay
//! of its own ([`Cabling`]). Rate is a token bucket (tbf) at each end, so that a link has it in
//! each direction. Such machines lose nothing: a sender waits, so a bucket's queue holds more than
//! there are bytes on the way. Hosts pass packets on as routers, each by a fixed way to each other
//! host ([`Shape`]). A host's address belongs to a card of its own without a link (`eth0`), since
//! no link is more its own than another.
//!
//! Invariant: all of it goes with the [`Mesh`]. Wants root, `ip` and `tc` (iproute2).

use std::collections::BTreeMap;
use std::fs;
use std::io;

use super::cabling::Cabling;
use super::cards::{self, Count};
use super::delay_line::DelayLine;
use super::fabric::{MOST_HOSTS, no_switch, remove, run};
use super::network::Network;
use super::shape::{Cable, Shape};
use crate::ExperimentError;
use crate::switch::within;

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
    cabling: Cabling,
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
        let cabling = Cabling { tag, shape, network: network.clone() };
        let mut mesh = Self { cabling, line: None };
        let names = (0..hosts).map(|host| format!("netns add {}\n", mesh.namespace(host)));
        run("ip", &["-batch", "-"], &names.collect::<String>())?;
        mesh.lay_cables()?;
        (0..hosts).try_for_each(|host| mesh.settle(host))?;
        Ok(mesh)
    }

    fn lay_cables(&mut self) -> Result<(), ExperimentError> {
        let ends = self.cabling.delayed_ends();
        if !ends.is_empty() {
            let line = DelayLine::cables(ends);
            let line = line.map_err(|error| no_switch("delay_us wants TUN devices", &error))?;
            self.line = Some(line);
        }
        tell("ip", &["-batch", "-"], &self.cabling.pairs())
    }

    /// Gives a host its address, its ways to all others, and its links their rates.
    fn settle(&self, host: u32) -> Result<(), ExperimentError> {
        let name = self.namespace(host);
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
        let words = ["-n", &name, "-batch", "-"];
        tell("ip", &words, &self.cabling.settings(host))?;
        tell("tc", &words, &self.cabling.buckets(host))
    }

    /// How many hosts there are.
    pub fn count(&self) -> u32 {
        self.cabling.shape.hosts()
    }

    /// What was asked for.
    pub fn network(&self) -> &Network {
        &self.cabling.network
    }

    /// All links, each for both directions.
    pub fn cables(&self) -> Vec<Cable> {
        self.cabling.shape.cables()
    }

    /// The namespace of a host.
    pub fn namespace(&self, host: u32) -> String {
        self.cabling.namespace(host)
    }

    /// What the cards of a host have counted, by their names.
    ///
    /// # Errors
    /// What the system says.
    pub fn counts(&self, host: u32) -> io::Result<BTreeMap<String, Count>> {
        cards::counts(&self.namespace(host))
    }

    /// The bytes of a frame on a link that holds so many of IP: a packet alone on a delay line.
    pub(super) fn frame_bytes(&self, cable: &Cable, packet_bytes: usize) -> usize {
        packet_bytes + if self.cabling.is_delayed(cable) { 0 } else { ETHERNET_BYTES }
    }
}

/// Destination, source and kind: what a frame of a cable begins with.
const ETHERNET_BYTES: usize = 14;

/// Tells a program these lines, if there are any.
fn tell(program: &str, words: &[&str], lines: &str) -> Result<(), ExperimentError> {
    if lines.is_empty() { Ok(()) } else { run(program, words, lines) }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.line = None; // a thread holds namespaces alive
        remove(&self.cabling.tag);
    }
}
