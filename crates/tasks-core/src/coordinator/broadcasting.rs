//! Broadcasts of large blobs: from where each depot copies one.

use minicbor::bytes::ByteArray;

use crate::broadcast::{Asker, Broadcast, Told};
use crate::message::{Answer, Call, Peer, Refusal, Request};
use crate::output::{MAX_COPIES, Owner, Source};

use super::Coordinator;
use super::broadcasts::Hash;
use super::parked::Obstacle;

impl Coordinator {
    /// Serves a request about the copying of large blobs.
    pub(super) fn serve_copying(&mut self, peer: Peer, call: Call, request: Request) {
        let Some(depot) = self.depots.of(peer) else {
            let reason = "only a session that keeps a depot copies blobs".to_owned();
            return self.refuse(peer, call, Refusal::Invalid(reason));
        };
        match request {
            Request::Source { blob, owners, failed } => {
                self.name_source(Asker { peer, call, depot }, blob, owners, failed);
            }
            Request::Copied { blob, is_there } => {
                let hash = *blob;
                if let Some(broadcast) = self.broadcasts.of(hash) {
                    broadcast.copied(peer, depot, is_there);
                    self.counters.copied += u64::from(is_there);
                    let is_relayed = is_there && broadcast.is_relayed(depot);
                    self.counters.relayed += u64::from(is_relayed);
                }
                self.answer(peer, call, Answer::Done);
                self.tell_sources(&hash);
            }
            _ => {}
        }
    }

    fn name_source(
        &mut self,
        asker: Asker,
        blob: ByteArray<32>,
        owners: Vec<Owner>,
        failed: Option<Owner>,
    ) {
        let Asker { peer, call, .. } = asker;
        if owners.len() > MAX_COPIES as usize {
            let reason = format!("{} owners; at most {MAX_COPIES} are possible", owners.len());
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        let is_there = |owner: &Owner| match owner {
            Owner::Store => true,
            Owner::Depot(id) => self.depots.has(*id),
        };
        let there: Vec<Owner> = owners.iter().copied().filter(is_there).collect();
        let known = self.broadcasts.get(&blob).map_or(0, |known| known.owners());
        // Those that have it may still come back from before this coordinator.
        if there.is_empty() && known == 0 && self.absent.until.is_some() {
            let request = Request::Source { blob, owners, failed };
            return self.parked.push(Obstacle::Depots, (peer, call, request));
        }
        let Some(broadcast) = self.broadcasts.of(*blob) else {
            let first = there.into_iter().find(|owner| Some(*owner) != failed);
            let told = first.map_or(Told::Nowhere, Told::From);
            return self.tell_source(asker, told);
        };
        broadcast.ask(asker, &there, failed);
        self.tell_sources(&blob);
    }

    /// A session has ended.
    pub(super) fn end_copying(&mut self, peer: Peer) {
        self.change_sources(|broadcast| broadcast.lose_peer(peer));
    }

    /// A depot is gone.
    pub(super) fn lose_sources(&mut self, depot: u64) {
        self.change_sources(|broadcast| broadcast.lose_depot(depot));
    }

    fn change_sources(&mut self, change: impl Fn(&mut Broadcast)) {
        for hash in self.broadcasts.hashes() {
            if let Some(broadcast) = self.broadcasts.get(&hash) {
                change(broadcast);
            }
            self.tell_sources(&hash);
        }
    }

    /// Tells those who can be told from where to copy a blob.
    fn tell_sources(&mut self, hash: &Hash) {
        while let Some((asker, told)) = self.broadcasts.get(hash).and_then(Broadcast::next_told) {
            self.tell_source(asker, told);
        }
    }

    fn tell_source(&mut self, asker: Asker, told: Told) {
        let source = match told {
            Told::From(Owner::Store) => Source::Store,
            Told::From(Owner::Depot(id)) => {
                // What is gone is lost by then.
                self.depots.reached_by(id).cloned().map_or(Source::Nowhere, Source::Depot)
            }
            Told::Here => Source::Here,
            Told::Nowhere => Source::Nowhere,
        };
        self.answer(asker.peer, asker.call, Answer::Source(source));
    }
}
