//! What follows from a configuration: the agent's socket, the address it announces, its node.
//!
//! A start and a check make them in the same way, so that a check finds the errors of a start.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use tidings_gossip::{Incarnation, Member, Node};

use crate::clock::Clock;
use crate::config::{ConfigErrors, Settings};
use crate::control::ControlError;
use crate::home::HomeError;
use crate::incarnation::IncarnationError;
use crate::memory::MemoryError;
use crate::prepare::Prepared;
use crate::processor::ProcessorError;
use crate::resolve::{Reach, ResolveError};
use crate::socket::{BindError, DatagramSocket, KernelBuffers};

/// An address of a documentation network (RFC 5737): a route to it is the default route.
const ANYWHERE: &str = "192.0.2.1:9";

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
         --advertise IP:PORT"
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
    Ok(Node::new(core, keys, me, roster, Incarnation::new(number), seed, clock.now())?)
}

/// The address to announce: as configured, as on the roster, or the one that listens.
pub(crate) fn own_address(
    settings: &Settings,
    roster: &[Member],
    local: SocketAddr,
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
    let routed = || {
        let probe = UdpSocket::bind("0.0.0.0:0")?; // connecting sends nothing
        probe.connect(ANYWHERE)?;
        probe.local_addr()
    };
    let routed = routed().map_err(StartError::NoAddress)?;
    Ok(SocketAddr::new(routed.ip(), local.port()))
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
