//! Depots: which of them are there, and where. One is there as long as a session says so.

use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};

use crate::message::Peer;
use crate::output::{Depot, Reached, digest};

/// Depots whose nodes are there.
#[derive(Debug, Default)]
pub(super) struct Depots {
    by_peer: BTreeMap<Peer, Reached>,
    by_id: BTreeMap<u64, BTreeSet<Peer>>,
    last: u64,
}

impl Depots {
    /// A session has a depot from now on. Returns the one that is gone by that, if one is.
    pub(super) fn keep(&mut self, peer: Peer, reached: Reached) -> Option<u64> {
        let id = reached.depot.id;
        let before = self.by_peer.get(&peer).map(|before| before.depot.id);
        let gone = if before == Some(id) { None } else { self.close(peer) };
        self.by_id.entry(id).or_default().insert(peer);
        self.by_peer.insert(peer, reached);
        gone
    }

    /// A session goes on with another peer.
    pub(super) fn hand_over(&mut self, from: Peer, to: Peer) {
        if let Some(reached) = self.by_peer.get(&from).cloned().filter(|_| from != to) {
            self.keep(to, reached);
            self.close(from);
        }
    }

    /// A session has ended. Returns the depot that is gone by that, if one is.
    pub(super) fn close(&mut self, peer: Peer) -> Option<u64> {
        let id = self.by_peer.remove(&peer)?.depot.id;
        let peers = self.by_id.get_mut(&id)?;
        peers.remove(&peer);
        peers.is_empty().then(|| {
            self.by_id.remove(&id);
            id
        })
    }

    /// Whether it is there.
    pub(super) fn has(&self, id: u64) -> bool {
        self.by_id.contains_key(&id)
    }

    /// The sessions of its node that are at it and take outputs.
    pub(super) fn sessions(&self, id: u64) -> impl Iterator<Item = Peer> {
        let all = self.by_id.get(&id).into_iter().flatten().copied();
        all.filter(|peer| self.takes_outputs(*peer))
    }

    /// Whether outputs may be copied to the depot of a session: others serve what they have copied.
    fn takes_outputs(&self, peer: Peer) -> bool {
        self.by_peer.get(&peer).is_some_and(|reached| reached.folder.is_none())
    }

    /// The depot of a session.
    pub(super) fn of(&self, peer: Peer) -> Option<u64> {
        self.by_peer.get(&peer).map(|reached| reached.depot.id)
    }

    /// Those of some that are there, and where.
    pub(super) fn reached(&self, depots: &[Depot]) -> Vec<Reached> {
        depots.iter().filter_map(|depot| self.reached_by(depot.id).cloned()).collect()
    }

    /// Where it is reached.
    pub(super) fn reached_by(&self, id: u64) -> Option<&Reached> {
        self.by_peer.get(self.by_id.get(&id)?.first()?)
    }

    /// So many depots that take outputs, behind this number, in the order of their numbers.
    pub(super) fn after(&self, after: Option<u64>, count: usize) -> Vec<Reached> {
        self.taking(after).take(count).cloned().collect()
    }

    /// The digest of all that take outputs.
    pub(super) fn digest(&self) -> u64 {
        digest(self.taking(None).map(|reached| reached.depot.id))
    }

    fn taking(&self, after: Option<u64>) -> impl Iterator<Item = &Reached> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_id.range((from, Bound::Unbounded)).filter_map(|(_, peers)| {
            let taker = peers.iter().find(|peer| self.takes_outputs(**peer))?;
            self.by_peer.get(taker)
        })
    }

    /// So many depots of different hosts beside this one, those first whose turn it is.
    pub(super) fn others(&mut self, own: &Depot, count: usize) -> Vec<Reached> {
        self.last = self.last.wrapping_add(1);
        let turn = self.last;
        let mut hosts = BTreeSet::from([own.host.clone()]);
        let mixed = |id: u64| tidings_primitives::chance::mix(id ^ turn);
        let taker =
            |peers: &BTreeSet<Peer>| peers.iter().copied().find(|peer| self.takes_outputs(*peer));
        let all = self.by_id.iter();
        let mut all: Vec<(u64, Peer)> =
            all.filter_map(|(id, peers)| Some((mixed(*id), taker(peers)?))).collect();
        all.sort_unstable();
        let all = all.into_iter().filter_map(|(_, peer)| self.by_peer.get(&peer));
        let others = all.filter(|reached| hosts.insert(reached.depot.host.clone()));
        others.take(count).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(id: u64, host: &str) -> Reached {
        let depot = Depot { id, host: host.to_owned() };
        Reached { depot, address: format!("{host}:1"), folder: None }
    }

    #[test]
    fn a_depot_is_there_as_long_as_one_session_says_so() {
        let mut depots = Depots::default();
        assert_eq!(depots.keep(Peer(1), reached(7, "a")), None);
        assert_eq!(depots.keep(Peer(2), reached(7, "a")), None);
        assert_eq!(depots.close(Peer(1)), None);
        assert!(depots.has(7));
        depots.hand_over(Peer(2), Peer(3));
        assert!(depots.has(7));
        assert_eq!(depots.keep(Peer(3), reached(8, "a")), Some(7));
        assert_eq!((depots.close(Peer(3)), depots.close(Peer(3))), (Some(8), None));
    }

    #[test]
    fn depots_that_take_outputs_are_named_in_order() {
        let mut depots = Depots::default();
        for id in [5, 1, 9, 3] {
            depots.keep(Peer(id), reached(id, "a"));
        }
        depots.keep(Peer(6), Reached { folder: Some("/dev/shm/d".to_owned()), ..reached(6, "d") });
        let named = |after, count| -> Vec<u64> {
            depots.after(after, count).iter().map(|reached| reached.depot.id).collect()
        };
        assert_eq!(named(None, 3), [1, 3, 5]);
        assert_eq!(named(Some(5), 3), [9], "none that is in memory");
        assert_eq!(named(Some(9), 3), [0; 0]);
        let before = depots.digest();
        assert_eq!(before, digest([1, 3, 5, 9]));
        depots.close(Peer(3));
        assert_ne!(depots.digest(), before);
    }

    #[test]
    fn copies_go_to_other_hosts_in_turn() {
        let mut depots = Depots::default();
        for (id, host) in [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "c")] {
            depots.keep(Peer(id), reached(id, host));
        }
        let own = reached(1, "a").depot;
        let mut seen = BTreeSet::new();
        for _ in 0..64 {
            let others = depots.others(&own, 2);
            let mut hosts: Vec<&str> = others.iter().map(|reached| &*reached.depot.host).collect();
            hosts.sort_unstable();
            assert_eq!(hosts, ["b", "c"]);
            seen.insert(depots.others(&own, 1)[0].depot.id);
        }
        assert_eq!(seen, BTreeSet::from([3, 4, 5]));
        assert_eq!(depots.others(&own, 8).len(), 2, "no host has two");
        depots.keep(Peer(6), Reached { folder: Some("/dev/shm/d".to_owned()), ..reached(6, "d") });
        assert_eq!(depots.others(&own, 8).len(), 2, "none goes to memory");
        assert_eq!(depots.reached(&[reached(6, "d").depot]).len(), 1);
        depots.keep(Peer(7), reached(6, "d"));
        assert_eq!(depots.others(&own, 8).len(), 3, "one of its sessions takes them");
    }
}
