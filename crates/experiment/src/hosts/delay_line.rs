//! A switch in user space that lets every packet travel for a while: for kernels without netem.
//!
//! The card of each host is a TUN device. What the host sends, the line reads from it; when its
//! time has come it is written to the card of its receiver, to which it looks like a packet from
//! the network. All packets travel equally long, so the queue is in order of time.
//!
//! Invariants: packets leave in the order in which they came, each once; what waits is bounded, and
//! what finds no room is dropped, as by a switch. The cards go with the line.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::prctl::set_timerslack;
use tun_rs::DeviceBuilder;

use crate::switch::{Ports, Switch, enter};

/// Packets that may wait at one time.
const ROOM: usize = 65_536;
/// Packets that may wait in a card until the line reads them.
const CARD_ROOM: u32 = 4_096;
/// Packets that are read from a card before others, and what is due, have their turn.
const AT_ONCE: usize = 256;
/// The shortest header of IPv4.
const HEADER_BYTES: usize = 20;

/// A delay line that runs; it ends when dropped.
#[derive(Debug)]
pub(super) struct DelayLine {
    _switch: Switch,
}

impl DelayLine {
    /// Gives each of these network namespaces a card of that name, for the host there. The address
    /// of host n of the list, from 0, ends with n + 1.
    ///
    /// # Errors
    /// What the system says, if it refuses TUN devices.
    pub(super) fn between(hosts: Vec<String>, card: &str, delay_us: f64) -> io::Result<Self> {
        let (card, delay) = (card.to_owned(), Duration::from_secs_f64(delay_us / 1e6));
        let plug = move || hosts.iter().map(|host| end_of(host, &card)).collect();
        let switch = Switch::start(plug, move |ports| {
            let _ = set_timerslack(1); // else every delay is some 50 µs longer
            Line { ports, delay, travelling: VecDeque::new() }.run();
        });
        Ok(Self { _switch: switch? })
    }
}

/// The line's end of a card that it makes in a network namespace, and where this thread is then.
fn end_of(host: &str, card: &str) -> io::Result<OwnedFd> {
    enter(host)?;
    let builder = DeviceBuilder::new().name(card).tx_queue_len(CARD_ROOM).enable(false);
    let device = builder.build_sync()?;
    device.set_nonblocking(true)?;
    device.as_fd().try_clone_to_owned()
}

/// A packet that travels.
struct Packet {
    due: Instant,
    from: usize,
    content: Box<[u8]>,
}

/// The thread's part.
struct Line {
    ports: Ports,
    delay: Duration,
    travelling: VecDeque<Packet>,
}

impl Line {
    fn run(mut self) {
        let mut buffer = Ports::buffer();
        loop {
            let now = Instant::now();
            while self.travelling.front().is_some_and(|packet| packet.due <= now) {
                let packet = self.travelling.pop_front().expect("it was there just now");
                self.arrive(&packet);
            }
            let wait = self.travelling.front().map(|packet| packet.due.duration_since(now));
            match self.ports.ready(wait) {
                Some(ready) => ready.into_iter().for_each(|port| self.depart(port, &mut buffer)),
                None => return,
            }
        }
    }

    fn depart(&mut self, from: usize, buffer: &mut [u8]) {
        for _ in 0..AT_ONCE {
            let Some(content) = self.ports.receive(from, buffer) else { return };
            if self.travelling.len() < ROOM {
                let due = Instant::now() + self.delay;
                self.travelling.push_back(Packet { due, from, content: (&*content).into() });
            }
        }
    }

    fn arrive(&self, packet: &Packet) {
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
}
