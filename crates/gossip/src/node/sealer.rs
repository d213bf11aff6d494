//! The sealer: a node's keys, and the numbers that make each of its seals another.

use tidings_primitives::CachedRing;
use tidings_primitives::nonce::Nonce;
use tidings_primitives::seal::{Fingerprint, KeyRing, Unopened};

use crate::colony::id::ColonyId;
use crate::entry::{Incarnation, NodeId};
use crate::wire::header::{self, Header, Kind};

/// Above this a datagram's number is of a sealer beside that of its node: no replay window counts
/// it.
const BESIDE: u64 = 1 << 47;

/// Whether a datagram was sealed beside those of its sender's life.
pub(super) fn is_beside(header: &Header) -> bool {
    header.counter > BESIDE
}

/// How many of the last datagrams may still be answered.
const LATELY: u64 = 1 << 16;

/// What a datagram is to say of itself in clear, beside what the sealer knows.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) version: u8,
    pub(super) kind: Kind,
    pub(super) sender: NodeId,
    pub(super) incarnation: Incarnation,
}

/// Seals what a node sends, and opens what it receives.
pub(super) struct Sealer {
    keys: CachedRing,
    /// The number of the cluster.
    cluster: u32,
    /// The number of those who read what is not for other colonies.
    own_group: u32,
    /// Random number of this life.
    salt: u64,
    /// Datagrams sealed in this life.
    sealed: u64,
}

impl Sealer {
    pub(super) fn new(keys: KeyRing, cluster: &str, colony: Option<ColonyId>, salt: u64) -> Self {
        let cluster = header::cluster_hash(cluster);
        let own_group = colony.map_or(cluster, |colony| cluster.wrapping_add(colony.0));
        let (keys, salt) = (CachedRing::new(keys), salt & header::MAX_48);
        Self { keys, cluster, own_group, salt, sealed: 0 }
    }

    pub(super) fn set_keys(&mut self, keys: KeyRing) {
        self.keys = CachedRing::new(keys);
    }

    /// The fingerprints of the keys, that of the sealing one first; none without a secret.
    pub(super) fn fingerprints(&self) -> &[Fingerprint] {
        self.keys.ring().fingerprints()
    }

    /// Another sealer with these keys, whose seals are those of a life of its own.
    pub(super) fn beside(&self, salt: u64) -> Self {
        let (keys, salt) = (self.keys.clone(), salt & header::MAX_48);
        Self { keys, salt, sealed: BESIDE, ..*self }
    }

    /// Whether it has lately sealed a datagram with this nonce.
    pub(super) fn has_sealed(&self, nonce: &Nonce) -> bool {
        let late = self.sealed.saturating_sub(LATELY);
        nonce.salt == self.salt && (late + 1..=self.sealed).contains(&nonce.counter)
    }

    /// The number of the cluster: others have another.
    pub(super) fn cluster(&self) -> u32 {
        self.cluster
    }

    /// Who is to read datagrams of a kind: the own colony, or everybody those between colonies.
    pub(super) fn group(&self, kind: Kind) -> u32 {
        if kind.is_foreign() { self.cluster } else { self.own_group }
    }

    /// Opens a datagram in place and returns what was sealed.
    pub(super) fn unseal<'a>(&mut self, datagram: &'a mut [u8]) -> Result<&'a [u8], Unopened> {
        self.keys.unseal(datagram)
    }

    /// The same for who opens one datagram alone.
    pub(super) fn unseal_one<'a>(&self, datagram: &'a mut [u8]) -> Result<&'a [u8], Unopened> {
        self.keys.ring().unseal(datagram)
    }

    /// Writes the header of a datagram and seals what lies behind it.
    pub(super) fn seal(&mut self, label: Label, datagram: &mut [u8]) {
        self.sealed += 1;
        let header = Header {
            version: label.version,
            kind: label.kind,
            cluster: self.group(label.kind),
            sender: label.sender,
            incarnation: label.incarnation,
            key_id: self.keys.ring().sealing_id(),
            salt: self.salt,
            counter: self.sealed,
        };
        datagram[..header::BYTES].copy_from_slice(&header.to_bytes());
        self.keys.seal(datagram);
    }
}
