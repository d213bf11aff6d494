//! Seeds in other colonies: introduced to the node when they are found, and again whenever nothing
//! is known of their colony any more.
//!
//! The core calls whom it was told of in every unit of time, so a seed that is down is met when it
//! is up again. It remembers few addresses, the latest first; those of the configuration may have
//! given way to others, which may be gone when a colony comes back.

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

    /// Takes up a seed; `false` if the node has no room for its colony.
    pub(super) fn introduce(&mut self, colony: ColonyId, seed: Address, node: &mut Node) -> bool {
        let seeds = self.0.entry(colony).or_default();
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
        node.introduce(colony, &[seed])
    }

    /// Introduces the seeds of those colonies of which there is no aggregate, or a stale one.
    pub(super) fn introduce_again(&self, now: Instant, node: &mut Node) {
        for colony in self.silent(now, node, false) {
            node.introduce(colony, &self.0[&colony]);
        }
    }

    /// Colonies of which there is no aggregate.
    pub(super) fn unheard(&self, now: Instant, node: &Node) -> usize {
        self.silent(now, node, true).len()
    }

    /// Colonies with seeds of which there is no aggregate, or, if that counts too, a stale one.
    fn silent(&self, now: Instant, node: &Node, only_unheard: bool) -> Vec<ColonyId> {
        if self.is_empty() {
            return Vec::new();
        }
        let stale = node.config().interval * STALE_UNITS;
        let is_known = |age: std::time::Duration| only_unheard || age < stale;
        let silent = node.outlook(now).filter(|view| !view.age.is_some_and(is_known));
        silent.map(|view| view.id).filter(|colony| self.0.contains_key(colony)).collect()
    }
}
