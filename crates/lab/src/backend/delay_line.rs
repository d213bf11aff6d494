//! A switch in user space that lets every frame travel for a while: for kernels without netem.
//!
//! What arrives at a port of the [switch](crate::switch) leaves by that of its receiver when its
//! time has come. All frames travel equally long, so the queue is in order of time. Cables leave
//! checksums to the card of the other end, which a packet socket is not: they are made here.
//!
//! Invariants: frames leave in the order in which they came, each once; what waits is bounded, and
//! what finds no room is dropped, as by a switch.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_timerslack;

use crate::switch::{ETHERNET_BYTES, Ports, Switch};

/// Frames that may wait at one time.
const ROOM: usize = 65_536;

/// A delay line that runs; it ends when dropped.
#[derive(Debug)]
pub(super) struct DelayLine {
    _switch: Switch,
}

impl DelayLine {
    /// Between these interfaces of the network namespace `namespace`; host n is behind the n-th.
    ///
    /// # Errors
    /// What the system says, if it refuses packet sockets.
    pub(super) fn between(namespace: &str, ports: Vec<String>, delay_us: f64) -> io::Result<Self> {
        let delay = Duration::from_secs_f64(delay_us / 1e6);
        let switch = Switch::start(namespace, ports, move |ports| {
            let _ = set_timerslack(1); // else every delay is some 50 µs longer
            Line { ports, delay, travelling: VecDeque::new() }.run();
        });
        Ok(Self { _switch: switch? })
    }
}

/// A frame that travels.
struct Frame {
    due: Instant,
    from: usize,
    content: Box<[u8]>,
}

/// The thread's part.
struct Line {
    ports: Ports,
    delay: Duration,
    travelling: VecDeque<Frame>,
}

impl Line {
    fn run(mut self) {
        let mut buffer = Ports::buffer();
        loop {
            let now = Instant::now();
            while self.travelling.front().is_some_and(|frame| frame.due <= now) {
                let frame = self.travelling.pop_front().expect("it was there just now");
                self.arrive(&frame);
            }
            let wait = self.travelling.front().map(|frame| frame.due.duration_since(now));
            match self.ports.ready(wait) {
                Some(ready) => ready.into_iter().for_each(|port| self.depart(port, &mut buffer)),
                None => return,
            }
        }
    }

    fn depart(&mut self, from: usize, buffer: &mut [u8]) {
        while let Some(content) = self.ports.receive(from, buffer) {
            if self.travelling.len() < ROOM {
                settle_checksum(content);
                let due = Instant::now() + self.delay;
                self.travelling.push_back(Frame { due, from, content: (&*content).into() });
            }
        }
    }

    /// Hands a frame to its receiver, whose number the last byte of its address is; to all others
    /// if there is no such.
    fn arrive(&self, frame: &Frame) {
        let place = usize::from(frame.content[5]).wrapping_sub(1);
        let is_group = frame.content[0] % 2 == 1;
        for port in 0..self.ports.count() {
            if port != frame.from && (is_group || place == port) {
                self.ports.send(port, &frame.content); // a cable that is full drops it
            }
        }
    }
}

/// Makes the checksum of a TCP segment or UDP datagram over IPv4 in a frame.
fn settle_checksum(frame: &mut [u8]) {
    let (head, packet) = frame.split_at_mut(ETHERNET_BYTES);
    if head[12..] != [0x08, 0x00] || packet.len() < 20 {
        return;
    }
    let (begin, protocol) = (usize::from(packet[0] & 0x0f) * 4, packet[9]);
    let end = usize::from(u16::from_be_bytes([packet[2], packet[3]])).min(packet.len());
    let is_part = packet[6] & 0x3f != 0 || packet[7] != 0;
    let place = match protocol {
        6 => 16,
        17 => 6,
        _ => return,
    };
    if is_part || begin < 20 || begin + place + 2 > end {
        return;
    }
    let addresses: u32 = sum(&packet[12..20]);
    let body = &mut packet[begin..end];
    body[place..place + 2].fill(0);
    let all = addresses + u32::from(protocol) + body.len() as u32 + sum(body);
    let checksum = match !fold(all) {
        0 if protocol == 17 => 0xffff, // 0 says that there is none
        checksum => checksum,
    };
    body[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The sum of words of 16 bits; of 65,535 bytes it fits.
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2);
    words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_made_and_nothing_else_is_touched() {
        let mut frame = vec![0; ETHERNET_BYTES];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        // An IPv4 header and a datagram of four bytes: RFC 1071's sum, computed by hand.
        frame.extend([0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x04, 0xd2, 0x16, 0x2e, 0, 12, 0xaa, 0xaa, b'a', b'b', b'c', b'd']);
        let before = frame.clone();
        settle_checksum(&mut frame);
        let whole = sum(&frame[26..34]) + 17 + 12 + sum(&frame[34..46]);
        assert_eq!(fold(whole), 0xffff, "a right checksum makes the sum of all ones");
        frame[40..42].copy_from_slice(&[0xaa, 0xaa]);
        assert_eq!(frame, before);
    }

    #[test]
    fn odd_and_torn_packets_are_left_alone() {
        for bytes in 0..60 {
            let mut frame = vec![0x45; ETHERNET_BYTES + bytes];
            frame[12..14].copy_from_slice(&[0x08, 0x00]);
            settle_checksum(&mut frame); // whatever it says, no panic
        }
    }
}
