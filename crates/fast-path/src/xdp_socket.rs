//! A socket that shares a ring of frames with the kernel (AF_XDP), for sending: the one place of it
//! with `unsafe`.
//!
//! A frame is written into memory that the kernel reads, and named in the ring of what is to be
//! sent; a call without arguments has the kernel look there. What was sent comes back in another
//! ring, and then its place is free. When no place is free, the caller is to try again: nothing is
//! overwritten or dropped here. Frames go out in the order in which they were named.
//!
//! It copies (XDP_COPY): that works with every driver. Source: the kernel's documentation,
//! networking/af_xdp.rst.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::kernel::{map_private, map_shared, unmap};

/// Places for frames, a power of two, and the bytes of each.
const PLACES: u32 = 64;
const PLACE_BYTES: u32 = 2048;
const ALL_BYTES: usize = PLACES as usize * PLACE_BYTES as usize;

/// A ring of [`PLACES`] entries.
#[derive(Debug)]
struct Ring<T> {
    start: *mut u8,
    bytes: usize,
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    entries: *mut T,
}

impl<T> Ring<T> {
    /// The ring that the kernel has at this offset of the socket.
    fn map(socket: &OwnedFd, at: i64, offsets: libc::xdp_ring_offset) -> io::Result<Self> {
        let bytes = offsets.desc as usize + PLACES as usize * size_of::<T>();
        let start = map_shared(socket, at, bytes, None)?;
        // SAFETY: the kernel's offsets are inside of the memory that it has mapped for the ring.
        unsafe {
            Ok(Self {
                start,
                bytes,
                producer: start.add(offsets.producer as usize).cast(),
                consumer: start.add(offsets.consumer as usize).cast(),
                entries: start.add(offsets.desc as usize).cast(),
            })
        }
    }

    fn counts(&self) -> (&AtomicU32, &AtomicU32) {
        // SAFETY: both are in the mapping, which lives as long as `self`.
        unsafe { (&*self.producer, &*self.consumer) }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: mapped with this size; what refers to it borrows from `self`.
        unsafe { unmap(self.start, self.bytes) };
    }
}

/// The memory of the frames.
#[derive(Debug)]
struct Places(*mut u8);

impl Drop for Places {
    fn drop(&mut self) {
        // SAFETY: mapped with this size; only the kernel still reads it, which holds the pages.
        unsafe { unmap(self.0, ALL_BYTES) };
    }
}

/// The socket.
#[derive(Debug)]
pub(crate) struct XdpSocket {
    socket: OwnedFd,
    to_send: Ring<libc::xdp_desc>,
    sent: Ring<u64>,
    places: Places,
    free: Vec<u64>,
    /// The last frame is named, and the kernel has not looked yet.
    waits: bool,
}

// SAFETY: its memory is reached by `&mut self` alone, but for the kernel.
unsafe impl Send for XdpSocket {}

impl XdpSocket {
    /// A socket that sends by the first queue of the interface with this number. No other one may
    /// have that queue.
    pub(crate) fn open(interface: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: opens a socket, which is ours.
        let socket = unsafe {
            let socket = libc::socket(libc::AF_XDP, kind, 0);
            if socket < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(socket)
        };
        let places = Places(map_private(ALL_BYTES, true)?);
        // SAFETY: plain numbers, of which zeros are some.
        let mut registered = unsafe { std::mem::zeroed::<libc::xdp_umem_reg>() };
        (registered.addr, registered.len) = (places.0 as u64, ALL_BYTES as u64);
        registered.chunk_size = PLACE_BYTES;
        set(&socket, libc::XDP_UMEM_REG, &registered)?;
        for ring in [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_TX_RING] {
            set(&socket, ring, &PLACES)?;
        }
        let offsets = offsets(&socket)?;
        let to_send = Ring::map(&socket, libc::XDP_PGOFF_TX_RING, offsets.tx)?;
        let sent = libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64;
        let sent = Ring::map(&socket, sent, offsets.cr)?;
        bind_xdp(&socket, interface)?;
        let free = (0..u64::from(PLACES)).map(|place| place * u64::from(PLACE_BYTES)).collect();
        Ok(Self { socket, to_send, sent, places, free, waits: false })
    }

    /// Sends a frame. After [`Errno::AGAIN`] it is to be called with the same frame again, which
    /// then is sent once.
    #[inline]
    pub(crate) fn send(&mut self, frame: &[u8]) -> Result<(), Errno> {
        if !self.waits {
            self.name(frame)?;
            self.waits = true;
        }
        let woken = send(&self.socket, &[], SendFlags::DONTWAIT);
        match woken {
            // Busy: it looks by itself.
            Ok(_) | Err(Errno::BUSY) => {
                self.waits = false;
                Ok(())
            }
            Err(Errno::AGAIN | Errno::NOBUFS) => Err(Errno::AGAIN),
            // It stays named, and goes with the next one if the interface is up again by then.
            Err(other) => {
                self.waits = false;
                Err(other)
            }
        }
    }

    /// Writes a frame where the kernel will read it, and names it.
    fn name(&mut self, frame: &[u8]) -> Result<(), Errno> {
        if frame.len() > PLACE_BYTES as usize {
            return Err(Errno::MSGSIZE);
        }
        self.collect();
        let at = self.free.pop().ok_or(Errno::AGAIN)?;
        let (producer, _) = self.to_send.counts();
        let next = producer.load(Ordering::Relaxed);
        // SAFETY: the place is free, so the kernel does not read it, and in the mapping; as many
        // entries as places are in the ring, so the next one is free too. Only the kernel reads
        // both, after the count.
        unsafe {
            std::ptr::copy_nonoverlapping(
                frame.as_ptr(),
                self.places.0.add(at as usize),
                frame.len(),
            );
            let entry = libc::xdp_desc { addr: at, len: frame.len() as u32, options: 0 };
            self.to_send.entries.add((next & (PLACES - 1)) as usize).write(entry);
        }
        producer.store(next.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Takes back the places of what was sent.
    fn collect(&mut self) {
        let (producer, consumer) = self.sent.counts();
        let (end, mut next) = (producer.load(Ordering::Acquire), consumer.load(Ordering::Relaxed));
        // No more than there are, whatever the kernel says.
        while next != end && self.free.len() < PLACES as usize {
            // SAFETY: an entry of the ring, which the kernel has written before its count.
            let at = unsafe { self.sent.entries.add((next & (PLACES - 1)) as usize).read() };
            // Of a place, its begin.
            let place = at.min(ALL_BYTES as u64 - 1) / u64::from(PLACE_BYTES);
            self.free.push(place * u64::from(PLACE_BYTES));
            next = next.wrapping_add(1);
        }
        consumer.store(next, Ordering::Release);
    }
}

/// Binds a socket of XDP to the first queue of an interface, with frames that are copied.
///
/// # Errors
/// If it has no rings yet, another socket has the queue, or the kernel or the interface has none.
pub fn bind_xdp(socket: impl AsFd, interface: u32) -> io::Result<()> {
    let socket = socket.as_fd();
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY,
        sxdp_ifindex: interface,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    let bytes = size_of_val(&address) as u32;
    // SAFETY: an address of that length, which the kernel reads here.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set<T>(socket: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    let bytes = size_of::<T>() as u32;
    // SAFETY: the kernel reads the value, which is as long as is said; what is registered by it
    // stays mapped as long as the socket is open.
    let result = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, value, bytes)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn offsets(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    let mut bytes = size_of::<libc::xdp_mmap_offsets>() as u32;
    // SAFETY: the kernel writes as many bytes as are said; every bit pattern is a number.
    let (result, all) = unsafe {
        let mut all = std::mem::zeroed::<libc::xdp_mmap_offsets>();
        let value = (&raw mut all).cast();
        let (level, option) = (libc::SOL_XDP, libc::XDP_MMAP_OFFSETS);
        (libc::getsockopt(socket.as_raw_fd(), level, option, value, &raw mut bytes), all)
    };
    match result {
        0 if bytes as usize == size_of::<libc::xdp_mmap_offsets>() => Ok(all),
        0 => Err(io::ErrorKind::Unsupported.into()), // before Linux 5.4
        _ => Err(io::Error::last_os_error()),
    }
}
