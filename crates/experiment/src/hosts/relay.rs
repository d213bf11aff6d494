//! A switch in user space: frames pass from cable to cable late, twice, and out of turn.
//!
//! The ends of all cables in a network namespace are opened as packet sockets. What arrives at a
//! port of this [switch](crate::switch) leaves by that of its receiver, by hardware address
//! as a switch does, when its time has come. Each copy of a frame draws its own delay, so that
//! frames overtake each other.
//!
//! Invariants: without [`Conduct`] every frame passes once, in order; what waits is bounded, and
//! what finds no room is counted, not lost in silence; one seed and one sequence of frames make the
//! same choices.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::switch::{Ports, Switch, enter};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
use tidings_primitives::Chance;

/// Frames that may wait at one time.
const ROOM: usize = 16_384;
/// Destination, source and kind: what every frame begins with.
const ETHERNET_BYTES: usize = 14;
/// The kind of a frame that holds IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];
/// The protocol number of UDP, and the place of the checksum in its header.
const UDP: u8 = 17;
const UDP_CHECKSUM: usize = 6;

/// How the relay treats frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conduct {
    /// The mean time that a frame is held, in milliseconds.
    pub delay_ms: u64,
    /// By how much more or less than that, evenly, in milliseconds; at most `delay_ms`.
    pub jitter_ms: u64,
    /// The share of frames that pass twice, in per cent.
    pub double_percent: u32,
}

/// What a relay has done since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Frames that arrived.
    pub frames: u64,
    /// Frames that were to pass twice.
    pub doubled: u64,
    /// Copies that left after one that had arrived later than they.
    pub overtaken: u64,
    /// Copies that found no room, here or in the cable.
    pub overflowed: u64,
}

/// A relay that runs; it ends when dropped.
#[derive(Debug)]
pub struct Relay {
    shared: Arc<Shared>,
    _switch: Switch,
}

#[derive(Debug, Default)]
struct Shared {
    conduct: Mutex<Conduct>,
    frames: AtomicU64,
    doubled: AtomicU64,
    overtaken: AtomicU64,
    overflowed: AtomicU64,
}

impl Relay {
    /// Relays between these interfaces of the network namespace `namespace`, until dropped. Nothing
    /// may arrive at them before this returns.
    ///
    /// # Errors
    /// What the system says, if it refuses packet sockets.
    pub fn between(namespace: &str, ports: Vec<String>, seed: u64) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let namespace = namespace.to_owned();
        let plug = move || {
            enter(&namespace)?;
            ports.iter().map(|name| end_of(name)).collect()
        };
        let run = move |ports| Forwarding::new(ports, of_thread, seed).run();
        let switch = Switch::start(plug, run);
        Ok(Self { shared, _switch: switch? })
    }

    /// Treats frames so from now on.
    ///
    /// # Panics
    /// Never: nobody who holds the lock panics.
    pub fn conduct(&self, conduct: Conduct) {
        *self.shared.conduct.lock().expect("no holder panics") = conduct;
    }

    /// What it has done.
    pub fn passed(&self) -> Passed {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Passed {
            frames: read(&self.shared.frames),
            doubled: read(&self.shared.doubled),
            overtaken: read(&self.shared.overtaken),
            overflowed: read(&self.shared.overflowed),
        }
    }
}

/// A packet socket on an interface of this thread's network.
fn end_of(name: &str) -> io::Result<OwnedFd> {
    let link = getifaddrs()?
        .filter(|interface| interface.interface_name == name)
        .find_map(|interface| interface.address?.as_link_addr().copied());
    let link: LinkAddr = link.ok_or_else(|| io::Error::other(format!("no interface {name}")))?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let (family, protocol) = (AddressFamily::Packet, SockProtocol::EthAll);
    let socket = socket(family, SockType::Raw, flags, protocol)?;
    bind(socket.as_raw_fd(), &link)?;
    Ok(socket)
}

/// The thread's part.
struct Forwarding {
    ports: Ports,
    /// Behind which port each hardware address is.
    places: BTreeMap<[u8; 6], usize>,
    backlog: Backlog,
    shared: Arc<Shared>,
    begin: Instant,
}

impl Forwarding {
    fn new(ports: Ports, shared: Arc<Shared>, seed: u64) -> Self {
        let (places, backlog) = (BTreeMap::new(), Backlog::new(seed));
        Self { ports, places, backlog, shared, begin: Instant::now() }
    }

    fn run(mut self) {
        let mut buffer = Ports::buffer();
        loop {
            let now = self.begin.elapsed();
            while let Some((frame, is_overtaken)) = self.backlog.leave(now) {
                count(&self.shared.overtaken, u64::from(is_overtaken));
                self.forward(&frame);
            }
            let wait = self.backlog.next_due().map(|due| due.saturating_sub(now));
            match self.ports.ready(wait) {
                Some(ready) => ready.into_iter().for_each(|port| self.take(port, &mut buffer)),
                None => return,
            }
        }
    }

    fn take(&mut self, port: usize, buffer: &mut [u8]) {
        while let Some(content) = self.ports.receive(port, buffer) {
            if content.len() < ETHERNET_BYTES {
                continue; // no frame
            }
            settle_checksum(content);
            self.places.insert(address(&content[6..12]), port);
            let conduct = *self.shared.conduct.lock().expect("no holder panics");
            let frame = Frame { from: port, content: (&*content).into() };
            let taken = self.backlog.arrive(self.begin.elapsed(), &frame, conduct);
            count(&self.shared.frames, 1);
            count(&self.shared.doubled, u64::from(taken.is_doubled));
            count(&self.shared.overflowed, taken.overflowed);
        }
    }

    fn forward(&self, frame: &Frame) {
        let to = address(&frame.content[..6]);
        let known = self.places.get(&to);
        for port in 0..self.ports.count() {
            if port != frame.from && known.is_none_or(|&place| place == port) {
                let is_sent = self.ports.send(port, &frame.content);
                count(&self.shared.overflowed, u64::from(!is_sent));
            }
        }
    }
}

fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn address(bytes: &[u8]) -> [u8; 6] {
    bytes.try_into().expect("six bytes are asked for")
}

/// A cable leaves the checksum of a datagram to the card of the other end, which a relay is not: it
/// says that there is none, as UDP over IPv4 may.
fn settle_checksum(frame: &mut [u8]) {
    let (head, packet) = frame.split_at_mut(ETHERNET_BYTES);
    let Some(&first) = packet.first().filter(|_| head[12..] == IPV4) else { return };
    let is_first = packet.get(6..8).is_some_and(|flags| flags[0] % 32 == 0 && flags[1] == 0);
    let is_datagram = packet.get(9) == Some(&UDP) && is_first;
    let checksum = usize::from(first & 0x0f) * 4 + UDP_CHECKSUM;
    if let Some(checksum) = packet.get_mut(checksum..checksum + 2).filter(|_| is_datagram) {
        checksum.fill(0);
    }
}

/// A frame, and the port where it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    from: usize,
    content: Arc<[u8]>,
}

/// What became of a frame that arrived.
struct Taken {
    is_doubled: bool,
    overflowed: u64,
}

/// Frames that wait, by the time at which they leave. Times are those since the start.
struct Backlog {
    chance: Chance,
    waiting: BTreeMap<(Duration, u64), (Frame, u64)>,
    /// Numbers copies and arrivals.
    copies: u64,
    arrivals: u64,
    /// The latest arrival that has left.
    latest: u64,
}

impl Backlog {
    fn new(seed: u64) -> Self {
        let chance = Chance::new(seed);
        Self { chance, waiting: BTreeMap::new(), copies: 0, arrivals: 0, latest: 0 }
    }

    fn arrive(&mut self, now: Duration, frame: &Frame, conduct: Conduct) -> Taken {
        self.arrivals += 1;
        let is_doubled = self.chance.below(100) < conduct.double_percent as usize;
        let mut overflowed = 0;
        for _ in 0..=u32::from(is_doubled) {
            let least_us = conduct.delay_ms.saturating_sub(conduct.jitter_ms) * 1_000;
            let spread_us = 2 * conduct.jitter_ms * 1_000;
            let held_us = least_us + self.chance.below(spread_us as usize + 1) as u64;
            if self.waiting.len() >= ROOM {
                overflowed += 1;
                continue;
            }
            self.copies += 1;
            let due = now + Duration::from_micros(held_us);
            self.waiting.insert((due, self.copies), (frame.clone(), self.arrivals));
        }
        Taken { is_doubled, overflowed }
    }

    fn next_due(&self) -> Option<Duration> {
        self.waiting.keys().next().map(|(due, _)| *due)
    }

    /// The next copy that is due, and whether a later arrival has left before it.
    fn leave(&mut self, now: Duration) -> Option<(Frame, bool)> {
        self.next_due().filter(|&due| due <= now)?;
        let (_, (frame, arrival)) = self.waiting.pop_first()?;
        let is_overtaken = arrival < self.latest;
        self.latest = self.latest.max(arrival);
        Some((frame, is_overtaken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: u32 = 2_000;

    /// The numbers of the frames in the order in which they leave, a frame arriving each
    /// millisecond; how many were doubled, overtaken and without room.
    fn pass(conduct: Conduct) -> (Vec<u32>, [u64; 3]) {
        let mut backlog = Backlog::new(7);
        let (mut left, mut counts) = (Vec::new(), [0; 3]);
        let mut drain = |backlog: &mut Backlog, now, counts: &mut [u64; 3]| {
            while let Some((frame, is_overtaken)) = backlog.leave(now) {
                counts[1] += u64::from(is_overtaken);
                left.push(u32::from_le_bytes(frame.content[..].try_into().expect("four bytes")));
            }
        };
        for number in 0..FRAMES {
            let now = Duration::from_millis(number.into());
            drain(&mut backlog, now, &mut counts);
            let frame = Frame { from: 0, content: Arc::new(number.to_le_bytes()) };
            let taken = backlog.arrive(now, &frame, conduct);
            counts[0] += u64::from(taken.is_doubled);
            counts[2] += taken.overflowed;
        }
        drain(&mut backlog, Duration::MAX, &mut counts);
        (left, counts)
    }

    #[test]
    fn without_conduct_all_pass_once_and_in_order() {
        let (left, counts) = pass(Conduct::default());
        assert_eq!(left, (0..FRAMES).collect::<Vec<_>>());
        assert_eq!(counts, [0, 0, 0]);
        let delayed = Conduct { delay_ms: 50, ..Conduct::default() };
        assert_eq!(pass(delayed), (left, counts), "a delay alone changes no order");
    }

    #[test]
    fn jitter_lets_frames_overtake_each_other_and_loses_none() {
        let conduct = Conduct { delay_ms: 50, jitter_ms: 50, double_percent: 0 };
        let (mut left, [doubled, overtaken, overflowed]) = pass(conduct);
        // A frame is overtaken by each later one that is held so much shorter: nearly all are.
        assert!(overtaken > u64::from(FRAMES) / 2, "{overtaken}");
        assert_eq!((doubled, overflowed), (0, 0));
        assert_eq!(pass(conduct).0, left, "one seed, one order");
        left.sort_unstable();
        assert_eq!(left, (0..FRAMES).collect::<Vec<_>>());
    }

    #[test]
    fn every_fifth_frame_passes_twice() {
        let conduct = Conduct { double_percent: 20, ..Conduct::default() };
        let (mut left, [doubled, ..]) = pass(conduct);
        // 400 of 2,000 with a standard deviation of 18.
        assert!((310..490).contains(&doubled), "{doubled}");
        assert_eq!(left.len() as u64, u64::from(FRAMES) + doubled);
        left.dedup();
        assert_eq!(left.len() as u32, FRAMES);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut backlog = Backlog::new(1);
        let frame = Frame { from: 0, content: Arc::new([0; 4]) };
        let conduct = Conduct { delay_ms: 1, ..Conduct::default() };
        let mut overflowed = 0;
        for _ in 0..ROOM + 3 {
            overflowed += backlog.arrive(Duration::ZERO, &frame, conduct).overflowed;
        }
        assert_eq!((overflowed, backlog.waiting.len()), (3, ROOM));
    }

    #[test]
    fn only_datagrams_lose_their_checksum() {
        let frame = |protocol: u8, fragment: u8| {
            let mut frame = vec![7; 60];
            frame[12..14].copy_from_slice(&IPV4);
            frame[14] = 0x45;
            frame[20..22].copy_from_slice(&[0x40, fragment]);
            frame[23] = protocol;
            settle_checksum(&mut frame);
            frame[40..42].to_vec()
        };
        assert_eq!(frame(UDP, 0), [0, 0]);
        assert_eq!(frame(1, 0), [7, 7]);
        assert_eq!(frame(UDP, 9), [7, 7]);
    }
}
