//! What follows from a configuration: the agent's socket, the address it announces, its node.
//!
//! A start and a check make them in the same way, so that a check finds the errors of a start.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use tidings_gossip::{Incarnation, Member, Node};

use crate::clock::Clock;
use crate::config::{ConfigErrors, Settings};
use crate::control::ControlError;
use crate::home::HomeError;
use crate::incarnation::IncarnationError;
use crate::memory::MemoryError;
use crate::prepare::{Identity, Prepared};
use crate::processor::ProcessorError;
use crate::resolve::{self, Reach, ResolveError};
use crate::socket::{BindError, DatagramSocket, KernelBuffers};

/// Addresses of documentation networks (RFC 5737, RFC 3849): a route to one is the default route.
const ANYWHERE: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), 9),
];

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The runtime directory cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// No incarnation of the node can begin.
    #[error(transparent)]
    Incarnation(#[from] IncarnationError),
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The agent cannot run on the cores, or with the priority, of its settings.
    #[error(transparent)]
    Processor(#[from] ProcessorError),
    /// The control socket cannot be made.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A name of the roster has no usable address.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The roster does not fit this node.
    #[error("{0}")]
    Core(#[from] tidings_gossip::ConfigError),
    /// The agent could need more memory than there is.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The machine has several addresses, or none.
    #[error(
        "cannot tell which of this machine's addresses the other nodes reach ({0}): name it with \
         --advertise IP:PORT; with IPv6 only, listen on [::]:9616"
    )]
    NoAddress(io::Error),
    /// The system denied something that an agent needs.
    #[error("the system denied {what}: {source}")]
    System {
        /// What it denied.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
}

/// The error when the system denies something that an agent needs.
pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { what, source }
}

/// Binds the socket for datagrams.
pub(crate) fn bind(prepared: &Prepared) -> Result<DatagramSocket, BindError> {
    let settings = &prepared.settings;
    let kernel = KernelBuffers {
        receive_bytes: settings.receive_buffer_bytes,
        send_bytes: settings.send_buffer_bytes,
    };
    let datagram_bytes = settings.core().datagram_bytes;
    DatagramSocket::bind(settings.listen, !prepared.keys.is_secret(), datagram_bytes, kernel)
}

/// Which addresses this agent can use.
pub(crate) fn reach(prepared: &Prepared) -> Reach {
    Reach { ipv6: prepared.settings.listen.is_ipv6(), loopback_only: !prepared.keys.is_secret() }
}

/// The node, as it is before its first round.
pub(crate) fn node(
    prepared: &Prepared,
    me: Member,
    roster: &[Member],
    number: u32,
    clock: Clock,
) -> Result<Node, StartError> {
    let seed = getrandom::u64().map_err(|error| StartError::System {
        what: "random numbers",
        source: io::Error::other(error.to_string()),
    })?;
    let (core, keys) = (prepared.settings.core(), prepared.keys.clone());
    let number = Incarnation::new(number);
    let mut node = Node::new(core, keys, me, roster, number, seed, clock.now())?;
    if let Some(Identity { signer, known }) = &prepared.identity {
        node.sign(signer.clone(), known.as_ref())?;
    }
    Ok(node)
}

/// The address to announce: as configured, as on the roster, the one that listens, or the one from
/// which this host sends to `others`, to the first that it has a route to; without any of these the
/// one from which it sends anywhere.
pub(crate) fn own_address(
    settings: &Settings,
    roster: &[Member],
    local: SocketAddr,
    others: &[SocketAddr],
) -> Result<SocketAddr, StartError> {
    if let Some(address) = settings.advertise {
        let port = if address.port() == 0 { local.port() } else { address.port() };
        return Ok(SocketAddr::new(address.ip(), port));
    }
    let on_roster = roster.iter().find(|member| member.name == settings.name);
    if let Some(address) = on_roster.and_then(|me| SocketAddr::try_from(me.address).ok()) {
        return Ok(address);
    }
    if !local.ip().is_unspecified() {
        return Ok(local);
    }
    let mut refused = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for &other in others.iter().chain(&ANYWHERE) {
        if other.is_ipv6() && !local.is_ipv6() {
            continue;
        }
        match source_towards(other) {
            Ok(ip) if is_for_others(ip) => return Ok(SocketAddr::new(ip, local.port())),
            Ok(_) => {}
            Err(error) => refused = error,
        }
    }
    Err(StartError::NoAddress(refused))
}

/// The address from which this host sends to `other`.
fn source_towards(other: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr =
        if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let probe = UdpSocket::bind((any, 0))?; // connecting sends nothing
    probe.connect(other)?;
    Ok(probe.local_addr()?.ip())
}

/// Whether other hosts can send to it: not loopback, and not of one link alone, which needs a name
/// of an interface that only this host knows.
fn is_for_others(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unspecified() && !ip.is_unicast_link_local(),
    }
}

/// The others that are known before anything was received: seeds, and members of the roster but
/// this one.
pub(crate) async fn others(prepared: &Prepared, roster: &[Member]) -> Vec<SocketAddr> {
    let named = |member: &&Member| member.name != prepared.settings.name;
    let members = roster.iter().filter(named);
    let members = members.filter_map(|member| SocketAddr::try_from(member.address).ok());
    let mut others = resolve::at_once(&prepared.settings.seeds, reach(prepared)).await;
    others.extend(members);
    others
}

/// The warning when a node announces a port on which it does not listen itself.
pub(crate) fn port_mismatch(address: SocketAddr, local: SocketAddr) -> Option<String> {
    let differs = local.port() != 0 && address.port() != local.port();
    differs.then(|| {
        format!(
            "this node announces {address} but listens on {local}: unless something forwards from \
             one port to the other, no other node reaches it; set listen"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::settings_of;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn what_is_said_is_announced() {
        let settings = settings_of(&["--advertise", "10.0.0.7:0"]);
        let own = own_address(&settings, &[], address("0.0.0.0:9616"), &[]).expect("said");
        assert_eq!(own, address("10.0.0.7:9616"));
        let own = own_address(&settings_of(&[]), &[], address("[::1]:9616"), &[]).expect("bound");
        assert_eq!(own, address("[::1]:9616"));
    }

    #[test]
    fn addresses_that_nobody_else_reaches_are_passed_over() {
        for ip in ["127.0.0.1", "::1", "fe80::1", "0.0.0.0", "::"] {
            assert!(!is_for_others(ip.parse().expect("an address")), "{ip}");
        }
        for ip in ["10.0.0.1", "fd00::1", "2001:db8::1"] {
            assert!(is_for_others(ip.parse().expect("an address")), "{ip}");
        }
    }
}
