//! Seeds: nodes to ask at the start, in the own colony for its members and in others for their
//! aggregates.
//!
//! `colony_seed` may name nodes of every colony, the own one included, so that one file serves the
//! whole cluster and only `colony` differs.

use std::collections::BTreeMap;
use std::fmt;

use tidings_gossip::ColonyId;
use tidings_gossip::colony::table::MAX_CONTACTS;

use super::error::ConfigError;
use super::value;

/// A node to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The colony that it is a member of; `None` if that is this node's, or there are none.
    pub colony: Option<ColonyId>,
    /// `HOST:PORT`.
    pub place: String,
}

impl fmt::Display for Seed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.colony {
            Some(colony) => write!(formatter, "{colony}@{}", self.place),
            None => formatter.write_str(&self.place),
        }
    }
}

/// A value of `seed`.
pub(super) fn own(text: &str) -> Result<Seed, String> {
    Ok(Seed { colony: None, place: value::host_and_port(text)? })
}

/// A value of `colony_seed`.
pub(super) fn of_colony(text: &str) -> Result<Seed, String> {
    let (number, place) = text.split_once('@').ok_or("no colony number before an @")?;
    let number = colony(number)?.ok_or("0 is not a colony")?;
    Ok(Seed { colony: Some(number), place: value::host_and_port(place)? })
}

/// A value of `colony`: `None` for 0.
pub(super) fn colony(text: &str) -> Result<Option<ColonyId>, String> {
    let number = value::integer::<0, 0xffff_ffff>(text)? as u32;
    Ok((number > 0).then_some(ColonyId(number)))
}

/// What is wrong with the values of `colony_seed` together.
pub(super) fn conflicts(
    seeds: &[Seed],
    own: Option<ColonyId>,
    max_colonies: u32,
) -> Vec<ConfigError> {
    let mut conflicts = Vec::new();
    let mut refuse = |text: String| conflicts.push(ConfigError::Conflict(text));
    if own.is_none() && !seeds.is_empty() {
        refuse(
            "colony_seed is given without a colony: name with `colony` the one that this node is a \
             member of, or drop `colony_seed`"
                .to_owned(),
        );
    }
    let mut counts: BTreeMap<ColonyId, usize> = BTreeMap::new();
    for colony in seeds.iter().filter_map(|seed| seed.colony).filter(|&of| Some(of) != own) {
        *counts.entry(colony).or_default() += 1;
    }
    for (colony, count) in counts.iter().filter(|(_, count)| **count > MAX_CONTACTS) {
        refuse(format!(
            "colony_seed names {count} nodes of colony {colony}: {MAX_CONTACTS} of each are \
             remembered; drop the others"
        ));
    }
    if counts.len() > max_colonies as usize {
        let colonies = counts.len();
        refuse(format!(
            "colony_seed names {colonies} other colonies, and max_colonies = {max_colonies} is \
             the room for them: raise max_colonies"
        ));
    }
    conflicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_of_a_colony_prints_as_it_is_read() {
        let seed = of_colony("3@[::1]:9616").expect("valid");
        assert_eq!((seed.colony, seed.place.as_str()), (Some(ColonyId(3)), "[::1]:9616"));
        assert_eq!(seed.to_string(), "3@[::1]:9616");
        for (text, reason) in [
            ("n1:9616", "no colony number before an @"),
            ("0@n1:9616", "0 is not a colony"),
            ("x@n1:9616", "not an integer"),
            ("4294967296@n1:9616", "out of range"),
            ("3@n1", "a host without a port"),
        ] {
            assert_eq!(of_colony(text), Err(reason.to_owned()), "{text}");
        }
    }

    #[test]
    fn contradictions_are_reported_with_a_remedy() {
        let seeds = |texts: &[&str]| -> Vec<Seed> {
            texts.iter().map(|text| of_colony(text).expect("valid")).collect()
        };
        let said = |seeds: &[Seed], own: Option<ColonyId>, most: u32| -> Vec<String> {
            conflicts(seeds, own, most).iter().map(ToString::to_string).collect()
        };
        let some = seeds(&["1@a:1", "1@b:1", "1@c:1", "1@d:1", "1@e:1", "2@a:1"]);
        assert!(said(&some, None, 9)[0].contains("name with `colony`"));
        let five = said(&some, Some(ColonyId(2)), 9);
        assert_eq!(five.len(), 1);
        assert!(five[0].starts_with("colony_seed names 5 nodes of colony 1: 4"), "{five:?}");
        assert_eq!(said(&some, Some(ColonyId(1)), 9), [""; 0], "the own seeds may be many");
        let room = said(&seeds(&["1@a:1", "2@a:1", "3@a:1"]), Some(ColonyId(3)), 1);
        assert!(room[0].contains("raise max_colonies"), "{room:?}");
    }
}
