//! The checker: the asking side of a check, beside a node's own traffic.

use tidings_primitives::seal::TAG_BYTES;

use super::sealer::{Label, Sealer};
use crate::entry::{Incarnation, NodeId};
use crate::wire::check::{self, Check, Checked};
use crate::wire::extension::{Extension, Versions, WRITTEN_BYTES};
use crate::wire::header::{self, Header, Kind};
use crate::wire::reject::{self, Reject};
use crate::wire::window::{Format, Reads};

/// Asks another node, on a socket of its own, whether datagrams pass. Its seals are those of a life
/// of its own, so that no nonce is used twice.
pub struct Checker {
    sealer: Sealer,
    version: u8,
    sender: NodeId,
    incarnation: Incarnation,
    format: Format,
    reads: Reads,
}

/// What came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The other node has understood the check.
    Answer(Checked),
    /// It has not.
    Reject(Reject),
}

impl Checker {
    pub(super) fn new(
        sealer: Sealer,
        version: u8,
        (sender, incarnation): (NodeId, Incarnation),
        (format, reads): (Format, Reads),
    ) -> Self {
        Self { sealer, version, sender, incarnation, format, reads }
    }

    /// The least bytes of a datagram that checks.
    pub const LEAST_BYTES: usize = header::BYTES + WRITTEN_BYTES + check::LEAST_BYTES + TAG_BYTES;

    /// The least bytes of one whose answer is to name the keys.
    pub const LEAST_BYTES_WITH_KEYS: usize =
        Self::LEAST_BYTES + check::LEAST_BYTES_WITH_KEYS - check::LEAST_BYTES;

    /// The payloads of the node.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Which payloads the node reads.
    pub fn reads(&self) -> Reads {
        self.reads
    }

    /// The version that it writes.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Writes a check over all of `datagram`.
    ///
    /// # Panics
    /// If it is shorter than [`Checker::LEAST_BYTES`].
    pub fn write(&mut self, token: u64, datagram: &mut [u8]) {
        let end = datagram.len() - TAG_BYTES;
        let reads = (self.version >= 2).then_some(Versions::READ);
        let said = Extension { reads, receiver: None };
        let body_at = header::BYTES + said.write(self.version, &mut datagram[header::BYTES..]);
        Check { token, format: self.format }.write(&mut datagram[body_at..end]);
        let Self { version, sender, incarnation, .. } = *self;
        let label = Label { version, kind: Kind::Check, sender, incarnation };
        self.sealer.seal(label, datagram);
    }

    /// Reads what came back; `None` if it answers no check of this checker.
    pub fn read(&self, datagram: &mut [u8]) -> Option<Heard> {
        if reject::is_reject(datagram) {
            let reject = Reject::read(datagram)?;
            return self.sealer.has_sealed(&reject.of).then_some(Heard::Reject(reject));
        }
        let header = Header::parse(datagram).ok()?;
        let group = self.sealer.group(Kind::Checked);
        if header.kind != Kind::Checked || header.cluster != group {
            return None;
        }
        let body = self.sealer.unseal_one(datagram).ok()?;
        let (_, body) = Extension::read(header.version, body).ok()?;
        Checked::read(body).map(Heard::Answer)
    }
}
