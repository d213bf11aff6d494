//! What a coordinator has done so far.

use minicbor::{Decode, Encode};

/// Counts since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Counters {
    /// Commits that were acknowledged.
    #[n(0)]
    pub commits: u64,
    /// Changes in them.
    #[n(1)]
    pub changes: u64,
    /// Tries that were assigned.
    #[n(2)]
    pub assigned: u64,
    /// Tasks that are done.
    #[n(3)]
    pub done: u64,
    /// Tasks that have failed for good, or were cancelled.
    #[n(4)]
    pub failed: u64,
    /// Tries whose worker or host was lost.
    #[n(5)]
    pub lost: u64,
    /// Completions and failures of tries that were no longer the last.
    #[n(6)]
    pub superseded: u64,
    /// Requests that were refused, those included.
    #[n(7)]
    pub refused: u64,
    /// Submitted tasks that were known before.
    #[n(8)]
    pub known: u64,
    /// Records of finished tasks that were deleted by request.
    #[n(11)]
    pub forgotten: u64,
    /// Records that could not be read: damaged, or of a later version.
    #[n(9)]
    pub unreadable: u64,
    /// Times that all was read from the store again, since an answer of it was lost.
    #[n(10)]
    pub recoveries: u64,
    /// Tasks that are done again since their outputs were lost.
    #[cbor(n(12), default)]
    pub remade: u64,
    /// Copies of large blobs that depots have made.
    #[cbor(n(13), default)]
    pub copied: u64,
    /// Those of them that came from a depot which had copied the blob itself.
    #[cbor(n(14), default)]
    pub relayed: u64,
}

impl Counters {
    /// Adds what another coordinator has done.
    pub fn add(&mut self, other: &Self) {
        let Self {
            commits,
            changes,
            assigned,
            done,
            failed,
            lost,
            superseded,
            refused,
            known,
            forgotten,
            unreadable,
            recoveries,
            remade,
            copied,
            relayed,
        } = *other;
        self.commits += commits;
        self.changes += changes;
        self.assigned += assigned;
        self.done += done;
        self.failed += failed;
        self.lost += lost;
        self.superseded += superseded;
        self.refused += refused;
        self.known += known;
        self.forgotten += forgotten;
        self.unreadable += unreadable;
        self.recoveries += recoveries;
        self.remade += remade;
        self.copied += copied;
        self.relayed += relayed;
    }
}
