//! The one UDP socket: many datagrams per system call where the kernel can, and no fatal error.
//!
//! Sending goes through GSO (one call for up to 64 datagrams to one node), receiving through GRO
//! and recvmmsg; the quinn-udp crate detects what the kernel supports. Buffers are made once. A
//! full send buffer holds back one transmit until the socket is writable again; every other failure
//! is counted and forgotten, as a lost datagram would be.
//!
//! The thread waits for datagrams, and for room only while a transmit is held back: the kernel
//! reports room whenever a datagram has gone out, and that would wake the thread for each.

use std::array;
use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use quinn_udp::{RecvMeta, UdpSocketState};
use tidings_gossip::{Address, Transmit};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::prepare::is_loopback;
use crate::refusals;
use crate::watched::watch;

/// Datagram buffers passed to one receiving call.
const BATCH: usize = 8;

/// Bytes of a receive buffer: the largest GRO batch.
const BUFFER_BYTES: usize = 65_536;

/// The most payload of one sending call: 64 KiB less the headers of IPv6 and UDP.
const SEND_BYTES: usize = 65_536 - 48;

/// Datagrams received in a row before timers and requests get their turn.
const RECEIVE_MOST: usize = 512;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program uses the port.
    #[error("{address} is in use by another program: stop it, or choose another with {flag}")]
    InUse {
        /// The address.
        address: SocketAddr,
        /// The flag that names it.
        flag: &'static str,
    },
    /// The address is another machine's.
    #[error("{address} is not an address of this machine: choose one that is with {flag}")]
    NotOurs {
        /// The address.
        address: SocketAddr,
        /// The flag that names it.
        flag: &'static str,
    },
    /// Anything else.
    #[error("cannot listen on {address} ({source}): choose another address with {flag}")]
    Other {
        /// The address.
        address: SocketAddr,
        /// The flag that names it.
        flag: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl BindError {
    /// The error `source` of binding to `address`, which `flag` names.
    pub(crate) fn new(address: SocketAddr, flag: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::InUse { address, flag },
            io::ErrorKind::AddrNotAvailable => Self::NotOurs { address, flag },
            _ => Self::Other { address, flag, source },
        }
    }
}

/// Bytes of the buffers between socket and node.
pub(crate) const BUFFERS_BYTES: u64 = (BATCH * BUFFER_BYTES + SEND_BYTES) as u64;

/// Counters of the socket's calls and failures.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketCounters {
    pub(crate) send_calls: u64,
    pub(crate) send_blocked: u64,
    pub(crate) send_too_large: u64,
    pub(crate) send_refused: u64,
    pub(crate) send_nowhere: u64,
    pub(crate) send_failed: u64,
    pub(crate) receive_calls: u64,
    pub(crate) receive_failed: u64,
    pub(crate) came_back: u64,
}

/// The socket with its buffers.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: AsyncFd<UdpSocket>,
    state: UdpSocketState,
    ipv6: bool,
    loopback_only: bool,
    receive_buffer: Box<[u8]>,
    send_buffer: Box<[u8]>,
    blocked: Option<Transmit>,
    /// A copy of the socket, to wait for room for the transmit that is held back.
    room: Option<AsyncFd<OwnedFd>>,
    counters: SocketCounters,
    last_error: Option<io::Error>,
    /// A datagram sent earlier was refused.
    came_back: bool,
}

/// Sizes requested from the kernel; it may grant less.
#[derive(Clone, Copy, Debug)]
pub struct KernelBuffers {
    /// For datagrams that have arrived and wait to be read.
    pub receive_bytes: usize,
    /// For datagrams on their way out.
    pub send_bytes: usize,
}

impl DatagramSocket {
    /// Binds to `address`. With `loopback_only` nothing is sent to any other address. No datagram
    /// sent may be larger than `datagram_bytes`. Needs a tokio runtime around it.
    ///
    /// # Errors
    /// When the address is in use or not this machine's, or the system refuses.
    pub fn bind(
        address: SocketAddr,
        loopback_only: bool,
        datagram_bytes: u16,
        kernel: KernelBuffers,
    ) -> Result<Self, BindError> {
        let open = || -> io::Result<Self> {
            let socket = UdpSocket::bind(address)?;
            socket.set_nonblocking(true)?;
            let state = UdpSocketState::new((&socket).into())?;
            // The kernel caps what it grants; less only costs datagrams in bursts.
            let _ = state.set_recv_buffer_size((&socket).into(), kernel.receive_bytes);
            let _ = state.set_send_buffer_size((&socket).into(), kernel.send_bytes);
            // Without it the death of a process is detected by its silence.
            let _ = refusals::ask_for(&socket, address.is_ipv6());
            let segments = state.max_gso_segments();
            let send_bytes = (segments * usize::from(datagram_bytes)).min(SEND_BYTES);
            Ok(Self {
                socket: watch(socket, Interest::READABLE)?,
                state,
                ipv6: address.is_ipv6(),
                loopback_only,
                receive_buffer: vec![0; BATCH * BUFFER_BYTES].into_boxed_slice(),
                send_buffer: vec![0; send_bytes].into_boxed_slice(),
                blocked: None,
                room: None,
                counters: SocketCounters::default(),
                last_error: None,
                came_back: false,
            })
        };
        open().map_err(|source| BindError::new(address, "--listen", source))
    }

    /// Where the socket listens, with the real port for port 0.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.get_ref().local_addr()
    }

    /// How many datagrams one sending call may carry.
    pub(crate) fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// What happened so far.
    pub(crate) fn counters(&self) -> SocketCounters {
        self.counters
    }

    /// The most recent failure since the last call, for the log.
    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        self.last_error.take()
    }

    /// Waits until there is something to receive or, if a transmit is held back, room to send it.
    pub(crate) async fn ready(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_ready(context)).await
    }

    /// Whether there is something to receive or, if a transmit is held back, room to send it. The
    /// last task that asked is woken when there is.
    pub(crate) fn poll_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(room) = &self.room {
            if let Poll::Ready(room) = room.poll_write_ready(context) {
                return Poll::Ready(room.map(drop));
            }
        }
        ready!(self.socket.poll_read_ready(context))?.retain_ready();
        Poll::Ready(Ok(()))
    }

    /// Passes on the addresses without a listener that hosts have reported since the last call.
    pub(crate) fn take_refusals(&mut self, mut each: impl FnMut(SocketAddr)) {
        if std::mem::take(&mut self.came_back) {
            let count = &mut self.counters.came_back;
            refusals::take(self.socket.get_ref(), |address| {
                *count += 1;
                each(address);
            });
        }
    }

    /// Whether a transmit is held back.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// Receives waiting datagrams, up to a bound, and passes on each with its sender.
    pub(crate) fn receive(&mut self, mut each: impl FnMut(SocketAddr, &mut [u8])) {
        let (mut taken, mut again) = (0, false);
        while taken < RECEIVE_MOST {
            let mut metas = [RecvMeta::default(); BATCH];
            match self.receive_batch(&mut metas) {
                Ok(filled) => {
                    let buffers = self.receive_buffer.chunks_exact_mut(BUFFER_BYTES);
                    for (meta, buffer) in metas[..filled].iter().zip(buffers) {
                        let from = canonical(meta.addr);
                        for datagram in buffer[..meta.len].chunks_mut(meta.stride.max(1)) {
                            each(from, datagram);
                            taken += 1;
                        }
                    }
                    if filled < BATCH {
                        return;
                    }
                }
                // The call only reported the error, and has received nothing itself.
                Err(error) if refusals::is_about_earlier(&error) && !again => {
                    (self.came_back, again) = (true, true);
                }
                Err(error) => {
                    self.counters.receive_failed += 1;
                    self.last_error = Some(error);
                    return;
                }
            }
        }
    }

    /// One receiving call; 0 when there is nothing.
    ///
    /// A call that fills fewer buffers than it was given has emptied the kernel's queue, so it ends
    /// the socket's readiness, and no second call is needed to find it empty.
    fn receive_batch(&mut self, metas: &mut [RecvMeta; BATCH]) -> io::Result<usize> {
        let mut buffers = self.receive_buffer.chunks_exact_mut(BUFFER_BYTES);
        let mut slices: [IoSliceMut<'_>; BATCH] =
            array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        self.counters.receive_calls += 1;
        let mut received = Ok(0);
        let asked = self.socket.try_io(Interest::READABLE, |socket| {
            received = self.state.recv(socket.into(), &mut slices, metas);
            match &received {
                Ok(BATCH) => Ok(()),
                Ok(_) => Err(io::ErrorKind::WouldBlock.into()),
                Err(error) => Err(error.kind().into()),
            }
        });
        match asked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(received.unwrap_or(0)),
            _ => received,
        }
    }

    /// Sends what `fill` writes into the buffer, until it is done or the kernel's send
    /// buffer is full; the transmit that found it full is kept for the next call.
    pub(crate) fn send(&mut self, mut fill: impl FnMut(&mut [u8]) -> Option<Transmit>) {
        loop {
            let next = self.blocked.take().or_else(|| fill(&mut self.send_buffer));
            let Some(transmit) = next else { return };
            let mut sent = self.send_one(&transmit);
            if sent.as_ref().is_err_and(refusals::is_about_earlier) {
                // The call only reported the error, and has sent nothing itself.
                self.came_back = true;
                sent = self.send_one(&transmit);
            }
            self.room = None;
            match sent {
                Ok(()) => {}
                Err(error) if refusals::is_about_earlier(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.counters.send_blocked += 1;
                    // Without a descriptor to wait with, the next turn of the loop tries again.
                    self.room = self.wait_for_room().ok();
                    self.blocked = Some(transmit);
                    return;
                }
                Err(error) => self.count_failure(error),
            }
        }
    }

    fn wait_for_room(&self) -> io::Result<AsyncFd<OwnedFd>> {
        let again = self.socket.get_ref().as_fd().try_clone_to_owned()?;
        watch(again, Interest::WRITABLE)
    }

    fn send_one(&mut self, transmit: &Transmit) -> io::Result<()> {
        if transmit.to == Address::NOWHERE {
            self.counters.send_nowhere += 1;
            return Ok(());
        }
        let to = SocketAddr::try_from(transmit.to).map_err(io::Error::other)?;
        if self.loopback_only && !is_loopback(to.ip()) {
            self.counters.send_refused += 1;
            return Ok(());
        }
        let several = transmit.bytes > transmit.segment_bytes;
        let outgoing = quinn_udp::Transmit {
            destination: if self.ipv6 { mapped(to) } else { to },
            ecn: None,
            contents: &self.send_buffer[..transmit.bytes],
            segment_size: several.then_some(transmit.segment_bytes),
            src_ip: None,
        };
        self.counters.send_calls += 1;
        self.state.try_send(self.socket.get_ref().into(), &outgoing)
    }

    fn count_failure(&mut self, error: io::Error) {
        if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) {
            self.counters.send_too_large += 1;
            self.last_error = Some(io::Error::new(error.kind(), TooLarge(error)));
        } else {
            self.counters.send_failed += 1;
            self.last_error = Some(error);
        }
    }
}

/// A datagram does not fit on its way.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0}: a network on the way takes smaller packets than `mtu` says; set mtu to the smallest MTU \
     between the nodes, on all of them"
)]
struct TooLarge(io::Error);

/// An IPv4 address that came in through an IPv6 socket, as IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// An IPv4 address in the form for an IPv6 socket.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: KernelBuffers = KernelBuffers { receive_bytes: 65_536, send_bytes: 65_536 };

    fn loopback() -> DatagramSocket {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        DatagramSocket::bind(address, true, 100, KERNEL).expect("a free port")
    }

    fn transmit(to: SocketAddr, bytes: usize, segment_bytes: usize) -> Transmit {
        Transmit { to: to.into(), bytes, segment_bytes }
    }

    /// Sends until nothing is held back.
    async fn send(
        socket: &mut DatagramSocket,
        mut fill: impl FnMut(&mut [u8]) -> Option<Transmit>,
    ) {
        socket.send(&mut fill);
        while socket.is_blocked() {
            socket.ready().await.expect("a working socket");
            socket.send(&mut fill);
        }
    }

    #[tokio::test]
    async fn one_call_carries_many_datagrams_where_the_kernel_can() {
        let (mut sender, mut receiver) = (loopback(), loopback());
        let to = receiver.local_address().expect("bound");
        let segments = sender.segments().min(3);
        let mut one = Some(transmit(to, segments * 100 - 40, 100));
        let fill = |buffer: &mut [u8]| {
            (0..segments).for_each(|at| buffer[at * 100..][..100].fill(at as u8));
            one.take()
        };
        send(&mut sender, fill).await;
        let mut lengths = Vec::new();
        while lengths.len() < segments {
            receiver.ready().await.expect("a working socket");
            receiver.receive(|_, datagram| lengths.push((datagram[0], datagram.len())));
        }
        let mut expected: Vec<_> = (0..segments).map(|at| (at as u8, 100)).collect();
        expected.last_mut().expect("at least one").1 = 60;
        assert_eq!(lengths, expected);
    }

    /// A call that returns fewer datagrams than it had room for is the last one, and a datagram
    /// that arrives after it still wakes the thread.
    #[tokio::test]
    async fn no_extra_call_is_made_to_find_the_queue_empty() {
        let (mut sender, mut receiver) = (loopback(), loopback());
        let to = receiver.local_address().expect("bound");
        for (datagrams, calls) in [(1, 1), (BATCH, 2), (BATCH + 1, 2), (1, 1), (3, 1)] {
            let mut left = datagrams;
            let fill = |_: &mut [u8]| {
                left = left.checked_sub(1)?;
                Some(transmit(to, 100, 100))
            };
            send(&mut sender, fill).await;
            let before = receiver.counters().receive_calls;
            receiver.ready().await.expect("a working socket");
            let mut taken = 0;
            receiver.receive(|_, _| taken += 1);
            assert_eq!(taken, datagrams);
            assert_eq!(receiver.counters().receive_calls - before, calls);
        }
    }

    #[tokio::test]
    async fn failures_are_counted_and_nothing_more() {
        let mut socket = loopback();
        let mut queue = vec![
            transmit(SocketAddr::from(([10, 0, 0, 1], 9)), 10, 10),
            transmit(SocketAddr::from(([127, 0, 0, 1], 0)), 10, 10),
        ];
        send(&mut socket, |_| queue.pop()).await;
        assert_eq!(socket.counters().send_refused, 1, "not loopback");
        assert_eq!(socket.counters().send_failed, 1, "port 0");
        assert!(socket.take_error().is_some());
    }

    #[tokio::test]
    async fn a_datagram_that_is_too_large_names_the_setting() {
        let mut socket = loopback();
        let number = rustix::io::Errno::MSGSIZE.raw_os_error();
        socket.count_failure(io::Error::from_raw_os_error(number));
        assert_eq!(socket.counters().send_too_large, 1);
        let error = socket.take_error().expect("it is told").to_string();
        assert!(error.contains("set mtu to the smallest MTU"), "{error}");
    }

    #[tokio::test]
    async fn a_taken_port_is_named_with_its_flag() {
        let taken = loopback().local_address().expect("bound");
        let holder = std::net::UdpSocket::bind(taken).expect("free again");
        let error = DatagramSocket::bind(taken, true, 100, KERNEL).expect_err("taken");
        let expected = format!(
            "{taken} is in use by another program: stop it, or choose another with --listen"
        );
        assert_eq!(error.to_string(), expected);
        drop(holder);
    }

    #[test]
    fn addresses_survive_an_ipv6_socket() {
        let address = SocketAddr::from(([10, 0, 0, 1], 9616));
        assert_eq!(canonical(mapped(address)), address);
    }
}
