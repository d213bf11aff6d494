//! What a board says of hosts, in the terms of a coordinator.
//!
//! A host is the better the less its CPUs do, by an entry whose weight falls with its age, as for
//! `tidings pick`. One that publishes a `speed` below three quarters of the usual one is slow; one
//! that is suspected, dead or has left is in doubt, and no filter accepts it.

use std::collections::{BTreeMap, BTreeSet};

use tidings_control::{NodeReport, State};
use tidings_nodes::filter::Filter;
use tidings_placement::Candidate;
use tidings_tasks_core::hosts::{Condition, Hosts, Rank};

/// Published by nodes whose CPUs are not as fast as others': how much a CPU does in a second.
const SPEED: &str = "speed";

/// Below this share of the usual speed a host is slow.
const SLOW: f64 = 0.75;

/// Loads are told in steps of so many thousandths: smaller changes are noise.
const STEP: f64 = 100.0;

/// Hosts as these nodes show them, and which of them each filter accepts. A filter that cannot be
/// read accepts none.
pub(super) fn hosts(nodes: &[NodeReport], filters: &BTreeSet<String>) -> Hosts {
    let speed = usual_speed(nodes);
    let candidates: Vec<Candidate> = nodes.iter().filter_map(candidate).collect();
    let reported = candidates.iter().map(|one| one.busy_cpus / one.cpus.max(1.0));
    let usual = reported.sum::<f64>() / candidates.len().max(1) as f64;
    let loads: BTreeMap<&str, u32> =
        candidates.iter().map(|one| (one.name.as_str(), steps(one.expected(usual)))).collect();
    let rank = |node: &NodeReport| Rank {
        condition: condition(node, speed),
        load: loads.get(node.name.as_str()).copied().unwrap_or(steps(usual)),
    };
    Hosts {
        ranks: nodes.iter().map(|node| (node.name.clone(), rank(node))).collect(),
        matches: filters.iter().map(|text| (text.clone(), accepted(text, nodes))).collect(),
    }
}

fn accepted(filter: &str, nodes: &[NodeReport]) -> BTreeSet<String> {
    let Ok(filter) = Filter::kept(filter) else { return BTreeSet::new() };
    let is_there = |node: &&NodeReport| node.state == State::Alive && filter.holds(node);
    nodes.iter().filter(is_there).map(|node| node.name.clone()).collect()
}

fn condition(node: &NodeReport, usual_speed: Option<f64>) -> Condition {
    match node.state {
        State::Suspected | State::Dead | State::Left => Condition::Doubtful,
        _ if speed(node).zip(usual_speed).is_some_and(|(own, usual)| own < SLOW * usual) => {
            Condition::Slow
        }
        _ => Condition::Good,
    }
}

fn speed(node: &NodeReport) -> Option<f64> {
    let speed: f64 = node.user.get(SPEED)?.trim().parse().ok()?;
    (speed.is_finite() && speed > 0.0).then_some(speed)
}

/// The speed of the node in the middle.
fn usual_speed(nodes: &[NodeReport]) -> Option<f64> {
    let mut speeds: Vec<f64> =
        nodes.iter().filter(|node| node.state.is_alive()).filter_map(speed).collect();
    speeds.sort_unstable_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).copied()
}

/// A node in the terms of placement; `None` if it is not alive, or lacks readings.
fn candidate(node: &NodeReport) -> Option<Candidate> {
    let age_ms = node.age_ms.filter(|_| node.state == State::Alive)?;
    let cpus = f64::from(node.cores?);
    let busy = node.cpu_busy_percent.map_or(0.0, |percent| percent / 100.0 * cpus);
    let idle = Candidate::idle(&node.name, cpus, 0).with_busy_cpus(busy);
    Some(Candidate { age_s: age_ms / 1e3, ..idle })
}

/// A share in thousandths, in steps.
fn steps(share: f64) -> u32 {
    ((share.clamp(0.0, 1.0) * 1e3 / STEP).round() * STEP) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, busy_percent: f64) -> NodeReport {
        NodeReport {
            name: name.to_owned(),
            state: State::Alive,
            age_ms: Some(0.0),
            cores: Some(4),
            cpu_busy_percent: Some(busy_percent),
            ..NodeReport::default()
        }
    }

    fn with_speed(name: &str, speed: &str) -> NodeReport {
        let user = BTreeMap::from([(SPEED.to_owned(), speed.to_owned())]);
        NodeReport { user, ..node(name, 0.0) }
    }

    fn ranks(nodes: &[NodeReport]) -> Vec<(Condition, u32)> {
        let hosts = hosts(nodes, &BTreeSet::new());
        nodes.iter().map(|node| hosts.rank(&node.name)).map(|r| (r.condition, r.load)).collect()
    }

    #[test]
    fn a_busy_host_comes_later_and_an_old_entry_says_less() {
        let old = NodeReport { age_ms: Some(1e6), ..node("c", 0.0) };
        let all = ranks(&[node("a", 90.0), node("b", 3.0), old]);
        assert_eq!(all.iter().map(|rank| rank.1).collect::<Vec<_>>(), [900, 0, 300]);
    }

    #[test]
    fn a_host_at_half_speed_is_slow() {
        let nodes = [
            with_speed("a", "2.0"),
            with_speed("b", "1.9"),
            with_speed("c", "1"),
            with_speed("d", "fast"),
            node("e", 0.0),
        ];
        let conditions: Vec<_> = ranks(&nodes).into_iter().map(|rank| rank.0).collect();
        let [good, slow] = [Condition::Good, Condition::Slow];
        assert_eq!(conditions, [good, good, slow, good, good]);
    }

    #[test]
    fn who_may_be_gone_is_in_doubt_and_matches_nothing() {
        let states = [State::Alive, State::Suspected, State::Dead, State::Left];
        let nodes = states.map(|state| NodeReport { state, ..node(&format!("{state:?}"), 0.0) });
        let filters = ["cores >= 4", "cores > 4", "no such thing"].map(str::to_owned);
        let hosts = hosts(&nodes, &BTreeSet::from(filters.clone()));
        let doubtful =
            nodes.iter().filter(|node| hosts.rank(&node.name).condition == Condition::Doubtful);
        assert_eq!(doubtful.count(), 3);
        assert_eq!(hosts.matches[&filters[0]], BTreeSet::from(["Alive".to_owned()]));
        assert_eq!(hosts.matches[&filters[1]], BTreeSet::new());
        assert_eq!(hosts.matches[&filters[2]], BTreeSet::new());
    }
}
