//! Ways of messages to a responder, and of answers back.
//!
//! A way may lose, double and reorder what it carries; the caller's ledger makes that good. On a
//! [`RingPath`] a message is a frame that is made but for its bytes, and answers are found in
//! memory, where the soft interrupt has put them. On a [`SocketPath`] both are datagrams.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::io::Errno;

use super::bpf::{self, Mapped};
use super::error::ActiveError;
use super::message::{MESSAGE_BYTES, MOST_MERGED, Reply};
use super::programs::collector;
use super::responder::index_of;
use super::ring::{self, Reader};
use super::session::Session;
use crate::carrier::{Carrier, Handover};
use crate::frame::{Ends, Frame};

/// The bytes of the longest message.
const MOST_BYTES: usize = MESSAGE_BYTES + 8 * MOST_MERGED;

/// How long a look for an answer waits where it sleeps: four times as long as until a message is
/// sent again.
const SLEEP: Duration = Duration::from_millis(1);

/// A way.
pub trait Path {
    /// Sends a message, or loses it.
    ///
    /// # Errors
    /// If no message can be sent, now or later.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// The next answer, if one is there.
    ///
    /// # Errors
    /// If no answer can be received, now or later.
    fn receive(&mut self) -> io::Result<Option<Reply>>;

    /// Whether a look for an answer sleeps for a moment if none is there.
    fn sleeps(&self) -> bool {
        false
    }
}

/// Datagrams.
#[derive(Debug)]
pub struct SocketPath {
    socket: UdpSocket,
    sleeps: bool,
    bytes: Box<[u8; MOST_BYTES]>,
}

impl SocketPath {
    /// A way from any port of this host; while it waits it sleeps, or else it spins.
    ///
    /// # Errors
    /// If there is no socket for it, or no way to the responder.
    pub fn open(session: &Session, sleeps: bool) -> Result<Self, ActiveError> {
        let system = |call| move |source| ActiveError::System { call, source };
        let socket = UdpSocket::bind("0.0.0.0:0").map_err(system("bind"))?;
        socket.connect(session.address).map_err(system("connect"))?;
        if sleeps {
            socket.set_read_timeout(Some(SLEEP)).map_err(system("setsockopt"))?;
        } else {
            socket.set_nonblocking(true).map_err(system("ioctl"))?;
        }
        Ok(Self { socket, sleeps, bytes: Box::new([0; MOST_BYTES]) })
    }
}

/// What is as if a message or an answer were lost: a full queue, nothing there, a port that nobody
/// has yet.
fn is_loss(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), ConnectionRefused | Interrupted | TimedOut | WouldBlock)
        || error.raw_os_error() == Some(libc::ENOBUFS)
}

impl Path for SocketPath {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self.socket.send(message) {
            Err(error) if !is_loss(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn receive(&mut self) -> io::Result<Option<Reply>> {
        match self.socket.recv(&mut self.bytes[..]) {
            Ok(length) => Ok(Reply::decode(&self.bytes[..length])),
            Err(error) if is_loss(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sleeps(&self) -> bool {
        self.sleeps
    }
}

/// Frames, and an active ring.
#[derive(Debug)]
pub struct RingPath {
    carrier: Carrier,
    frame: Frame,
    memory: Mapped,
    reader: Reader,
    /// Detaches the program when it is closed.
    _link: OwnedFd,
    /// Has the port, so that no other program gets it.
    _port: UdpSocket,
}

impl RingPath {
    /// A way over an interface, between these ends; the caller's is its own address with any port
    /// that is free. Nothing else may be attached to the interface.
    ///
    /// # Errors
    /// [`ActiveError::Kernel`] if programs cannot be loaded or attached here, or frames not be
    /// sent.
    pub fn open(session: &Session, interface: &str, ends: &Ends) -> Result<Self, ActiveError> {
        let kernel = |call| move |source| ActiveError::Kernel { call, source };
        let index = index_of(interface)?;
        let bound = |source| ActiveError::Address { address: ends.from, source };
        let port = UdpSocket::bind(ends.from).map_err(bound)?;
        let mut from = ends.from;
        from.set_port(port.local_addr().map_err(bound)?.port());
        let carrier = Carrier::best(index).map_err(kernel("AF_XDP and AF_PACKET"))?;
        let bytes = 8 * ring::WORDS;
        let map = bpf::value(bytes).map_err(kernel("BPF_MAP_CREATE"))?;
        let memory = Mapped::of(map.as_fd(), bytes).map_err(kernel("mmap of a map"))?;
        memory.words()[ring::KEY].store(session.key, Ordering::Release);
        let code = collector(from, map.as_raw_fd());
        let program = bpf::load("tidings_collect", &code).map_err(kernel("BPF_PROG_LOAD"))?;
        let link = bpf::attach(program.as_fd(), index, false);
        let link = link.map_err(kernel("BPF_LINK_CREATE of XDP"))?;
        let ends = Ends { from, to: session.address, ..*ends };
        Ok(Self {
            carrier,
            frame: Frame::new(&ends, MOST_BYTES),
            memory,
            reader: Reader::default(),
            _link: link,
            _port: port,
        })
    }

    /// How frames are handed to the interface.
    pub fn handover(&self) -> Handover {
        self.carrier.handover()
    }

    /// How many answers found the ring full.
    pub fn dropped(&self) -> u64 {
        ring::dropped(self.memory.words())
    }
}

impl Path for RingPath {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self.carrier.send(self.frame.with(message)) {
            // Full: it, or the one after it, is lost.
            Ok(()) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => {
                let error = io::Error::from(error);
                if is_loss(&error) { Ok(()) } else { Err(error) }
            }
        }
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<Reply>> {
        Ok(self.reader.next(self.memory.words()))
    }
}
