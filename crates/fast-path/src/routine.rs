//! What a curried call does: its descriptor, address, flags and buffer, checked when it is made.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::UdpGsoSegment;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send, sendto};

use crate::carrier::{Carrier, Handover};
use crate::error::CurryError;
use crate::frame::{Ends, Frame};
use crate::lane::INLINE_BYTES;

/// The most bytes that one send with segments takes: what fits an IP packet of 64 KiB.
pub const MOST_BULK_BYTES: usize = 65_000;

/// The most segments that the kernel makes of one send (UDP_MAX_SEGMENTS of older kernels).
const MOST_SEGMENTS: usize = 64;

/// A buffer that caller and service lock in turn; neither waits, since the caller refuses to write
/// while a call that uses it is on its way.
pub(crate) type Buffer = Arc<Mutex<Box<[u8]>>>;

pub(crate) fn locked(buffer: &Buffer) -> MutexGuard<'_, Box<[u8]>> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call without its bytes.
#[derive(Debug)]
pub struct Routine(Kind);

#[derive(Debug)]
enum Kind {
    Send { socket: UdpSocket, to: Option<SocketAddr> },
    Write { file: OwnedFd },
    Frame { carrier: Carrier, frame: Frame },
    Bulk { socket: UdpSocket, to: Option<SocketAddr>, segment: usize, whole: bool, buffer: Buffer },
}

/// A full socket is a reason to try again, never to wait in the service: others do.
const FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

impl Routine {
    /// Sends a datagram of up to [`INLINE_BYTES`], to an address or, with none, to the one that the
    /// socket is connected to, which is cheaper.
    ///
    /// # Errors
    /// If socket and address do not fit each other.
    pub fn datagram(socket: UdpSocket, to: Option<SocketAddr>) -> Result<Self, CurryError> {
        check_address(&socket, to)?;
        Ok(Self(Kind::Send { socket, to }))
    }

    /// Writes up to [`INLINE_BYTES`] where the file or pipe is. One that can be full holds the
    /// service up unless it is non-blocking, so a pipe or socket is made so.
    ///
    /// # Errors
    /// If the descriptor is not open for writing.
    pub fn write(file: OwnedFd) -> Result<Self, CurryError> {
        let system = |call| move |source: Errno| CurryError::System { call, source: source.into() };
        let flags = rustix::fs::fcntl_getfl(&file).map_err(system("fcntl"))?;
        if !matches!(flags & OFlags::ACCMODE, OFlags::WRONLY | OFlags::RDWR) {
            return Err(CurryError::NotWritable { descriptor: file.as_raw_fd() });
        }
        rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK).map_err(system("fcntl"))?;
        Ok(Self(Kind::Write { file }))
    }

    /// Sends a datagram of up to [`INLINE_BYTES`] as a frame that is made here but for them, by an
    /// interface, past routes, filters and queues: by a ring that is shared with the kernel
    /// (AF_XDP), or where that cannot be had by a call each (AF_PACKET). It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// If there is no such interface, or this process may not.
    pub fn frame(interface: &str, ends: &Ends) -> Result<Self, CurryError> {
        let refused = |source: std::io::Error| CurryError::Interface {
            interface: interface.to_owned(),
            remedy: match source.kind() {
                std::io::ErrorKind::PermissionDenied => "give CAP_NET_RAW, or send a datagram",
                _ => "name one that `ip link` shows",
            },
            source,
        };
        let index = if_nametoindex(interface).map_err(|error| refused(error.into()))?;
        let carrier = Carrier::best(index).map_err(refused)?;
        Ok(Self(Kind::Frame { carrier, frame: Frame::new(ends, INLINE_BYTES) }))
    }

    /// How its frames are handed to the interface; `None` for routines without.
    pub fn handover(&self) -> Option<Handover> {
        match &self.0 {
            Kind::Frame { carrier, .. } => Some(carrier.handover()),
            _ => None,
        }
    }

    /// Sends up to `bytes` of a buffer as datagrams of `segment` bytes each, and a last one with
    /// the rest, by one call of the kernel (UDP_SEGMENT). Where the kernel has no such call, they
    /// are sent one by one.
    ///
    /// # Errors
    /// If socket and address do not fit each other, or no such buffer can be sent.
    pub fn bulk(
        socket: UdpSocket,
        to: Option<SocketAddr>,
        segment: u16,
        bytes: usize,
    ) -> Result<Self, CurryError> {
        check_address(&socket, to)?;
        let segment = usize::from(segment);
        let refused = |remedy| CurryError::Buffer { bytes, segment, remedy };
        if segment == 0 {
            return Err(refused("take segments of a byte or more"));
        }
        if bytes == 0 || bytes > MOST_BULK_BYTES.min(segment * MOST_SEGMENTS) {
            return Err(refused("take 1 to 65,000 bytes, and at most 64 segments"));
        }
        let whole = setsockopt(&socket, UdpGsoSegment, &(segment as i32)).is_ok();
        let buffer = Arc::new(Mutex::new(vec![0; bytes].into_boxed_slice()));
        Ok(Self(Kind::Bulk { socket, to, segment, whole, buffer }))
    }

    /// Whether the kernel cuts a buffer into datagrams; `false` also for routines without one.
    pub fn is_segmented(&self) -> bool {
        matches!(self.0, Kind::Bulk { whole: true, .. })
    }

    /// How many bytes it takes.
    pub(crate) fn takes(&self) -> usize {
        match &self.0 {
            Kind::Send { .. } | Kind::Write { .. } | Kind::Frame { .. } => INLINE_BYTES,
            Kind::Bulk { buffer, .. } => locked(buffer).len(),
        }
    }

    pub(crate) fn buffer(&self) -> Option<Buffer> {
        match &self.0 {
            Kind::Bulk { buffer, .. } => Some(Arc::clone(buffer)),
            _ => None,
        }
    }

    /// Makes the call, with the bytes of a line or the first `length` of its buffer.
    pub(crate) fn run(&mut self, inline: &[u8], length: usize) -> Result<usize, Errno> {
        match &mut self.0 {
            Kind::Send { socket, to } => send_to(socket, *to, inline),
            Kind::Write { file } => rustix::io::write(&*file, inline),
            Kind::Frame { carrier, frame } => {
                carrier.send(frame.with(inline)).map(|()| inline.len())
            }
            Kind::Bulk { socket, to, segment, whole, buffer } => {
                let bytes = locked(buffer);
                let bytes = bytes.get(..length).ok_or(Errno::INVAL)?;
                if *whole {
                    match send_to(socket, *to, bytes) {
                        // What has no checksums in hardware or software says so only here.
                        Err(Errno::IO | Errno::INVAL | Errno::OPNOTSUPP) if *segment < length => {
                            // One by one needs none.
                            let _ = setsockopt(&*socket, UdpGsoSegment, &0);
                            *whole = false;
                        }
                        other => return other,
                    }
                }
                one_by_one(socket, *to, *segment, bytes)
            }
        }
    }
}

/// Sends a buffer as datagrams. Only the first may find the socket full, or what was sent before it
/// would be sent twice; so for later ones this waits, for as long as the interface takes to send.
fn one_by_one(
    socket: &UdpSocket,
    to: Option<SocketAddr>,
    segment: usize,
    bytes: &[u8],
) -> Result<usize, Errno> {
    let mut sent = 0;
    for datagram in bytes.chunks(segment) {
        loop {
            match send_to(socket, to, datagram) {
                Ok(taken) => break sent += taken,
                Err(Errno::AGAIN | Errno::INTR) if sent > 0 => std::thread::yield_now(),
                Err(other) => return Err(other),
            }
        }
    }
    Ok(sent)
}

fn send_to(socket: &UdpSocket, to: Option<SocketAddr>, bytes: &[u8]) -> Result<usize, Errno> {
    match to {
        Some(to) => sendto(socket, bytes, FLAGS, &to),
        None => send(socket, bytes, FLAGS),
    }
}

fn check_address(socket: &UdpSocket, to: Option<SocketAddr>) -> Result<(), CurryError> {
    let Some(to) = to else {
        return match socket.peer_addr() {
            Ok(_) => Ok(()),
            Err(source) => Err(CurryError::NotConnected { source }),
        };
    };
    let own =
        socket.local_addr().map_err(|source| CurryError::System { call: "getsockname", source })?;
    if own.is_ipv4() != to.is_ipv4() {
        let ours = if own.is_ipv4() { "IPv4" } else { "IPv6" };
        return Err(CurryError::Family { ours, to });
    }
    Ok(())
}
