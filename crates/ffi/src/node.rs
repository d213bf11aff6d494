//! Making, turning and ending a node.

use core::ffi::c_char;
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use tidings_gossip::{Incarnation, Member, Node, NodeId};

use crate::config::{TIDINGS_KEY_BYTES, TidingsConfig, Unusable, member};
use crate::status::TidingsStatus;
use crate::transport::{TidingsTransport, Wired, instant};

/// Messages taken in one turn, so that a turn ends whatever arrives. It ends after a unit of time
/// as well: who is sent more than can be taken in still sends.
const RECEIVE_MOST: u32 = 512;

/// A node. Only pointers to it leave the library.
pub struct TidingsNode {
    pub(crate) node: Node,
    /// By number: who asks for an entry, maybe for all in each pause, pays for no name.
    pub(crate) ids: Box<[NodeId]>,
    /// The unit of time.
    unit: Duration,
    /// Where messages are written and taken in.
    room: Box<[u8]>,
    /// Messages that the transport took, and those it refused.
    pub(crate) messages: (u64, u64),
    broken: bool,
}

impl TidingsNode {
    fn new(config: &TidingsConfig, key: Option<[u8; TIDINGS_KEY_BYTES]>) -> Result<Self, Unusable> {
        let core = config.core()?;
        let unit = core.interval;
        let keys = TidingsConfig::keys(key, &core);
        let roster: Vec<Member> = (0..config.nodes).map(member).collect();
        // A roster in which two names have one id is refused.
        let ids = roster.iter().map(|one| NodeId::of_name(&one.name, core.id_salt)).collect();
        let (life, now) = (Incarnation::new(1), instant(0));
        let me = member(config.number);
        let node = Node::new(core, keys, me, &roster, life, config.seed, now)?;
        let room = vec![0; config.message_bytes as usize].into_boxed_slice();
        Ok(Self { node, ids, unit, room, messages: (0, 0), broken: false })
    }

    /// One turn: takes in what has arrived, does what is due, sends; returns when the next is due.
    fn turn(&mut self, transport: &Wired) -> u64 {
        let until = transport.now() + self.unit;
        transport.receive(&mut self.node, &mut self.room, RECEIVE_MOST, until);
        let now = transport.now();
        if now >= self.node.poll_timeout() {
            self.node.handle_timeout(now);
        }
        let (taken, refused) = transport.send(&mut self.node, &mut self.room);
        self.messages = (self.messages.0 + taken, self.messages.1 + refused);
        while self.node.poll_event().is_some() {}
        self.due_us()
    }

    fn due_us(&self) -> u64 {
        u64::try_from(self.node.poll_timeout().as_micros()).unwrap_or(0)
    }

    /// Does `what` unless an earlier call went wrong inside; a panic in it breaks the node.
    pub(crate) fn guarded(
        &mut self,
        what: impl FnOnce(&mut Self) -> TidingsStatus,
    ) -> TidingsStatus {
        if self.broken {
            return TidingsStatus::Broken;
        }
        // A broken node is never looked at again, so it does not matter how the panic left it.
        catch_unwind(AssertUnwindSafe(|| what(self))).unwrap_or_else(|_| {
            self.broken = true;
            TidingsStatus::Broken
        })
    }
}

/// Does `what` with the node behind `node`.
///
/// # Safety
/// `node` is null or from `tidings_node_new`, was not freed, and is in use by nobody else.
pub(crate) unsafe fn with(
    node: *mut TidingsNode,
    what: impl FnOnce(&mut TidingsNode) -> TidingsStatus,
) -> TidingsStatus {
    // SAFETY: the caller promises that it points to a node that nobody else uses, or is null.
    match unsafe { node.as_mut() } {
        Some(node) => node.guarded(what),
        None => TidingsStatus::Null,
    }
}

/// Makes a node and writes it to `node`. If that cannot be, null is written there, and what is
/// wrong to `message` (`message_bytes` bytes, 0 at its end, cut if it is longer), unless it is
/// null.
///
/// # Safety
/// `config` and `node` are null or valid; its `key` is null or points to `TIDINGS_KEY_BYTES` bytes;
/// `message` is null or has `message_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_new(
    config: *const TidingsConfig,
    node: *mut *mut TidingsNode,
    message: *mut c_char,
    message_bytes: usize,
) -> TidingsStatus {
    // SAFETY: both are null or valid, as the caller promises.
    let (Some(config), Some(node)) = (unsafe { config.as_ref() }, unsafe { node.as_mut() }) else {
        return TidingsStatus::Null;
    };
    *node = ptr::null_mut();
    // SAFETY: a key that is not null has that many bytes, and an array of bytes needs no alignment.
    let key = (!config.key.is_null()).then(|| unsafe { *config.key.cast() });
    let made = catch_unwind(AssertUnwindSafe(|| TidingsNode::new(config, key)));
    match made {
        Ok(Ok(made)) => {
            *node = Box::into_raw(Box::new(made));
            TidingsStatus::Ok
        }
        Ok(Err(unusable)) => {
            // SAFETY: as the caller promises.
            unsafe { say(&unusable.to_string(), message, message_bytes) };
            TidingsStatus::Configuration
        }
        Err(_) => TidingsStatus::Broken,
    }
}

/// Writes a text as C has it, cut where the room ends.
///
/// # Safety
/// `message` is null or has `message_bytes` bytes.
unsafe fn say(text: &str, message: *mut c_char, message_bytes: usize) {
    if message.is_null() || message_bytes == 0 {
        return;
    }
    // SAFETY: it is not null and has that many bytes, as the caller promises.
    let room = unsafe { slice::from_raw_parts_mut(message.cast::<u8>(), message_bytes) };
    let length = text.len().min(message_bytes - 1);
    room[..length].copy_from_slice(&text.as_bytes()[..length]);
    room[length] = 0;
}

/// Ends a node and gives its memory back. Null is allowed.
///
/// # Safety
/// `node` is null or from `tidings_node_new`, was not freed, and is in use by nobody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_free(node: *mut TidingsNode) {
    if !node.is_null() {
        // SAFETY: it was made by `Box::into_raw` and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(node) });
    }
}

/// The bytes that a program points to; `None` if it points nowhere, but says that there are some.
///
/// # Safety
/// `bytes` is 0, or `start` is null or has that many bytes that nobody changes.
unsafe fn text<'a>(start: *const u8, bytes: usize) -> Option<&'a [u8]> {
    match (start.is_null(), bytes) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: it is not null and has that many bytes, as the caller promises.
        (false, _) => Some(unsafe { slice::from_raw_parts(start, bytes) }),
    }
}

/// Sets what the node says of itself from its next round on: `bytes` bytes; a shorter text than
/// `payload_bytes` is padded with zeros.
///
/// # Safety
/// As [`tidings_node_free`]; `payload` has `bytes` bytes, or is null and `bytes` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_publish(
    node: *mut TidingsNode,
    payload: *const u8,
    bytes: usize,
) -> TidingsStatus {
    // SAFETY: as the caller promises.
    let Some(payload) = (unsafe { text(payload, bytes) }) else { return TidingsStatus::Null };
    let publish = |node: &mut TidingsNode| match node.node.publish(payload) {
        Ok(()) => TidingsStatus::Ok,
        Err(_) => TidingsStatus::TooLong,
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, publish) }
}

/// Says for node `number` what it would say of itself at `now_us` of this node's clock, as if that
/// had just come from there. For nodes that this program simulates, as one process of a load test
/// does all the others. Nothing happens if the number is this node's own.
///
/// # Safety
/// As [`tidings_node_publish`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_speak_for(
    node: *mut TidingsNode,
    now_us: u64,
    number: u32,
    payload: *const u8,
    bytes: usize,
) -> TidingsStatus {
    // SAFETY: as the caller promises.
    let Some(payload) = (unsafe { text(payload, bytes) }) else { return TidingsStatus::Null };
    let speak = |node: &mut TidingsNode| {
        let Some(&id) = node.ids.get(number as usize) else { return TidingsStatus::Number };
        match node.node.speak_for(id, payload, instant(now_us)) {
            Ok(()) => TidingsStatus::Ok,
            Err(_) => TidingsStatus::TooLong,
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, speak) }
}

/// Tells the node what a clock shows that all nodes share, at the time `now_us` of its own clock.
/// `staggered` and `grid` keep better time with it; if it is wrong, that costs freshness only.
///
/// # Safety
/// As [`tidings_node_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_set_clock(
    node: *mut TidingsNode,
    now_us: u64,
    shared_us: u64,
) -> TidingsStatus {
    let set = |node: &mut TidingsNode| {
        let shared = i64::try_from(shared_us).unwrap_or(i64::MAX);
        node.node.set_clock(instant(now_us), shared);
        TidingsStatus::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, set) }
}

/// Says whether the node asks others for their entries, as it does from its start. One that does
/// not still says what it has, and answers, with a part of the messages; its own vector gets old
/// meanwhile. For programs that look at the vector at times only. Of strategy `grid`; the others do
/// not ask.
///
/// # Safety
/// As [`tidings_node_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_set_asks(
    node: *mut TidingsNode,
    asks: bool,
) -> TidingsStatus {
    let set = |node: &mut TidingsNode| {
        node.node.set_asks(asks);
        TidingsStatus::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, set) }
}

/// One turn: takes in at most 512 messages that have arrived, does what is due, sends what follows,
/// and writes to `due_us` when the next turn is due on the transport's clock, unless it is null.
///
/// # Safety
/// As [`tidings_node_free`]; `transport` is null or valid and keeps its word; `due_us` is null or
/// valid. The functions of the transport must not use the node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_node_turn(
    node: *mut TidingsNode,
    transport: *const TidingsTransport,
    due_us: *mut u64,
) -> TidingsStatus {
    // SAFETY: it is null or valid and keeps its word for the time of this call.
    let wired = unsafe { transport.as_ref().and_then(|transport| Wired::of(transport)) };
    let Some(wired) = wired else { return TidingsStatus::Null };
    let turn = |node: &mut TidingsNode| {
        let due = node.turn(&wired);
        // SAFETY: it is null or valid, as the caller promises.
        if let Some(due_us) = unsafe { due_us.as_mut() } {
            *due_us = due;
        }
        TidingsStatus::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(node, turn) }
}
