//! Envelopes: what stands before a body, and how a datagram is sealed.

use tidings_primitives::seal::TAG_BYTES;

use super::machine::Node;
use super::sealer::Label;
use crate::entry::NodeId;
use crate::wire::extension::{Extension, Receiver};
use crate::wire::header::{self, CHANGES_VERSION, Kind};

/// What a datagram says of itself.
#[derive(Clone, Copy)]
pub(super) struct Envelope {
    /// The version of the format that it is written in.
    pub(super) version: u8,
    pub(super) kind: Kind,
    /// Whom it asks for something; `None` if anybody may read it.
    pub(super) receiver: Option<NodeId>,
}

impl Node {
    /// The envelope of a datagram that anybody may read.
    pub(super) fn envelope(&self, kind: Kind) -> Envelope {
        self.envelope_to(None, kind)
    }

    /// The envelope of a datagram that asks `receiver` for something, if one is named.
    pub(super) fn envelope_to(&self, receiver: Option<NodeId>, kind: Kind) -> Envelope {
        Envelope { version: self.version_written(), kind, receiver }
    }

    /// The version of all that is not sent as changes by bases: anybody reads it.
    pub(super) fn version_written(&self) -> u8 {
        self.config.wire_version.min(CHANGES_VERSION - 1)
    }

    /// What a datagram says under its seal before its body; nothing in version 1. Who writes
    /// version 3 reads it, which goes without saying.
    fn extension(&self, envelope: Envelope) -> Extension {
        if envelope.version < 2 {
            return Extension::default();
        }
        let receiver = envelope.receiver.map(|id| {
            let held = self.vector.get(id).map(|entry| entry.stamp.incarnation());
            Receiver { id, incarnation: held.unwrap_or_default() }
        });
        let reads = (envelope.version < CHANGES_VERSION).then(|| self.versions_read());
        Extension { reads, receiver }
    }

    /// Where the body begins in a datagram of this node.
    pub(super) fn body_at(&self, envelope: Envelope) -> usize {
        header::BYTES + self.extension(envelope).bytes(envelope.version)
    }

    /// Puts what goes in front of a body of `written` bytes, seals all, and returns their size. The
    /// body lies where [`Node::body_at`] says.
    pub(super) fn seal(
        &mut self,
        envelope: Envelope,
        datagram: &mut [u8],
        written: usize,
    ) -> usize {
        let Envelope { version, kind, .. } = envelope;
        let said = self.extension(envelope).write(version, &mut datagram[header::BYTES..]);
        let bytes = header::BYTES + said + written + TAG_BYTES;
        let (sender, incarnation) = (self.own.id(), self.incarnation());
        let label = Label { version, kind, sender, incarnation };
        self.sealer.seal(label, &mut datagram[..bytes]);
        self.counters.datagrams_sent += 1;
        self.counters.bytes_sent += bytes as u64;
        bytes
    }

    /// The version in which a member is answered that asked in its own: the lower of the two, so
    /// that the answer is no longer than the question.
    pub(super) fn version_towards(&self, id: NodeId) -> u8 {
        let writes = self.membership.get(id).and_then(|record| record.speaks);
        writes.map_or(u8::MAX, |speaks| speaks.writes).min(self.version_written())
    }
}
