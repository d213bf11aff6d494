//! Seeds in other colonies: introduced to the node when they are found, and again whenever their
//! colony is unknown again.
//!
//! The core calls its contacts in every unit of time, so a seed that is down is reached when it is
//! up again. It remembers few addresses, the latest first; those of the configuration may have been
//! replaced by others, which may be gone when a colony comes back.

use std::collections::BTreeMap;

use tidings_gossip::colony::STALE_UNITS;
use tidings_gossip::{Address, ColonyId, Instant, Node};

/// Addresses of seeds, by colony.
#[derive(Debug, Default)]
pub(super) struct Contacts(BTreeMap<ColonyId, Vec<Address>>);

impl Contacts {
    /// Forgets all of them; the node does not.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a seed; `false` if the node has no room for its colony.
    pub(super) fn introduce(&mut self, colony: ColonyId, seed: Address, node: &mut Node) -> bool {
        let seeds = self.0.entry(colony).or_default();
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
        node.introduce(colony, &[seed])
    }

    /// Introduces the seeds of colonies without an aggregate, or with a stale one.
    pub(super) fn introduce_again(&self, now: Instant, node: &mut Node) {
        for colony in self.silent(now, node, false) {
            node.introduce(colony, &self.0[&colony]);
        }
    }

    /// Colonies without an aggregate.
    pub(super) fn unheard(&self, now: Instant, node: &Node) -> usize {
        self.silent(now, node, true).len()
    }

    /// Colonies with seeds and without an aggregate, or, if that counts too, with a stale one.
    fn silent(&self, now: Instant, node: &Node, only_unheard: bool) -> Vec<ColonyId> {
        if self.is_empty() {
            return Vec::new();
        }
        let stale = node.config().interval * STALE_UNITS;
        let is_known = |age: std::time::Duration| only_unheard || age < stale;
        let silent = node.other_colonies(now).filter(|view| !view.age.is_some_and(is_known));
        silent.map(|view| view.id).filter(|colony| self.0.contains_key(colony)).collect()
    }
}
