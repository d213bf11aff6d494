//! A switch in user space that lets every packet travel for a while: for kernels without netem.
//!
//! The card of each host is a TUN device. What the host sends, the line reads from it; when its
//! time has come it is written to the card of its receiver, to which it looks like a packet from
//! the network. Hosts of a mesh have a card for each of their cables, and a packet goes to the
//! cable's other end; each cable has a delay of its own, so a short one is not behind a long one.
//!
//! A thread that sleeps wakes late, on an idle virtual machine by 50 µs and more. How late is seen
//! at each wake-up by time ([`Waking`]), and the line wants to be woken so much earlier. That a
//! packet was read late cannot be known, so links are longer by that.
//!
//! Invariants: no packet travels for less than the delay of its card; packets of a card leave in
//! the order in which they came, each once; what waits is bounded, and what finds no room is
//! dropped, as by a switch. The cards go with the line.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_timerslack;
use nix::unistd::gettid;
use tun_rs::DeviceBuilder;

use super::travelling::{Packet, Travelling};
use crate::switch::{Ports, Switch, enter};

/// Packets that may wait in a card until the line reads them.
const CARD_ROOM: u32 = 4_096;
/// Packets that are read from a card before others, and what is due, have their turn.
const AT_ONCE: usize = 256;
/// The latest that waking is taken to be: for longer, others had the processor.
const MOST_LATE: Duration = Duration::from_micros(300);
/// The shortest header of IPv4.
const HEADER_BYTES: usize = 20;

/// A delay line that runs; it ends when dropped.
#[derive(Debug)]
pub(super) struct DelayLine {
    _switch: Switch,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the host of its address, or to all.
    Switched,
    /// To the other end of its cable: ends 2 n and 2 n + 1 are one.
    Along,
}

/// A card that the line makes in a network namespace.
pub(super) struct End {
    pub(super) namespace: String,
    pub(super) card: String,
    /// How long what leaves by it travels, in microseconds.
    pub(super) delay_us: f64,
}

impl DelayLine {
    /// Gives each of these network namespaces a card of that name, for the host there. The address
    /// of host n of the list, from 0, ends with n + 1.
    ///
    /// # Errors
    /// What the system says, if it refuses TUN devices.
    pub(super) fn between(hosts: Vec<String>, card: &str, delay_us: f64) -> io::Result<Self> {
        let end = |namespace| End { namespace, card: card.to_owned(), delay_us };
        Self::start(hosts.into_iter().map(end).collect(), Way::Switched)
    }

    /// Lays cables, whose ends are these cards, two and two. Nothing of the usual kind takes the
    /// processor from it, if the system allows: links are there whatever ranks do.
    ///
    /// # Errors
    /// What the system says, if it refuses TUN devices.
    pub(super) fn cables(ends: Vec<End>) -> io::Result<Self> {
        Self::start(ends, Way::Along)
    }

    fn start(ends: Vec<End>, way: Way) -> io::Result<Self> {
        let delay = |end: &End| Duration::from_secs_f64(end.delay_us / 1e6);
        let delays = ends.iter().map(delay).collect();
        let plug = move || ends.iter().map(end_of).collect();
        let switch = Switch::start(plug, move |ports| {
            let _ = set_timerslack(1); // else every delay is some 50 µs longer
            if way == Way::Along {
                go_first();
            }
            let travelling = Travelling::default();
            Line { ports, delays, way, travelling, waking: Waking::default() }.run();
        });
        Ok(Self { _switch: switch? })
    }
}

/// Has this thread go before all of the usual kind; where that is refused it is as others.
fn go_first() {
    let own = gettid().to_string();
    let _ = Command::new("chrt").args(["--fifo", "--pid", "1", &own]).output();
}

/// The line's end of a card that it makes in a network namespace, and where this thread is then.
fn end_of(end: &End) -> io::Result<OwnedFd> {
    enter(&end.namespace)?;
    let builder = DeviceBuilder::new().name(&end.card).tx_queue_len(CARD_ROOM).enable(false);
    let device = builder.build_sync()?;
    device.set_nonblocking(true)?;
    device.as_fd().try_clone_to_owned()
}

/// How late the thread wakes.
#[derive(Default)]
struct Waking {
    typical: Duration,
}

impl Waking {
    /// The thread wanted to wake at `wanted`, and did so at `woke`.
    fn saw(&mut self, wanted: Instant, woke: Instant) {
        let late = woke.saturating_duration_since(wanted).min(MOST_LATE);
        self.typical = (self.typical * 7 + late) / 8;
    }

    /// When to wake for what is due then.
    fn before(&self, due: Instant) -> Instant {
        due.checked_sub(self.typical).unwrap_or(due)
    }
}

/// The thread's part.
struct Line {
    ports: Ports,
    /// By port.
    delays: Vec<Duration>,
    way: Way,
    travelling: Travelling,
    waking: Waking,
}

impl Line {
    fn run(mut self) {
        let mut buffer = Ports::buffer();
        loop {
            self.arrive_all();
            let asleep = Instant::now();
            let wanted = self.travelling.next_due().map(|due| self.waking.before(due));
            let wait = wanted.map(|wanted| wanted.saturating_duration_since(asleep));
            let Some(ready) = self.ports.ready(wait) else { return };
            if let Some(wanted) = wanted.filter(|&wanted| asleep < wanted && ready.is_empty()) {
                self.waking.saw(wanted, Instant::now());
            }
            for port in ready {
                self.depart(port, &mut buffer);
            }
        }
    }

    /// Writes what is due by now.
    fn arrive_all(&mut self) {
        let now = Instant::now();
        while let Some(packet) = self.travelling.arrived(now) {
            self.arrive(&packet);
        }
    }

    fn depart(&mut self, from: usize, buffer: &mut [u8]) {
        for _ in 0..AT_ONCE {
            let Some(content) = self.ports.receive(from, buffer) else { return };
            self.travelling.depart(Instant::now() + self.delays[from], from, content);
        }
    }

    fn arrive(&self, packet: &Packet) {
        if self.way == Way::Along {
            self.ports.send(packet.from ^ 1, &packet.content); // as below
            return;
        }
        for port in 0..self.ports.count() {
            if port != packet.from && is_for(&packet.content, port) {
                self.ports.send(port, &packet.content); // a card that is full drops it
            }
        }
    }
}

/// Whether a packet is one of IPv4 for a host, or for all.
fn is_for(packet: &[u8], host: usize) -> bool {
    if packet.len() < HEADER_BYTES || packet[0] >> 4 != 4 {
        return false;
    }
    let (first, last) = (packet[16], packet[19]);
    first >= 224 || last == 255 || usize::from(last) == host + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet_to(address: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45; HEADER_BYTES];
        packet[16..].copy_from_slice(&address);
        packet
    }

    fn receivers(packet: &[u8]) -> Vec<usize> {
        (0..4).filter(|&host| is_for(packet, host)).collect()
    }

    #[test]
    fn a_packet_is_for_the_host_of_its_address() {
        assert_eq!(receivers(&packet_to([10, 48, 0, 3])), [2]);
        assert_eq!(receivers(&packet_to([10, 48, 0, 9])), [0; 0], "nobody has this address");
    }

    #[test]
    fn what_is_for_all_is_for_all() {
        for all in [[10, 48, 0, 255], [255; 4], [224, 0, 0, 1]] {
            assert_eq!(receivers(&packet_to(all)), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn what_is_torn_or_of_another_protocol_is_for_nobody() {
        let whole = packet_to([255; 4]);
        for bytes in 0..HEADER_BYTES {
            assert_eq!(receivers(&whole[..bytes]), [0; 0], "{bytes} bytes");
        }
        let mut other = whole;
        other[0] = 0x60;
        assert_eq!(receivers(&other), [0; 0]);
    }

    const MICROSECOND: Duration = Duration::from_micros(1);

    #[test]
    fn a_thread_that_wakes_late_is_woken_earlier_by_that() {
        let (mut waking, begin) = (Waking::default(), Instant::now() + Duration::from_secs(1));
        assert_eq!(waking.before(begin), begin, "it was never late");
        for _ in 0..100 {
            waking.saw(begin, begin + 60 * MICROSECOND);
        }
        let early = begin - waking.before(begin);
        assert!((55..=60).contains(&early.as_micros()), "{early:?}");
    }

    #[test]
    fn who_had_the_processor_taken_away_is_not_taken_to_be_that_late() {
        let (mut waking, begin) = (Waking::default(), Instant::now() + Duration::from_secs(1));
        for _ in 0..100 {
            waking.saw(begin, begin + Duration::from_secs(1));
        }
        assert!(begin - waking.before(begin) <= MOST_LATE);
    }
}
