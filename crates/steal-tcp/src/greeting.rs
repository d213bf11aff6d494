//! Greetings: how both ends of a connection show that they have the job's key, and agree on keys
//! that only this connection has.
//!
//! | bytes | who calls, then who answers |
//! |---|---|
//! | 8 | `tidstea` and the version, 1 |
//! | 1 | who answers only: 0, or why not; then no more |
//! | 28 | head: `stea`, and a random nonce with the key's id |
//! | 155 | sealed under the job's key: what [`Greeting`] holds |
//! | 16 | tag |
//!
//! The *echo* is the SHA-256 of the caller's secret, zeros from the caller. The keys are
//! SHA-256(direction ‖ both secrets ‖ SHA-256(both greetings as sent)), as between hosts of durable
//! tasks (docs/decisions/0026-tasks-over-tcp.md): a recorded connection is of no use, as its first
//! record does not open a second time.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use sha2::{Digest as _, Sha256};
use tidings_primitives::bytes::Reader;
use tidings_primitives::nonce::{self, KEY_ID_AT};
use tidings_primitives::seal::{HEAD_BYTES, Key, KeyRing, NONCE_AT, TAG_BYTES};

/// What both ends send first.
pub(crate) const OPENING: [u8; 8] = *b"tidstea\x01";
/// Where in it the version is.
pub(crate) const VERSION_AT: usize = 7;
/// The head's first bytes: no frame of another protocol under the same key has them.
const HEAD: [u8; NONCE_AT] = *b"stea";

const BODY_BYTES: usize = 1 + 4 + 4 + 4 * 32 + 16 + 2;

/// Bytes of a sealed greeting.
pub(crate) const GREETING_BYTES: usize = HEAD_BYTES + BODY_BYTES + TAG_BYTES;

/// A sealed greeting.
pub(crate) type Frame = [u8; GREETING_BYTES];

/// What a connection is for, and who greets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It calls: messages of workers.
    Calls = 1,
    /// It answers.
    Answers = 2,
    /// It calls: blocks of arrays that the other one has.
    Asks = 3,
}

/// What one end says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Greeting {
    pub(crate) role: Role,
    /// Which worker it is.
    pub(crate) number: u32,
    /// Of how many.
    pub(crate) workers: u32,
    /// The hash of the job's name.
    pub(crate) job: [u8; 32],
    /// The hash of its rules.
    pub(crate) rules: [u8; 32],
    pub(crate) secret: [u8; 32],
    pub(crate) echo: [u8; 32],
    /// Where it listens; the address is unspecified if it does not know.
    pub(crate) listens: SocketAddr,
}

/// The keys of a connection.
#[derive(Debug)]
pub(crate) struct Keys {
    /// For what the caller sends.
    pub(crate) calls: Key,
    /// For what the other end sends.
    pub(crate) answers: Key,
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// What an answer has of the caller's secret.
pub(crate) fn echo(secret: &[u8; 32]) -> [u8; 32] {
    hash(&[b"tidings steal echo", secret])
}

/// The SHA-256 of these, one after the other.
pub(crate) fn hash(parts: &[&[u8]]) -> [u8; 32] {
    parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize().into()
}

impl Greeting {
    /// Seals it, with a nonce that was never used.
    pub(crate) fn seal(&self, ring: &KeyRing, mut nonce: [u8; nonce::BYTES]) -> Frame {
        nonce[KEY_ID_AT] = ring.sealing_id();
        let IpAddr::V6(ip) = widened(self.listens.ip()) else { unreachable!("it is IPv6 now") };
        let parts: [&[u8]; 11] = [
            &HEAD,
            &nonce,
            &[self.role as u8],
            &self.number.to_le_bytes(),
            &self.workers.to_le_bytes(),
            &self.job,
            &self.rules,
            &self.secret,
            &self.echo,
            &ip.octets(),
            &self.listens.port().to_le_bytes(),
        ];
        let (mut frame, mut at) = ([0; GREETING_BYTES], 0);
        for part in parts {
            frame[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        ring.seal(&mut frame);
        frame
    }

    /// Opens it; `None` if no key of the ring does, or it is no greeting.
    pub(crate) fn open(ring: &KeyRing, mut frame: Frame) -> Option<Self> {
        if frame[..NONCE_AT] != HEAD {
            return None;
        }
        let mut reader = Reader(ring.unseal(&mut frame).ok()?);
        let role = match reader.u8()? {
            1 => Role::Calls,
            2 => Role::Answers,
            3 => Role::Asks,
            _ => return None,
        };
        let (number, workers) = (reader.u32()?, reader.u32()?);
        let (job, rules) = (reader.array()?, reader.array()?);
        let (secret, echo) = (reader.array()?, reader.array()?);
        let ip = IpAddr::V6(Ipv6Addr::from(reader.array::<16>()?)).to_canonical();
        let listens = SocketAddr::new(ip, reader.u16()?);
        Some(Self { role, number, workers, job, rules, secret, echo, listens })
    }
}

/// An address as one of IPv6.
pub(crate) fn widened(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V6(ip.to_ipv6_mapped()),
        IpAddr::V6(_) => ip,
    }
}

/// The keys for what each end sends.
pub(crate) fn keys(caller: (&Greeting, &Frame), answer: (&Greeting, &Frame)) -> Keys {
    let sent = hash(&[caller.1, answer.1]);
    let key = |direction: &[u8]| {
        let parts = [b"tidings steal ", direction, &caller.0.secret, &answer.0.secret, &sent];
        Key::from_bytes(hash(&parts))
    };
    Keys { calls: key(b"calls"), answers: key(b"answers") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ring(key: u8) -> KeyRing {
        KeyRing::new(&[Key::from_bytes([key; 32])]).unwrap()
    }

    fn greeting(number: u32, ip: IpAddr, port: u16) -> Greeting {
        let (job, rules, secret, echo) = ([1; 32], [2; 32], [3; 32], [4; 32]);
        let listens = SocketAddr::new(ip, port);
        Greeting { role: Role::Calls, number, workers: 9, job, rules, secret, echo, listens }
    }

    proptest! {
        #[test]
        fn greetings_are_read_as_they_are_sealed(
            number: u32,
            ip: [u8; 4],
            port: u16,
            nonce: [u8; 24],
            at in 0..GREETING_BYTES,
            bit in 0..8_u8,
        ) {
            for role in [Role::Calls, Role::Answers, Role::Asks] {
                let greeting = Greeting { role, ..greeting(number, ip.into(), port) };
                let mut frame = greeting.seal(&ring(1), nonce);
                prop_assert_eq!(Greeting::open(&ring(1), frame), Some(greeting));
                prop_assert_eq!(Greeting::open(&ring(2), frame), None);
                frame[at] ^= 1 << bit;
                prop_assert_eq!(Greeting::open(&ring(1), frame), None);
            }
        }
    }

    #[test]
    fn each_direction_and_each_connection_has_a_key_of_its_own() {
        let greeting = greeting(1, Ipv6Addr::LOCALHOST.into(), 5);
        let seal = |nonce| greeting.seal(&ring(1), [nonce; 24]);
        let both = |one: &Frame, other: &Frame| {
            let keys = keys((&greeting, one), (&greeting, other));
            [*keys.calls.as_bytes(), *keys.answers.as_bytes()]
        };
        let all = [both(&seal(1), &seal(2)), both(&seal(1), &seal(3)), both(&seal(3), &seal(2))];
        let distinct: std::collections::BTreeSet<_> = all.as_flattened().iter().collect();
        assert_eq!(distinct.len(), 6);
    }
}
