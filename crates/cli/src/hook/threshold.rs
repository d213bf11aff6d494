//! Nodes for which a condition holds, such as `temperature > 90`.
//!
//! Readings change all the time, so the news is where a condition begins to hold, and where it no
//! longer does; it begins once it has held for a while, without a break in what was looked at. A
//! node that dies or leaves is out of it without a word: its death is an event by itself.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tidings_control::NodeReport;
use tidings_nodes::filter::Filter;

use super::event::Kind;

/// Between two looks: a second, or a millisecond a node if that is longer, as the page does it.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_A_NODE: Duration = Duration::from_millis(1);

/// Since when the condition holds for a node, and whether that was told.
#[derive(Clone, Copy, Debug)]
struct Met {
    since: Instant,
    is_told: bool,
}

/// A condition, and for whom it holds.
#[derive(Debug)]
pub(super) struct Threshold {
    filter: Filter,
    /// How long it must hold.
    least: Duration,
    met: BTreeMap<String, Met>,
    due: Instant,
}

impl Threshold {
    /// A condition that is met once it has held for `least`.
    pub(super) fn new(filter: Filter, least: Duration) -> Self {
        Self { filter, least, met: BTreeMap::new(), due: Instant::now() }
    }

    /// Takes those for which it holds at the start as told.
    pub(super) fn begin(&mut self, nodes: &[NodeReport], now: Instant) {
        drop(self.look(nodes, now));
        self.met.values_mut().for_each(|met| met.is_told = true);
    }

    /// Whether it is time to look.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// What is news in a list of all nodes.
    pub(super) fn look(&mut self, nodes: &[NodeReport], now: Instant) -> Vec<(Kind, String, u32)> {
        self.due = now + PAUSE.max(PAUSE_A_NODE * u32::try_from(nodes.len()).unwrap_or(u32::MAX));
        let (mut news, mut before) = (Vec::new(), std::mem::take(&mut self.met));
        for node in nodes.iter().filter(|node| node.state.is_alive()) {
            let was = before.remove(&node.name);
            if !self.filter.holds(node) {
                if was.is_some_and(|met| met.is_told) {
                    news.push((Kind::Unmet, node.name.clone(), node.incarnation));
                }
                continue;
            }
            let mut met = was.unwrap_or(Met { since: now, is_told: false });
            if !met.is_told && now.duration_since(met.since) >= self.least {
                met.is_told = true;
                news.push((Kind::Met, node.name.clone(), node.incarnation));
            }
            self.met.insert(node.name.clone(), met);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_control::State;

    fn nodes(ages_ms: &[(&str, f64)]) -> Vec<NodeReport> {
        let node = |&(name, age_ms): &(&str, f64)| NodeReport {
            name: name.to_owned(),
            state: State::Alive,
            age_ms: Some(age_ms),
            ..NodeReport::default()
        };
        ages_ms.iter().map(node).collect()
    }

    fn threshold(least: Duration) -> Threshold {
        Threshold::new(Filter::parse("age > 5s").expect("a condition"), least)
    }

    fn words(news: &[(Kind, String, u32)]) -> String {
        let words: Vec<_> = news.iter().map(|(kind, name, _)| format!("{name} {kind:?}")).collect();
        words.join(", ")
    }

    #[test]
    fn what_begins_and_what_ends_is_told_once() {
        let (mut threshold, now) = (threshold(Duration::ZERO), Instant::now());
        let mut look = |nodes: &[NodeReport]| words(&threshold.look(nodes, now));
        assert_eq!(look(&nodes(&[("n1", 1.0), ("n2", 9e3)])), "n2 Met");
        assert_eq!(look(&nodes(&[("n1", 9e3), ("n2", 9e3)])), "n1 Met");
        assert_eq!(look(&nodes(&[("n1", 9e3), ("n2", 1.0)])), "n2 Unmet");
        assert_eq!(look(&nodes(&[("n1", 9e3), ("n2", 1.0)])), "");
    }

    #[test]
    fn a_condition_holds_for_a_while_before_it_is_told() {
        let (mut threshold, now) = (threshold(Duration::from_secs(10)), Instant::now());
        let mut look = |after_s: u64, age_ms| {
            words(&threshold.look(&nodes(&[("n1", age_ms)]), now + Duration::from_secs(after_s)))
        };
        assert_eq!((look(0, 9e3), look(9, 9e3)), (String::new(), String::new()));
        assert_eq!((look(10, 1.0), look(11, 9e3)), (String::new(), String::new()), "a break");
        assert_eq!((look(20, 9e3), look(21, 9e3)), (String::new(), "n1 Met".to_owned()));
    }

    #[test]
    fn the_dead_are_out_of_it_and_the_start_is_no_news() {
        let (mut threshold, now) = (threshold(Duration::ZERO), Instant::now());
        let mut nodes = nodes(&[("n1", 9e3), ("n2", 9e3)]);
        threshold.begin(&nodes, now);
        assert_eq!(words(&threshold.look(&nodes, now)), "");
        nodes[1].state = State::Dead;
        assert_eq!(words(&threshold.look(&nodes, now)), "");
        nodes[1].state = State::Alive;
        assert_eq!(words(&threshold.look(&nodes, now)), "n2 Met");
        assert!(!threshold.is_due(now) && threshold.is_due(now + PAUSE));
    }
}
