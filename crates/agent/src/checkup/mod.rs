//! A checkup: what lies between this node and another, tried by datagrams on a socket of its own.
//!
//! The socket is not the agent's: so the kernel says of this one address what it knows (no route,
//! nobody there, port closed, too long), and the loop of the agent is not concerned. What is sent
//! is sealed as the agent's datagrams are, in a life of its own ([`Checker`]). The other agent
//! answers with what it is configured to, or rejects with what differs.
//!
//! A silent host cannot be told from a firewall that drops, nor from an agent of an earlier
//! release; the finding then names all three.

mod judge;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use quinn_udp::UdpSocketState;
use tidings_control::{Checkup, Finding};
use tidings_gossip::{Checker, Heard};
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::timeout;

use crate::clock::Clock;
use crate::prepare::is_loopback;
use crate::refusals;
use crate::resolve::Reach;
use judge::{ok, wrong};

/// How long one datagram is waited for.
const WAIT: Duration = Duration::from_millis(400);
/// How often a check is sent before it counts as lost: a host that is not there is reported by the
/// kernel after 3 s.
const TRIES: u32 = 10;
/// The same for one size, once it is known that short ones pass.
const SIZE_TRIES: u32 = 3;
/// How long a name service may take.
const LOOKUP: Duration = Duration::from_secs(10);
/// Sizes that are tried where the largest does not pass, in bytes: those of usual tunnels.
const SIZES: [usize; 8] = [8972, 1472, 1452, 1432, 1400, 1350, 1232, 548];
/// The longest datagram.
const MOST_BYTES: usize = 65_535;

/// What a checkup knows of this node.
pub(crate) struct Asking {
    pub(crate) checker: Checker,
    /// What was asked for.
    pub(crate) host: String,
    /// The address of the member of that name, if there is one.
    pub(crate) member: Option<SocketAddr>,
    /// The port where none is given.
    pub(crate) port: u16,
    /// The address that the agent's socket listens on.
    pub(crate) listen: IpAddr,
    /// What this node announces, `IP:PORT`.
    pub(crate) announced: String,
    pub(crate) reach: Reach,
    /// The bytes of the agent's datagrams at most.
    pub(crate) datagram_bytes: usize,
}

impl Asking {
    /// Tries everything, one after the other, until something is in the way.
    pub(crate) async fn run(mut self) -> Checkup {
        let mut checkup = Checkup { host: self.host.clone(), ..Checkup::default() };
        let address = match self.find().await {
            Ok(address) => address,
            Err(text) => {
                checkup.findings.push(wrong("address", text));
                return checkup;
            }
        };
        checkup.address = Some(address.to_string());
        if address.to_string() == self.announced {
            checkup.findings.push(wrong("address", format!("{address} is this node itself")));
            return checkup;
        }
        match self.connect(address) {
            Ok(socket) => self.converse(&socket, address, &mut checkup.findings).await,
            Err(error) => checkup.findings.push(judge::unsent(&error, address)),
        }
        checkup
    }

    /// The address that is meant.
    async fn find(&self) -> Result<SocketAddr, String> {
        if let Some(member) = self.member {
            return Ok(member);
        }
        let host = &self.host;
        let literal = host.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, self.port));
        let address = match host.parse().or(literal) {
            Ok(address) => address,
            Err(_) => self.look_up().await?,
        };
        if !self.reach.ipv6 && address.is_ipv6() {
            return Err(format!(
                "{address} is an IPv6 address, and this agent listens on IPv4 only: set listen to \
                 [::]:{}",
                self.port
            ));
        }
        if self.reach.loopback_only && !is_loopback(address.ip()) {
            return Err(format!(
                "{address} is not on this machine, and without a key nothing leaves it: set keys"
            ));
        }
        Ok(address)
    }

    async fn look_up(&self) -> Result<SocketAddr, String> {
        let host = &self.host;
        let text = if host.contains(':') { host.clone() } else { format!("{host}:{}", self.port) };
        let unknown = |reason: &dyn std::fmt::Display| {
            format!(
                "no member is called {host}, and the name cannot be resolved ({reason}): check its \
                 spelling and the name service"
            )
        };
        let found = match timeout(LOOKUP, lookup_host(text)).await {
            Ok(found) => found.map_err(|error| unknown(&error))?,
            Err(_) => return Err(unknown(&"no answer in 10 s")),
        };
        let fits = |address: &SocketAddr| self.reach.ipv6 || address.is_ipv4();
        let mut found: Vec<SocketAddr> = found.collect();
        found.sort_by_key(|address| !fits(address));
        found.first().copied().ok_or_else(|| unknown(&"it has no address"))
    }

    /// A socket that sends to `address` only, and receives from there only.
    fn connect(&self, address: SocketAddr) -> io::Result<UdpSocket> {
        let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        let same = self.listen.is_ipv4() == address.is_ipv4();
        let own = if same { self.listen } else { any };
        let socket = std::net::UdpSocket::bind((own, 0))?;
        socket.set_nonblocking(true)?;
        // It forbids fragments, as the agent's socket does.
        let _state = UdpSocketState::new((&socket).into())?;
        // Otherwise the kernel would not say that no host answers there.
        refusals::ask_for(&socket, address.is_ipv6())?;
        socket.connect(address)?;
        UdpSocket::from_std(socket)
    }

    async fn converse(
        &mut self,
        socket: &UdpSocket,
        address: SocketAddr,
        findings: &mut Vec<Finding>,
    ) {
        let short = Checker::LEAST_BYTES.max(SIZES[SIZES.len() - 1]).min(self.datagram_bytes);
        let (heard, took) = match self.ask(socket, short, TRIES).await {
            Ok(Some(heard)) => heard,
            Ok(None) => return findings.push(judge::silent(address)),
            Err(error) => return findings.push(judge::unsent(&error, address)),
        };
        findings.push(ok("port", format!("an agent answers at {address}")));
        match heard {
            Heard::Reject(reject) => findings.push(judge::rejected(&reject)),
            Heard::Answer(checked) => {
                let own = judge::Own {
                    format: self.checker.format(),
                    reads: self.checker.reads(),
                    version: self.checker.version(),
                    announced: &self.announced,
                    wall_micros: Clock::wall_micros(),
                };
                findings.extend(own.compare(&checked, took));
                findings.push(self.largest(socket).await);
            }
        }
    }

    /// Whether the longest datagrams pass, or which do.
    async fn largest(&mut self, socket: &UdpSocket) -> Finding {
        let most = self.datagram_bytes;
        if self.passes(socket, most).await {
            return ok("mtu", format!("datagrams of {most} bytes pass in both directions"));
        }
        for bytes in SIZES.into_iter().filter(|&bytes| bytes < most) {
            if self.passes(socket, bytes).await {
                return judge::narrow(most, bytes);
            }
        }
        wrong("mtu", format!("datagrams of {most} bytes do not pass, and no others do any more"))
    }

    async fn passes(&mut self, socket: &UdpSocket, bytes: usize) -> bool {
        let heard = self.ask(socket, bytes, SIZE_TRIES).await;
        matches!(heard, Ok(Some((Heard::Answer(_), _))))
    }

    /// Sends a check of `bytes` until something comes back; how long that took at last.
    async fn ask(
        &mut self,
        socket: &UdpSocket,
        bytes: usize,
        tries: u32,
    ) -> io::Result<Option<(Heard, Duration)>> {
        let mut datagram = vec![0; bytes.max(Checker::LEAST_BYTES)];
        let mut buffer = vec![0; MOST_BYTES];
        for _ in 0..tries {
            let token = getrandom::u64().unwrap_or(bytes as u64);
            self.checker.write(token, &mut datagram);
            let begun = Instant::now();
            socket.send(&datagram).await?;
            while let Some(left) = WAIT.checked_sub(begun.elapsed()) {
                let Ok(received) = timeout(left, socket.recv(&mut buffer)).await else { break };
                match self.checker.read(&mut buffer[..received?]) {
                    // An answer to a shorter one says nothing of this one.
                    Some(Heard::Answer(checked)) if checked.token != token => {}
                    Some(heard) => return Ok(Some((heard, begun.elapsed()))),
                    None => {}
                }
            }
        }
        Ok(None)
    }
}
