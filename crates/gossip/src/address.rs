//! Where datagrams go: an address the core carries but never reads.
//!
//! The core runs over UDP, over MPI and inside a simulator, so an address is a short opaque byte
//! string: 6 bytes for IPv4 and port, 18 for IPv6 and port, a rank or an index elsewhere. Only the
//! driver that made an address takes it apart again.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most bytes an address may have.
pub const MAX_ADDRESS_BYTES: usize = 18;

/// An opaque address of at most [`MAX_ADDRESS_BYTES`] bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    len: u8,
    bytes: [u8; MAX_ADDRESS_BYTES],
}

impl Address {
    /// The address of no bytes, for who is not reached yet: drivers send nothing there.
    pub const NOWHERE: Self = Self { len: 0, bytes: [0; MAX_ADDRESS_BYTES] };

    /// An address from raw bytes; `None` if there are more than [`MAX_ADDRESS_BYTES`].
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_ADDRESS_BYTES];
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        Some(Self { len: raw.len() as u8, bytes })
    }

    /// The bytes this address was made from.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl From<SocketAddr> for Address {
    fn from(socket: SocketAddr) -> Self {
        let mut bytes = [0; MAX_ADDRESS_BYTES];
        let ip_len = match socket.ip() {
            IpAddr::V4(ip) => {
                bytes[..4].copy_from_slice(&ip.octets());
                4
            }
            IpAddr::V6(ip) => {
                bytes[..16].copy_from_slice(&ip.octets());
                16
            }
        };
        bytes[ip_len..ip_len + 2].copy_from_slice(&socket.port().to_be_bytes());
        Self { len: ip_len as u8 + 2, bytes }
    }
}

/// The address has not the length of an IPv4 or IPv6 address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("address of {0} bytes is neither IPv4 (6) nor IPv6 (18) with a port")]
pub struct NotASocketAddress(pub usize);

impl TryFrom<Address> for SocketAddr {
    type Error = NotASocketAddress;

    fn try_from(address: Address) -> Result<Self, Self::Error> {
        let raw = address.as_bytes();
        if let Ok([a, b, c, d, high, low]) = <[u8; 6]>::try_from(raw) {
            let ip = Ipv4Addr::new(a, b, c, d);
            return Ok(Self::from((ip, u16::from_be_bytes([high, low]))));
        }
        let Some((ip, port)) = raw.split_first_chunk::<16>() else {
            return Err(NotASocketAddress(raw.len()));
        };
        match <[u8; 2]>::try_from(port) {
            Ok(port) => Ok(Self::from((Ipv6Addr::from(*ip), u16::from_be_bytes(port)))),
            Err(_) => Err(NotASocketAddress(raw.len())),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SocketAddr::try_from(*self) {
            Ok(socket) => write!(f, "{socket}"),
            Err(_) => write!(f, "{:02x?}", self.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_addresses_survive_the_round_trip() {
        for text in ["127.0.0.1:9616", "[2001:db8::7]:65535", "0.0.0.0:0"] {
            let socket: SocketAddr = text.parse().expect("a literal address");
            let address = Address::from(socket);
            assert_eq!(SocketAddr::try_from(address), Ok(socket));
        }
    }

    #[test]
    fn other_lengths_are_not_sockets() {
        let rank = Address::from_bytes(&7u32.to_le_bytes()).expect("four bytes fit");
        assert_eq!(SocketAddr::try_from(rank), Err(NotASocketAddress(4)));
        assert_eq!(Address::from_bytes(&[0; 19]), None);
    }
}
