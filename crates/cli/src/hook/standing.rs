//! How nodes stand, as far as was told: it says what is news.
//!
//! Notices may be lost, and an agent that was restarted repeats what it learns. So each notice and
//! each full list of nodes is compared with what is known, and only differences are events.

use std::collections::{BTreeMap, BTreeSet};

use tidings_control::{NodeReport, State};

use super::event::Kind;

/// How one node stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Standing {
    state: State,
    incarnation: u32,
}

/// How all of them stand.
#[derive(Debug, Default)]
pub(super) struct Standings(BTreeMap<String, Standing>);

impl Standings {
    /// Takes in a list of nodes as what was there before.
    pub(super) fn begin(&mut self, nodes: &[NodeReport]) {
        for node in nodes {
            self.place(&node.name, node.state, node.incarnation);
        }
    }

    /// Whether an event is news; then it is known from now on.
    pub(super) fn is_news(&mut self, kind: Kind, name: &str, incarnation: u32) -> bool {
        let before = self.0.get(name).copied();
        let alive = before.filter(|node| node.state.is_alive());
        let (is_news, state) = match kind {
            Kind::Joined | Kind::Back => (alive.is_none(), State::Alive),
            Kind::Restarted => {
                (alive.is_none_or(|node| node.incarnation != incarnation), State::Alive)
            }
            Kind::Dead => (before.is_none_or(|node| node.state != State::Dead), State::Dead),
            Kind::Left => (before.is_none_or(|node| node.state != State::Left), State::Left),
            Kind::Forgotten => return self.0.remove(name).is_some(),
            Kind::Suspected => (true, State::Suspected),
            Kind::Cleared => (true, State::Alive),
            Kind::Alone | Kind::Accompanied | Kind::Met | Kind::Unmet => return true,
        };
        self.place(name, state, incarnation);
        is_news
    }

    /// What a list of nodes says that was not told. The names of nodes that are no longer there are
    /// told as forgotten if the list is `whole`: an agent that has just begun knows few nodes.
    pub(super) fn compare(
        &mut self,
        nodes: &[NodeReport],
        whole: bool,
    ) -> Vec<(Kind, String, u32)> {
        let mut news = Vec::new();
        for node in nodes {
            let kind = match (self.0.get(&node.name), node.state) {
                (_, State::Unheard) => continue,
                (Some(before), State::Alive | State::Suspected) if before.state.is_alive() => {
                    if before.incarnation == node.incarnation {
                        continue;
                    }
                    Kind::Restarted
                }
                (Some(_), State::Alive | State::Suspected) => Kind::Back,
                (None, State::Alive | State::Suspected) => Kind::Joined,
                (_, State::Dead) => Kind::Dead,
                (_, State::Left) => Kind::Left,
            };
            if self.is_news(kind, &node.name, node.incarnation) {
                news.push((kind, node.name.clone(), node.incarnation));
            }
        }
        if whole {
            let there: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            self.0.retain(|name, node| {
                let stays = there.contains(name.as_str());
                if !stays {
                    news.push((Kind::Forgotten, name.clone(), node.incarnation));
                }
                stays
            });
        }
        news
    }

    /// Whether no node but this one is alive.
    pub(super) fn is_alone(&self, own: &str) -> bool {
        !self.0.iter().any(|(name, node)| name != own && node.state.is_alive())
    }

    fn place(&mut self, name: &str, state: State, incarnation: u32) {
        if state != State::Unheard {
            self.0.insert(name.to_owned(), Standing { state, incarnation });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, state: State, incarnation: u32) -> NodeReport {
        NodeReport { name: name.to_owned(), state, incarnation, ..NodeReport::default() }
    }

    fn kinds(news: Vec<(Kind, String, u32)>) -> Vec<(Kind, String)> {
        news.into_iter().map(|(kind, name, _)| (kind, name)).collect()
    }

    #[test]
    fn what_is_repeated_is_no_news() {
        let mut known = Standings::default();
        known.begin(&[node("n2", State::Alive, 5), node("n3", State::Dead, 5)]);
        assert!(!known.is_news(Kind::Joined, "n2", 5));
        assert!(!known.is_news(Kind::Dead, "n3", 5));
        assert!(known.is_news(Kind::Dead, "n2", 5));
        assert!(!known.is_news(Kind::Dead, "n2", 5));
        assert!(known.is_news(Kind::Back, "n2", 6));
        assert!(known.is_news(Kind::Restarted, "n2", 7));
        assert!(!known.is_news(Kind::Restarted, "n2", 7));
    }

    #[test]
    fn a_list_tells_what_notices_have_not() {
        let mut known = Standings::default();
        known.begin(&[
            node("n2", State::Alive, 5),
            node("n3", State::Dead, 5),
            node("n4", State::Alive, 5),
            node("n5", State::Alive, 5),
        ]);
        let now = [
            node("n2", State::Dead, 5),
            node("n3", State::Alive, 6),
            node("n4", State::Suspected, 5),
            node("n6", State::Alive, 1),
            node("n7", State::Unheard, 0),
        ];
        let expected = [
            (Kind::Dead, "n2".to_owned()),
            (Kind::Back, "n3".to_owned()),
            (Kind::Joined, "n6".to_owned()),
        ];
        assert_eq!(kinds(known.compare(&now, false)), expected);
        // Once more, and all are known to be there now.
        assert_eq!(kinds(known.compare(&now, true)), [(Kind::Forgotten, "n5".to_owned())]);
        assert_eq!(kinds(known.compare(&now, true)), []);
    }

    #[test]
    fn one_is_alone_without_others_that_are_alive() {
        let mut known = Standings::default();
        known.begin(&[node("n1", State::Alive, 1), node("n2", State::Dead, 1)]);
        assert!(known.is_alone("n1"));
        assert!(known.is_news(Kind::Back, "n2", 2));
        assert!(!known.is_alone("n1"));
        assert!(known.is_news(Kind::Suspected, "n2", 2));
        assert!(!known.is_alone("n1"));
    }
}
