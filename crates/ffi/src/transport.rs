//! What the program does for a node: a clock, sending and receiving.
//!
//! Messages may be lost, doubled, delayed and reordered; they must not be changed or cut. Nothing
//! may wait: what cannot be sent at once is dropped, as a network would drop it, and counted by who
//! drops it. A node never asks for more than `message_bytes` at a time.

use core::ffi::c_void;

use tidings_gossip::{Instant, Node};

use crate::config::{address, number};

/// What the program does for a node. All three are called only inside `tidings_node_turn`, on the
/// thread that called it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTransport {
    /// Handed to each of the functions.
    pub context: *mut c_void,
    /// Microseconds on a clock of this node that never goes back. Clocks of two nodes need not
    /// agree.
    pub now_us: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Sends `bytes` bytes to a node: datagrams of `segment_bytes` each, the last maybe shorter.
    /// The bytes are the library's and change after the call. Answers whether the message was
    /// taken.
    pub send: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            to: u32,
            message: *const u8,
            bytes: usize,
            segment_bytes: usize,
        ) -> bool,
    >,
    /// Writes the next message that has arrived to `room`, of `room_bytes` bytes, tells who sent it
    /// and what `segment_bytes` was given to `send`, and answers how many bytes it has; 0 if there
    /// is none. A message longer than the room is to be dropped.
    pub receive: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            room: *mut u8,
            room_bytes: usize,
            from: *mut u32,
            segment_bytes: *mut usize,
        ) -> usize,
    >,
}

/// The transport, with all its functions there.
pub(crate) struct Wired {
    context: *mut c_void,
    now_us: unsafe extern "C" fn(*mut c_void) -> u64,
    send: unsafe extern "C" fn(*mut c_void, u32, *const u8, usize, usize) -> bool,
    receive: unsafe extern "C" fn(*mut c_void, *mut u8, usize, *mut u32, *mut usize) -> usize,
}

impl Wired {
    /// `None` if a function is missing.
    ///
    /// # Safety
    /// Until the value is dropped the functions can be called with the context, from this thread,
    /// and do what [`TidingsTransport`] says.
    pub(crate) unsafe fn of(transport: &TidingsTransport) -> Option<Self> {
        let TidingsTransport { context, now_us, send, receive } = *transport;
        Some(Self { context, now_us: now_us?, send: send?, receive: receive? })
    }

    pub(crate) fn now(&self) -> Instant {
        // SAFETY: `of` was promised that the function can be called with this context.
        instant(unsafe { (self.now_us)(self.context) })
    }

    /// Hands the node at most `most` messages, and none after `until`.
    pub(crate) fn receive(&self, node: &mut Node, room: &mut [u8], most: u32, until: Instant) {
        for _ in 0..most {
            let (mut from, mut segment) = (0, 0);
            let out = (room.as_mut_ptr(), room.len());
            // SAFETY: the room is as long as is said, both results are ours, and `of` was promised
            // that the function keeps to them.
            let bytes = unsafe {
                (self.receive)(self.context, out.0, out.1, &raw mut from, &raw mut segment)
            };
            // A length beyond the room is not believed: the message is dropped.
            let Some(message) = room.get_mut(..bytes).filter(|message| !message.is_empty()) else {
                if bytes == 0 {
                    return;
                }
                continue;
            };
            let now = self.now();
            for datagram in message.chunks_mut(segment.max(1)) {
                node.handle_datagram(now, address(from), datagram);
            }
            if now >= until {
                return;
            }
        }
    }

    /// Sends what the node wants to send; returns messages that were taken, and refused ones.
    pub(crate) fn send(&self, node: &mut Node, room: &mut [u8]) -> (u64, u64) {
        let (mut taken, mut refused) = (0, 0);
        while let Some(out) = node.poll_transmit(self.now(), room) {
            let Some(to) = number(out.to) else { continue };
            let (message, segment) = (room[..out.bytes].as_ptr(), out.segment_bytes);
            // SAFETY: the message is that long and outlives the call; `of` was promised the rest.
            if unsafe { (self.send)(self.context, to, message, out.bytes, segment) } {
                taken += 1;
            } else {
                refused += 1;
            }
        }
        (taken, refused)
    }
}

/// A time on the program's clock, as the core has it.
pub(crate) fn instant(now_us: u64) -> Instant {
    Instant::from_micros(i64::try_from(now_us).unwrap_or(i64::MAX))
}
