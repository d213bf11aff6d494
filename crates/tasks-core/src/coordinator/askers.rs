//! Askers: who asks for what only coordinators of one part of several are asked for.
//!
//! See `beside.rs` for what they are told.

use std::collections::{BTreeMap, BTreeSet};

use crate::message::{Call, Peer};

/// The name of all queues: none is called so.
pub(super) const ALL: &str = "";

/// Who asks.
#[derive(Debug, Default)]
pub(super) struct Askers {
    /// Who is to be told that a task is ready, in the order in which they asked.
    by_number: BTreeMap<u64, (Peer, Call, Vec<String>)>,
    by_peer: BTreeMap<Peer, u64>,
    by_queue: BTreeMap<String, BTreeSet<u64>>,
    last: u64,
    /// Who offers nothing any more, and was not told yet of all that it has.
    pub(super) closing: BTreeSet<(Peer, Call)>,
}

impl Askers {
    /// A peer is to be told of queues. Of what it asked before, the number is returned.
    pub(super) fn insert(&mut self, peer: Peer, call: Call, queues: Vec<String>) -> Option<Call> {
        let before = self.by_peer.get(&peer).copied().and_then(|number| self.remove(number));
        self.last += 1;
        for queue in &queues {
            self.by_queue.entry(queue.clone()).or_default().insert(self.last);
        }
        self.by_peer.insert(peer, self.last);
        self.by_number.insert(self.last, (peer, call, queues));
        before.map(|(_, call)| call)
    }

    /// Whether nobody is to be told that a task is ready.
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// The names of the queues that somebody asks for.
    pub(super) fn queues(&self) -> impl Iterator<Item = &str> {
        self.by_queue.keys().map(String::as_str)
    }

    fn remove(&mut self, number: u64) -> Option<(Peer, Call)> {
        let (peer, call, queues) = self.by_number.remove(&number)?;
        self.by_peer.remove(&peer);
        for queue in queues {
            if let Some(numbers) = self.by_queue.get_mut(&queue) {
                numbers.remove(&number);
                if numbers.is_empty() {
                    self.by_queue.remove(&queue);
                }
            }
        }
        Some((peer, call))
    }

    /// Takes out some of those that ask for a queue: those first that have waited longest.
    pub(super) fn take(&mut self, queue: &str, most: usize) -> Vec<(Peer, Call)> {
        let numbers = self.by_queue.get(queue).into_iter().flatten().take(most);
        let numbers: Vec<u64> = numbers.copied().collect();
        numbers.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Forgets a peer.
    pub(super) fn forget(&mut self, peer: Peer) {
        if let Some(number) = self.by_peer.get(&peer).copied() {
            self.remove(number);
        }
        self.closing.retain(|(of, _)| *of != peer);
    }

    /// Takes out all.
    pub(super) fn take_all(&mut self) -> Vec<(Peer, Call)> {
        let Self { by_number, closing, .. } = core::mem::take(self);
        by_number.into_values().map(|(peer, call, _)| (peer, call)).chain(closing).collect()
    }
}
