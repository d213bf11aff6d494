//! Deaths: hosts that the detector of failures has just found dead.
//!
//! A death that is wrong costs a second run of what ran there, so it is not believed where it is
//! likely wrong: of this host itself, and of most hosts at once, which is what a host sees that is
//! cut off from the others. Their sessions end when they are silent, as without a board.

use std::collections::BTreeSet;

use tidings_control::{NodeReport, State};

/// At the first look, deaths are news for so long: a coordinator that has just taken over finds out
/// whose host died together with that of the one before.
const RECENT_MS: f64 = 10_000.0;

/// The deaths that were told.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    known: Option<BTreeSet<String>>,
}

impl Deaths {
    /// The hosts that have died since the last look, but `own`.
    pub(super) fn news(&mut self, nodes: &[NodeReport], own: &str) -> Vec<String> {
        let dead = nodes.iter().filter(|node| node.state == State::Dead && node.name != own);
        let is_new = |node: &&NodeReport| match &self.known {
            Some(known) => !known.contains(&node.name),
            None => node.age_ms.is_some_and(|age_ms| age_ms <= RECENT_MS),
        };
        let news: Vec<String> = dead.clone().filter(is_new).map(|node| node.name.clone()).collect();
        let alive = nodes.iter().filter(|node| node.state == State::Alive).count();
        let are_most = news.len() > 1 && news.len() > alive;
        let mut known: BTreeSet<String> = dead.map(|node| node.name.clone()).collect();
        if are_most {
            known.retain(|name| !news.contains(name));
        }
        self.known = Some(known);
        if are_most { Vec::new() } else { news }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(states: &[(&str, State, f64)]) -> Vec<NodeReport> {
        let node = |(name, state, age_ms): &(&str, State, f64)| NodeReport {
            name: (*name).to_owned(),
            state: *state,
            age_ms: Some(*age_ms),
            ..NodeReport::default()
        };
        states.iter().map(node).collect()
    }

    const ALIVE: State = State::Alive;
    const DEAD: State = State::Dead;

    #[test]
    fn a_death_is_news_once() {
        let mut deaths = Deaths::default();
        let before = nodes(&[("a", ALIVE, 0.0), ("b", ALIVE, 0.0), ("c", DEAD, 1e6)]);
        assert_eq!(deaths.news(&before, "a"), [""; 0]);
        let after = nodes(&[("a", ALIVE, 0.0), ("b", DEAD, 600.0), ("c", DEAD, 1e6)]);
        assert_eq!(deaths.news(&after, "a"), ["b"]);
        assert_eq!(deaths.news(&after, "a"), [""; 0]);
        assert_eq!(deaths.news(&before, "a"), [""; 0]);
        assert_eq!(deaths.news(&after, "a"), ["b"], "it was alive in between");
    }

    #[test]
    fn a_recent_death_is_news_to_a_new_coordinator() {
        let seen = nodes(&[("a", ALIVE, 0.0), ("b", DEAD, 700.0), ("c", DEAD, 60_000.0)]);
        assert_eq!(Deaths::default().news(&seen, "a"), ["b"]);
    }

    #[test]
    fn nobody_is_its_own_dead() {
        let seen = nodes(&[("a", DEAD, 0.0), ("b", ALIVE, 0.0)]);
        assert_eq!(Deaths::default().news(&seen, "a"), [""; 0]);
    }

    #[test]
    fn who_sees_most_die_at_once_is_cut_off_itself() {
        let mut deaths = Deaths::default();
        let four = |state| {
            nodes(&[("a", ALIVE, 0.0), ("b", state, 0.0), ("c", state, 0.0), ("d", ALIVE, 0.0)])
        };
        deaths.news(&four(ALIVE), "a");
        assert_eq!(deaths.news(&four(DEAD), "a"), ["b", "c"], "half of them may be");
        let cut = nodes(&[("a", ALIVE, 0.0), ("b", DEAD, 0.0), ("c", DEAD, 0.0)]);
        let mut deaths = Deaths::default();
        assert_eq!(deaths.news(&cut, "a"), [""; 0]);
        let healed = nodes(&[("a", ALIVE, 0.0), ("b", ALIVE, 0.0), ("c", DEAD, 0.0)]);
        assert_eq!(deaths.news(&healed, "a"), ["c"], "one is dead indeed");
    }
}
