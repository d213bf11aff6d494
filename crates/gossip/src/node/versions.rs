//! Which versions of the format there are around a node: what it writes, and what others say.
//!
//! A release reads a version before one writes it, so a cluster changes version node by node. Who
//! writes version 1 cannot say what else it reads; who writes version 2 says so in each datagram.

use super::Node;
use crate::entry::NodeId;
use crate::membership::Speaks;
use crate::wire::extension::{Extension, Receiver, Versions};
use crate::wire::header::Header;

/// What the members of which a datagram came lately are known to speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VersionsHeard {
    /// Members that are neither dead nor gone and of which a datagram has come in their present
    /// life.
    pub members: u32,
    /// The lowest version that one of them wrote last; `None` if there are none.
    pub written_lowest: Option<u8>,
    /// The lowest among the highest versions that each is known to read; `None` if there are none.
    pub read_lowest: Option<u8>,
}

impl Node {
    /// What the members of which datagrams came are known to speak, after a walk over all.
    pub fn versions_heard(&self) -> VersionsHeard {
        let speaks = self.membership.iter_targets().filter_map(|record| record.speaks);
        speaks.fold(VersionsHeard::default(), |heard, Speaks { writes, reads }| VersionsHeard {
            members: heard.members + 1,
            written_lowest: Some(heard.written_lowest.map_or(writes, |lowest| lowest.min(writes))),
            read_lowest: Some(heard.read_lowest.map_or(reads, |lowest| lowest.min(reads))),
        })
    }

    /// What a datagram of `version` for anybody says of itself, or one that asks `receiver` for
    /// something; nothing in version 1.
    pub(super) fn extension(&self, version: u8, receiver: Option<NodeId>) -> Extension {
        if version < 2 {
            return Extension::default();
        }
        let receiver = receiver.map(|id| {
            let held = self.vector.get(id).map(|entry| entry.stamp.incarnation());
            Receiver { id, incarnation: held.unwrap_or_default() }
        });
        Extension { reads: Some(Versions::READ), receiver }
    }

    /// Where a body begins in a datagram of this node for anybody.
    pub(super) fn body_at(&self) -> usize {
        self.body_at_in(self.config.wire_version, None)
    }

    /// Where a body begins in a datagram of this node.
    pub(super) fn body_at_in(&self, version: u8, receiver: Option<NodeId>) -> usize {
        crate::wire::header::BYTES + self.extension(version, receiver).bytes(version)
    }

    /// The version in which a member is answered that asked in its own: the lower of the two, so
    /// that the answer is no longer than the question.
    pub(super) fn version_towards(&self, id: NodeId) -> u8 {
        let writes = self.membership.get(id).and_then(|record| record.speaks);
        writes.map_or(u8::MAX, |speaks| speaks.writes).min(self.config.wire_version)
    }

    /// What an authentic datagram shows of the versions that its sender speaks.
    pub(super) fn speaks(header: &Header, said: &Extension) -> Speaks {
        let reads = said.reads.map_or(header.version, |reads| reads.highest);
        Speaks { writes: header.version, reads: reads.max(header.version) }
    }

    /// Whether a datagram may have been made for this life of this node: it says so, or does not
    /// say, or its sender had heard nothing of this node.
    pub(super) fn is_meant(&self, said: &Extension) -> bool {
        said.receiver.is_none_or(|receiver| {
            let held = receiver.incarnation;
            held == <_>::default() || held >= self.first_incarnation
        })
    }
}
