//! Shared blobs: where their depots are reached, and which of them are needed by tuples.

use minicbor::bytes::ByteArray;

use crate::message::{Answer, Call, MAX_TASKS, Peer, Refusal, Request};

use super::Coordinator;
use super::parked::Obstacle;

impl Coordinator {
    /// Tells where a depot is reached. As long as it may still come back from before this
    /// coordinator that is waited for.
    pub(super) fn locate(&mut self, peer: Peer, call: Call, depot: u64) {
        let reached = self.depots.reached_by(depot).cloned();
        if reached.is_none() && self.absent.until.is_some() {
            let request = Request::Locate { depot };
            return self.parked.push(Obstacle::Depots, (peer, call, request));
        }
        self.answer(peer, call, Answer::Located(reached));
    }

    /// Tells which blobs no tuple names.
    pub(super) fn tell_unnamed(&mut self, peer: Peer, call: Call, mut blobs: Vec<ByteArray<32>>) {
        if blobs.len() > MAX_TASKS {
            let reason = format!("{} blobs at once; at most {MAX_TASKS}", blobs.len());
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        blobs.retain(|blob| !self.spaces.names(blob));
        self.answer(peer, call, Answer::Unnamed(blobs));
    }
}
