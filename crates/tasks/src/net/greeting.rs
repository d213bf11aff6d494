//! Greetings: how both sides of a connection show that they have the cluster's key, and agree on
//! keys that only this connection has.
//!
//! | bytes | client, then server |
//! |---|---|
//! | 8 | `tidings` and the version, 1 |
//! | 1 | the server only: 0, or 1 where it could not open the client's greeting; then no more |
//! | 28 | head: `task`, and a random nonce with the key's id |
//! | 321 | sealed under the cluster's key: role, secret, echo, length of the cluster's name, name |
//! | 16 | tag |
//!
//! A *secret* is 32 random bytes; the *echo* is the SHA-256 of the client's secret, zeros from the
//! client. The keys are SHA-256(direction ‖ both secrets ‖ SHA-256(both greetings as sent)).
//!
//! **A recorded connection is of no use.** Whoever sends a client's greeting again gets a server's
//! greeting with a new secret that it cannot open, and so cannot make the first record. A server's
//! greeting is known by its echo, and by its role, so that a client's own is none.
//!
//! Whoever learns the cluster's key can read connections that were recorded before, as with the
//! gossip's datagrams. That is the price of needing one key only.

use sha2::{Digest as _, Sha256};
use tidings_primitives::nonce::{self, KEY_ID_AT};
use tidings_primitives::seal::{HEAD_BYTES, Key, KeyRing, NONCE_AT, TAG_BYTES};

/// What both sides send first.
pub(super) const OPENING: [u8; 8] = *b"tidings\x01";

/// Where in it the version is.
pub(super) const VERSION_AT: usize = 7;

/// The head's first bytes: no frame of another protocol under the same key has them.
const HEAD: [u8; 4] = *b"task";

const MAX_CLUSTER_BYTES: usize = 255;
const BODY_BYTES: usize = 1 + 32 + 32 + 1 + MAX_CLUSTER_BYTES;

/// Bytes of a sealed greeting.
pub(super) const GREETING_BYTES: usize = HEAD_BYTES + BODY_BYTES + TAG_BYTES;

/// A sealed greeting.
pub(super) type Frame = [u8; GREETING_BYTES];

/// Who greets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Client = 1,
    Server = 2,
}

/// What one side says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Greeting {
    pub(super) role: Role,
    pub(super) secret: [u8; 32],
    pub(super) echo: [u8; 32],
    /// The name of its cluster, of which only the first 255 bytes count.
    pub(super) cluster: Vec<u8>,
}

/// Random bytes of the system.
pub(super) fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// The name of a cluster, as far as it counts.
pub(super) fn shorten(cluster: &str) -> Vec<u8> {
    cluster.bytes().take(MAX_CLUSTER_BYTES).collect()
}

/// What a server's greeting has of the client's secret.
pub(super) fn echo(secret: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update("tidings tasks echo").chain_update(secret).finalize().into()
}

impl Greeting {
    /// Seals it, with a nonce that was never used.
    pub(super) fn seal(&self, ring: &KeyRing, mut nonce: [u8; nonce::BYTES]) -> Frame {
        let mut frame = [0; GREETING_BYTES];
        nonce[KEY_ID_AT] = ring.sealing_id();
        frame[..NONCE_AT].copy_from_slice(&HEAD);
        frame[NONCE_AT..HEAD_BYTES].copy_from_slice(&nonce);
        let body = &mut frame[HEAD_BYTES..HEAD_BYTES + BODY_BYTES];
        body[0] = self.role as u8;
        body[1..33].copy_from_slice(&self.secret);
        body[33..65].copy_from_slice(&self.echo);
        body[65] = self.cluster.len() as u8;
        body[66..66 + self.cluster.len()].copy_from_slice(&self.cluster);
        ring.seal(&mut frame);
        frame
    }

    /// Opens it; `None` if no key of the ring does, or it is no greeting.
    pub(super) fn open(ring: &KeyRing, mut frame: Frame) -> Option<Self> {
        if frame[..NONCE_AT] != HEAD {
            return None;
        }
        let body = ring.unseal(&mut frame).ok()?;
        let role = match body[0] {
            1 => Role::Client,
            2 => Role::Server,
            _ => return None,
        };
        let (secret, echo) = (body[1..33].try_into().ok()?, body[33..65].try_into().ok()?);
        let cluster = body[66..66 + usize::from(body[65])].to_vec();
        Some(Self { role, secret, echo, cluster })
    }
}

/// The keys for what the client sends, and for what the server sends.
pub(super) fn keys(client: (&Greeting, &Frame), server: (&Greeting, &Frame)) -> (Key, Key) {
    let sent = Sha256::new().chain_update(client.1).chain_update(server.1).finalize();
    let key = |direction: &str| {
        let key = Sha256::new()
            .chain_update("tidings tasks ")
            .chain_update(direction)
            .chain_update(client.0.secret)
            .chain_update(server.0.secret)
            .chain_update(sent);
        Key::from_bytes(key.finalize().into())
    };
    (key("client to server"), key("server to client"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ring(key: u8) -> KeyRing {
        KeyRing::new(&[Key::from_bytes([key; 32])]).unwrap()
    }

    fn greeting(cluster: &str) -> Greeting {
        let cluster = shorten(cluster);
        Greeting { role: Role::Client, secret: [1; 32], echo: [0; 32], cluster }
    }

    proptest! {
        #[test]
        fn greetings_are_read_as_they_are_sealed(cluster: String, nonce: [u8; 24], server: bool) {
            let role = if server { Role::Server } else { Role::Client };
            let greeting = Greeting { role, ..greeting(&cluster) };
            let frame = greeting.seal(&ring(1), nonce);
            prop_assert_eq!(Greeting::open(&ring(1), frame), Some(greeting));
            prop_assert_eq!(Greeting::open(&ring(2), frame), None);
        }

        #[test]
        fn any_change_is_noticed(nonce: [u8; 24], at in 0..GREETING_BYTES, bit in 0..8_u8) {
            let mut frame = greeting("test").seal(&ring(1), nonce);
            frame[at] ^= 1 << bit;
            prop_assert_eq!(Greeting::open(&ring(1), frame), None);
        }
    }

    #[test]
    fn the_longest_name_has_room() {
        let greeting = greeting(&"c".repeat(300));
        assert_eq!(greeting.cluster.len(), 255);
        let frame = greeting.seal(&ring(1), [5; 24]);
        assert_eq!(Greeting::open(&ring(1), frame), Some(greeting));
    }

    #[test]
    fn each_direction_and_each_connection_has_a_key_of_its_own() {
        let greeting = greeting("test");
        let seal = |nonce| greeting.seal(&ring(1), [nonce; 24]);
        let both = |client: &Frame, server: &Frame| {
            let (to_server, to_client) = keys((&greeting, client), (&greeting, server));
            [to_server, to_client].map(|key| *key.as_bytes())
        };
        let all = [both(&seal(1), &seal(2)), both(&seal(1), &seal(3)), both(&seal(3), &seal(2))];
        let distinct: std::collections::BTreeSet<_> = all.as_flattened().iter().collect();
        assert_eq!(distinct.len(), 6);
    }
}
