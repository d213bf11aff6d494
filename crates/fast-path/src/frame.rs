//! A frame made once: all that is before the bytes of a datagram, so that sending it is copying
//! them behind it.
//!
//! It goes to its interface as it is, past routes, filters and queues of the kernel, which is what
//! is saved. So who sends it says what these would have found: the hardware addresses of both ends.
//! UDP over IPv4 needs no checksum of the bytes; that of the header is made once, but for the
//! length, which is added to it.

use std::net::SocketAddrV4;

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const HEAD_BYTES: usize = ETHERNET_BYTES + IP_BYTES + UDP_BYTES;
const PROTOCOL_UDP: u8 = 17;
const TIME_TO_LIVE: u8 = 64;

/// Both ends of what a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The hardware address of the interface that sends, and of the next host.
    pub hardware: [[u8; 6]; 2],
    /// Who sends.
    pub from: SocketAddrV4,
    /// Who gets it.
    pub to: SocketAddrV4,
}

/// A frame, and room for the bytes of a datagram in it.
#[derive(Debug)]
pub(crate) struct Frame {
    bytes: Box<[u8]>,
    /// The sum over the header of IP without its length and checksum.
    sum: u32,
}

impl Frame {
    /// With room for so many bytes, of which a datagram has less than 2^16.
    pub(crate) fn new(ends: &Ends, room: usize) -> Self {
        let mut bytes = vec![0; HEAD_BYTES + room].into_boxed_slice();
        bytes[..6].copy_from_slice(&ends.hardware[1]);
        bytes[6..12].copy_from_slice(&ends.hardware[0]);
        bytes[12..14].copy_from_slice(&[8, 0]); // IPv4
        let ip = &mut bytes[ETHERNET_BYTES..][..IP_BYTES];
        ip[0] = 0x45; // version 4, a header of five words
        ip[6] = 0x40; // not to be cut
        (ip[8], ip[9]) = (TIME_TO_LIVE, PROTOCOL_UDP);
        ip[12..16].copy_from_slice(&ends.from.ip().octets());
        ip[16..].copy_from_slice(&ends.to.ip().octets());
        let words = ip.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum = words.sum();
        let udp = &mut bytes[ETHERNET_BYTES + IP_BYTES..][..UDP_BYTES];
        udp[..2].copy_from_slice(&ends.from.port().to_be_bytes());
        udp[2..4].copy_from_slice(&ends.to.port().to_be_bytes());
        Self { bytes, sum }
    }

    /// The frame with these bytes, of which it takes as many as it has room for.
    pub(crate) fn with(&mut self, payload: &[u8]) -> &[u8] {
        let payload = &payload[..payload.len().min(self.bytes.len() - HEAD_BYTES)];
        let udp_bytes = (UDP_BYTES + payload.len()) as u16;
        let ip_bytes = IP_BYTES as u16 + udp_bytes;
        let mut sum = self.sum + u32::from(ip_bytes);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let ip = &mut self.bytes[ETHERNET_BYTES..];
        ip[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
        ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        ip[IP_BYTES + 4..][..2].copy_from_slice(&udp_bytes.to_be_bytes());
        let whole = HEAD_BYTES + payload.len();
        self.bytes[HEAD_BYTES..whole].copy_from_slice(payload);
        &self.bytes[..whole]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::INLINE_BYTES;

    /// The header that RFC 1071's rule accepts: all words, with the checksum, sum up to ones.
    #[test]
    fn the_checksum_holds_for_each_length() {
        let ends = Ends {
            hardware: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]],
            from: "10.1.2.3:4000".parse().expect("an address"),
            to: "192.168.255.254:65535".parse().expect("an address"),
        };
        let mut frame = Frame::new(&ends, INLINE_BYTES);
        for length in 0..=INLINE_BYTES {
            let bytes = frame.with(&vec![9; length]);
            assert_eq!(bytes.len(), HEAD_BYTES + length);
            let words = bytes[ETHERNET_BYTES..][..IP_BYTES].chunks_exact(2);
            let mut sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!(sum, 0xffff, "{length}");
            assert!(bytes[HEAD_BYTES..].iter().all(|&byte| byte == 9));
        }
        assert_eq!(frame.with(&[9; 1000]).len(), HEAD_BYTES + INLINE_BYTES, "it takes no more");
    }
}
