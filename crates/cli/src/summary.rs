//! A cluster in a few lines: how many nodes are in each state, and which.
//!
//! Names are folded as hostlists, `n[0001-0996]`, so that a line stands for a thousand nodes. The
//! order of states is that of the report: those that take part first.

use std::collections::BTreeMap;

use tidings_control::{NodeReport, Nodes, State};
use tidings_gossip::roster;
use tidings_nodes::units::{self, Unit};

use crate::table::{self, Align};

/// The nodes of one state.
#[derive(Debug, Default, PartialEq)]
struct Group<'n> {
    names: Vec<&'n str>,
    youngest_ms: Option<f64>,
    oldest_ms: Option<f64>,
}

impl<'n> Group<'n> {
    fn add(&mut self, node: &'n NodeReport) {
        self.names.push(&node.name);
        if let Some(age) = node.age_ms {
            self.youngest_ms = Some(self.youngest_ms.map_or(age, |youngest| youngest.min(age)));
            self.oldest_ms = Some(self.oldest_ms.map_or(age, |oldest| oldest.max(age)));
        }
    }

    /// The ages of its entries, youngest and oldest.
    fn ages(&self, for_people: bool) -> [String; 2] {
        [self.youngest_ms, self.oldest_ms].map(|age| match age {
            None => "-".to_owned(),
            Some(age) if for_people => Unit::Milliseconds.humanise(age),
            Some(age) => units::plain(age),
        })
    }
}

/// One line for each state that occurs: its nodes, the ages of their entries, their names.
pub fn table(nodes: &Nodes, for_people: bool) -> String {
    let ages = if for_people { ["youngest", "oldest"] } else { ["age_min_ms", "age_max_ms"] };
    let headings = [
        ("state", Align::Left),
        ("nodes", Align::Right),
        (ages[0], Align::Right),
        (ages[1], Align::Right),
        ("names", Align::Left),
    ];
    let rows: Vec<Vec<String>> = groups(&nodes.nodes)
        .iter()
        .map(|(state, group)| {
            let [youngest, oldest] = group.ages(for_people);
            let count = group.names.len().to_string();
            vec![state.name().to_owned(), count, youngest, oldest, roster::compress(&group.names)]
        })
        .collect();
    table::render(&headings, &rows)
}

/// `22 alive, 1 suspected, 1 dead`.
pub fn counts(nodes: &[NodeReport]) -> String {
    let counted =
        |(state, group): (&State, &Group<'_>)| format!("{} {}", group.names.len(), state.name());
    groups(nodes).iter().map(counted).collect::<Vec<_>>().join(", ")
}

/// `996 alive (n[0001-0996]), 1 dead (n0997)`.
pub fn named(nodes: &[NodeReport]) -> String {
    let named = |(state, group): (&State, &Group<'_>)| {
        let names = roster::compress(&group.names);
        format!("{} {} ({names})", group.names.len(), state.name())
    };
    groups(nodes).iter().map(named).collect::<Vec<_>>().join(", ")
}

/// What the living of these nodes have together: `64 cores, 12 % busy, 100 GiB of 256 GiB free`.
/// The share is of the processors of those that say it.
pub fn totals(nodes: &[NodeReport]) -> String {
    let (mut cores, mut said, mut busy, mut free, mut memory) = (0, 0.0, 0.0, 0.0, 0.0);
    for node in nodes.iter().filter(|node| node.state.is_alive()) {
        cores += node.cores.unwrap_or(0);
        if let (Some(cores), Some(percent)) = (node.cores, node.cpu_busy_percent) {
            said += f64::from(cores);
            busy += f64::from(cores) * percent;
        }
        if let (Some(available), Some(total)) = (node.mem_available_bytes, node.mem_total_bytes) {
            free += available as f64;
            memory += total as f64;
        }
    }
    let share = if said > 0.0 { Unit::Percent.humanise(busy / said) } else { "-".to_owned() };
    let (free, memory) = (Unit::Bytes.humanise(free), Unit::Bytes.humanise(memory));
    format!("{cores} cores, {share} busy, {free} of {memory} memory free")
}

fn groups(nodes: &[NodeReport]) -> BTreeMap<State, Group<'_>> {
    let mut sorted: Vec<&NodeReport> = nodes.iter().collect();
    sorted.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let mut groups = BTreeMap::<State, Group<'_>>::new();
    for node in sorted {
        groups.entry(node.state).or_default().add(node);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Nodes {
        let node = |number: u32| NodeReport {
            name: format!("n{number:04}"),
            state: match number {
                997 => State::Dead,
                998..=999 => State::Unheard,
                _ => State::Alive,
            },
            age_ms: (number < 998).then_some(if number == 997 { 180_000.0 } else { 512.0 }),
            ..NodeReport::default()
        };
        Nodes { nodes: (1..1000).rev().map(node).collect(), ..Nodes::default() }
    }

    #[test]
    fn totals_are_of_the_living_and_weigh_by_cores() {
        let node = |state, cores, percent| NodeReport {
            state,
            cores: Some(cores),
            cpu_busy_percent: percent,
            mem_total_bytes: Some(4 << 30),
            mem_available_bytes: Some(1 << 30),
            ..NodeReport::default()
        };
        let nodes = [
            node(State::Alive, 12, Some(50.0)),
            node(State::Suspected, 4, Some(10.0)),
            node(State::Alive, 8, None),
            node(State::Dead, 64, Some(100.0)),
        ];
        assert_eq!(totals(&nodes), "24 cores, 40.0 % busy, 3.00 GiB of 12.0 GiB memory free");
        assert!(totals(&[]).starts_with("0 cores, - busy, "));
    }

    #[test]
    fn a_thousand_nodes_are_three_lines() {
        assert_eq!(
            table(&nodes(), true),
            "state    nodes  youngest   oldest  names\n\
             alive      996    512 ms   512 ms  n[0001-0996]\n\
             dead         1   3 m 0 s  3 m 0 s  n0997\n\
             unheard      2         -        -  n[0998-0999]\n"
        );
        assert!(table(&nodes(), false).contains("dead         1      180000      180000  n0997\n"));
        assert_eq!(counts(&nodes().nodes), "996 alive, 1 dead, 2 unheard");
        assert_eq!(counts(&[]), "");
    }
}
