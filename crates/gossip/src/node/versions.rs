//! Which versions of the format there are around a node: what it writes, and what others say.
//!
//! A release reads a version before one writes it, so a cluster changes version node by node. Who
//! writes version 1 cannot say what else it reads; who writes version 2 says so in each datagram.

use super::machine::Node;
use crate::membership::Speaks;

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
}
