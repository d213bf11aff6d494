//! Presence: what the gossip vector says of a machine's nodes at this moment, and which of them are
//! used.
//!
//! A node is idle, busy, gone, or nothing is known of it: an entry that is too old says nothing,
//! neither good nor bad. Idle nodes are used first, then those of which nothing is known, then busy
//! ones, the least busy first; gone ones never.

use serde::Serialize;

/// What is known of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// A young entry says that it is not busy.
    Idle,
    /// Nothing that could be believed, and why.
    Unknown(String),
    /// A young entry says that it is busy, and how.
    Busy(String),
    /// It has died or left.
    Gone(String),
}

/// A node as the vector shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What is known of it.
    pub presence: Presence,
    /// Bytes a second that pass through its link, the direction with more; 0 if not known.
    pub link_bytes_per_s: f64,
}

/// A node that was avoided, or had to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Noted {
    /// The node.
    pub node: String,
    /// `unknown`, `busy` or `gone`.
    pub state: &'static str,
    /// What the vector says.
    pub reason: String,
    /// Whether ranks are placed there all the same, because no other places were left.
    pub used: bool,
}

impl Presence {
    /// Nodes with less are taken first; none that is gone.
    fn class(&self) -> Option<u8> {
        match self {
            Self::Idle => Some(0),
            Self::Unknown(_) => Some(1),
            Self::Busy(_) => Some(2),
            Self::Gone(_) => None,
        }
    }

    /// State and reason of a node that one would rather not use.
    fn note(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Idle => None,
            Self::Unknown(reason) => Some(("unknown", reason)),
            Self::Busy(reason) => Some(("busy", reason)),
            Self::Gone(reason) => Some(("gone", reason)),
        }
    }
}

/// Which nodes are used if so many are needed at least; `None` if there are too few. Idle nodes are
/// all allowed: the search chooses among them.
pub(super) fn allowed(seen: &[Seen], needed: usize) -> Option<Vec<bool>> {
    let mut usable: Vec<(u8, usize)> = seen
        .iter()
        .enumerate()
        .filter_map(|(node, own)| Some((own.presence.class()?, node)))
        .collect();
    usable.sort_by(|one, other| {
        let load = |node: usize| seen[node].link_bytes_per_s;
        one.0.cmp(&other.0).then(load(one.1).total_cmp(&load(other.1)))
    });
    let mut allowed = vec![false; seen.len()];
    for (at, (class, node)) in usable.iter().enumerate() {
        allowed[*node] = *class == 0 || at < needed;
    }
    (usable.len() >= needed).then_some(allowed)
}

/// What is to be said of nodes that are not idle.
pub(super) fn notes(
    names: &[String],
    seen: &[Seen],
    is_used: impl Fn(usize) -> bool,
) -> Vec<Noted> {
    let noted = |(node, (name, own)): (usize, (&String, &Seen))| {
        let (state, reason) = own.presence.note()?;
        Some(Noted { node: name.clone(), state, reason: reason.to_owned(), used: is_used(node) })
    };
    names.iter().zip(seen).enumerate().filter_map(noted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(presence: Presence, link_bytes_per_s: f64) -> Seen {
        Seen { presence, link_bytes_per_s }
    }

    #[test]
    fn idle_nodes_come_first_then_unknown_ones_then_the_least_busy_and_gone_ones_never() {
        let word = || "w".to_owned();
        let all = [
            seen(Presence::Busy(word()), 9e8),
            seen(Presence::Idle, 0.0),
            seen(Presence::Gone(word()), 0.0),
            seen(Presence::Busy(word()), 1e8),
            seen(Presence::Unknown(word()), 0.0),
            seen(Presence::Idle, 5.0),
        ];
        let places = |needed| {
            let allowed = allowed(&all, needed)?;
            Some((0..6).filter(|node| allowed[*node]).collect::<Vec<usize>>())
        };
        assert_eq!(places(1), Some(vec![1, 5]), "all idle ones");
        assert_eq!(places(3), Some(vec![1, 4, 5]));
        assert_eq!(places(4), Some(vec![1, 3, 4, 5]), "the less busy of two");
        assert_eq!(places(5), Some(vec![0, 1, 3, 4, 5]));
        assert_eq!(places(6), None);
        let names: Vec<String> = (0..6).map(|node| format!("n{node}")).collect();
        let notes = notes(&names, &all, |node| node == 3);
        let states: Vec<(&str, bool)> = notes.iter().map(|own| (own.state, own.used)).collect();
        assert_eq!(states, [("busy", false), ("gone", false), ("busy", true), ("unknown", false)]);
    }
}
