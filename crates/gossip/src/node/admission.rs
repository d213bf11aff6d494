//! Admission: a roster checked and made the membership.

use tidings_primitives::time::Instant;

use super::machine::Node;
use crate::config::Config;
use crate::entry::{Incarnation, NodeId};
use crate::error::ConfigError;
use crate::membership::Member;
use crate::wire::ask::is_name;

impl Node {
    /// Makes the membership the one the list gives, itself included; or changes nothing.
    pub(super) fn admit(&mut self, list: &[Member], now: Instant) -> Result<(), ConfigError> {
        let roster = check_roster(list, &self.config)?;
        if !list.iter().any(|member| *member.name == *self.own.name()) {
            return Err(ConfigError::NotInRoster(self.own.name().to_owned()));
        }
        let gone: Vec<NodeId> = self
            .membership
            .order()
            .iter()
            .copied()
            .filter(|id| roster.binary_search_by_key(id, |(id, _)| *id).is_err())
            .collect();
        for id in gone {
            self.changed(id);
            self.vector.remove(id);
            self.membership.remove(id);
        }
        self.membership.reserve(roster.len());
        for (id, member) in roster {
            let card = (member.name.as_str(), member.address);
            let added = self.membership.add(id, card, Incarnation::default(), now);
            debug_assert!(added.is_ok(), "a checked roster fits and has no collisions");
            if let Some(record) = self.membership.get_mut(id) {
                (record.address, record.reached) = (member.address, true);
            }
            let left = self.vector.get(id).is_some_and(|entry| entry.stamp.is_last());
            self.membership.set_target(id, id != self.own.id() && !left);
            self.card_changed(id);
        }
        self.catch_up.gained();
        Ok(())
    }
}

/// The members with their ids, ascending, if they fit and are distinct.
fn check_roster<'a>(
    list: &'a [Member],
    config: &Config,
) -> Result<Vec<(NodeId, &'a Member)>, ConfigError> {
    if list.len() > config.max_nodes as usize {
        return Err(ConfigError::TooManyNodes { nodes: list.len(), max_nodes: config.max_nodes });
    }
    if let Some(member) = list.iter().find(|member| !is_name(&member.name)) {
        return Err(ConfigError::Name(member.name.clone()));
    }
    let roster = with_ids(list, config.id_salt);
    let Some(pair) = roster.windows(2).find(|pair| pair[0].0 == pair[1].0) else {
        return Ok(roster);
    };
    let (first, second) = (pair[0].1.name.clone(), pair[1].1.name.clone());
    if first == second {
        return Err(ConfigError::DuplicateName(first));
    }
    let free = |salt: &u32| with_ids(list, *salt).windows(2).all(|pair| pair[0].0 != pair[1].0);
    let salt = (0..1000).find(free).unwrap_or_default();
    Err(ConfigError::IdCollision { first, second, salt })
}

fn with_ids(list: &[Member], salt: u32) -> Vec<(NodeId, &Member)> {
    let mut roster: Vec<_> = list.iter().map(|m| (NodeId::of_name(&m.name, salt), m)).collect();
    roster.sort_unstable_by_key(|&(id, _)| id);
    roster
}
