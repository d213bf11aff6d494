//! `tidings keys status`: who holds which keys, and which step of an exchange is safe.
//!
//! A node opens what is sealed with any key that it holds. So another key may be promoted once all
//! hold it, and the others may be dropped once nobody seals with them. Each rule is about all
//! nodes: one that does not answer may hold anything.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use serde::Serialize;
use tidings_control::{KeyAnswer, KeyReport, NodeKeys};
use tidings_gossip::roster;

use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

/// A step of an exchange of keys, after `add`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Step {
    /// The last key becomes the first
    Promote,
    /// Every key but the first goes
    Drop,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Drop => "drop",
        }
    }
}

/// Whether a step may be done now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Verdict {
    safe: bool,
    /// Why, in words.
    text: String,
}

/// All that is found out, as JSON.
#[derive(Debug, Serialize)]
struct Found<'r> {
    #[serde(flatten)]
    report: &'r KeyReport,
    promote: Verdict,
    drop: Verdict,
}

/// Has the agent ask, and prints what it found.
///
/// # Errors
/// [`Failure::Keys`], or a failure of reaching the agent or of printing.
pub(super) fn run(agent: &Agent, before: Option<Step>, json: bool) -> Result<(), Failure> {
    let report = agent.connect()?.keys()?;
    let [promote, drop] = [Step::Promote, Step::Drop].map(|step| verdict(&report, step));
    let wanted = match before {
        None => answered(&report),
        Some(Step::Promote) => promote.clone(),
        Some(Step::Drop) => drop.clone(),
    };
    if json {
        output::print_json(&Found { report: &report, promote, drop })?;
    } else {
        output::print(&text(&report, &promote, &drop))?;
    }
    let what = before.map_or("status", Step::name);
    if wanted.safe { Ok(()) } else { Err(Failure::Keys { what, reason: wanted.text }) }
}

/// Whether every node that lives has said its keys.
fn answered(report: &KeyReport) -> Verdict {
    let missing = missing(report);
    Verdict { safe: missing.is_empty(), text: missing.join(", ") }
}

/// What keeps the operator from knowing the keys of all nodes.
fn missing(report: &KeyReport) -> Vec<String> {
    if !report.encrypted {
        return vec!["this cluster has no keys".to_owned()];
    }
    let with = |answer: KeyAnswer| {
        let names = names(report, |node| node.answer == answer);
        (!names.is_empty()).then(|| roster::compress(&names))
    };
    let mut missing = Vec::new();
    missing.extend(with(KeyAnswer::Silent).map(|names| format!("no answer from {names}")));
    missing.extend(with(KeyAnswer::Rejected).map(|names| {
        format!("other keys or settings at {names} (`tidings doctor peer` says which)")
    }));
    missing.extend(
        with(KeyAnswer::Unsaid)
            .map(|names| format!("an earlier release that does not say its keys at {names}")),
    );
    let known = report.nodes.len() as u32;
    let lacking = report.expected.filter(|&expected| expected > known);
    missing.extend(lacking.map(|expected| format!("{known} of {expected} nodes are known here")));
    missing
}

/// The nodes for which a condition holds.
fn names(report: &KeyReport, condition: impl Fn(&NodeKeys) -> bool) -> Vec<&str> {
    report.nodes.iter().filter(|node| condition(node)).map(|node| node.name.as_str()).collect()
}

/// The nodes that have answered, by what each has said.
fn groups<T: Ord>(report: &KeyReport, said: impl Fn(&NodeKeys) -> T) -> BTreeMap<T, Vec<&str>> {
    let mut groups: BTreeMap<T, Vec<&str>> = BTreeMap::new();
    for node in report.nodes.iter().filter(|node| node.answer == KeyAnswer::Known) {
        groups.entry(said(node)).or_default().push(&node.name);
    }
    groups
}

/// Whether a step is safe, and if not which nodes are in the way.
fn verdict(report: &KeyReport, step: Step) -> Verdict {
    let mut against = missing(report);
    let known = groups(report, |_| ()).into_values().next().unwrap_or_default().len();
    let all: BTreeSet<&String> = report.nodes.iter().flat_map(|node| &node.keys).collect();
    let nodes = if known == 1 { "the one node" } else { &format!("all {known} nodes") };
    let text =
        match step {
            Step::Promote => {
                for key in &all {
                    let lack = names(report, |node| {
                        node.answer == KeyAnswer::Known && !node.keys.contains(key)
                    });
                    if !lack.is_empty() {
                        against.push(format!("{key} is not held by {}", roster::compress(&lack)));
                    }
                }
                match all.len() {
                    1 => format!("there is one key: {nodes} hold it"),
                    keys => format!("{nodes} hold the same {keys} keys"),
                }
            }
            Step::Drop => {
                let sealing = groups(report, |node| node.keys.first().cloned().unwrap_or_default());
                if sealing.len() > 1 {
                    against.extend(sealing.iter().map(|(key, names)| {
                        format!("{} seal with {key}", roster::compress(names))
                    }));
                }
                let key = sealing.into_keys().next().unwrap_or_default();
                format!("{nodes} seal with {key}, and keep it")
            }
        };
    let safe = against.is_empty();
    Verdict { safe, text: if safe { text } else { against.join("; ") } }
}

/// What is printed for people: who holds what, then whether each step is safe.
fn text(report: &KeyReport, promote: &Verdict, drop: &Verdict) -> String {
    let mut rows: Vec<Vec<String>> = groups(report, |node| node.keys.join(" "))
        .into_iter()
        .map(|(keys, names)| vec![keys, names.len().to_string(), roster::compress(&names)])
        .collect();
    for (answer, text) in [
        (KeyAnswer::Unsaid, "(an earlier release)"),
        (KeyAnswer::Rejected, "(other keys or settings)"),
        (KeyAnswer::Silent, "(no answer)"),
        (KeyAnswer::NotAsked, "(dead or left, not asked)"),
    ] {
        let names = names(report, |node| node.answer == answer);
        if !names.is_empty() {
            let (count, names) = (names.len().to_string(), roster::compress(&names));
            rows.push(vec![text.to_owned(), count, names]);
        }
    }
    let headings =
        [("keys, the first seals", Align::Left), ("nodes", Align::Right), ("names", Align::Left)];
    let line = |step: Step, verdict: &Verdict| {
        let verdict = match verdict {
            Verdict { safe: true, text } => format!("safe: {text}"),
            Verdict { safe: false, text } => format!("not yet: {text}"),
        };
        format!("{}: {verdict}\n", step.name())
    };
    let colony = report.colony.map(|colony| format!("colony {colony}; others are not asked\n"));
    table::render(&headings, &rows)
        + &colony.unwrap_or_default()
        + &line(Step::Promote, promote)
        + &line(Step::Drop, drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_control::State;

    fn report(nodes: &[(&str, KeyAnswer, &[&str])]) -> KeyReport {
        let node = |&(name, answer, keys): &(&str, KeyAnswer, &[&str])| NodeKeys {
            name: name.to_owned(),
            address: String::new(),
            state: State::Alive,
            answer,
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
        };
        let nodes = nodes.iter().map(node).collect();
        KeyReport { encrypted: true, nodes, ..KeyReport::default() }
    }

    /// Whether each step is safe, and why not.
    fn verdicts(report: &KeyReport) -> [Verdict; 2] {
        [Step::Promote, Step::Drop].map(|step| verdict(report, step))
    }

    fn is_safe(nodes: &[(&str, KeyAnswer, &[&str])]) -> [bool; 2] {
        verdicts(&report(nodes)).map(|verdict| verdict.safe)
    }

    const KNOWN: KeyAnswer = KeyAnswer::Known;

    #[test]
    fn an_exchange_is_followed_step_by_step() {
        let added = ("n1", KNOWN, &["old", "new"][..]);
        let promoted = ("n2", KNOWN, &["new", "old"][..]);
        assert_eq!(is_safe(&[added, ("n2", KNOWN, &["old"])]), [false, true]);
        assert_eq!(is_safe(&[added, ("n2", KNOWN, &["old", "new"])]), [true, true]);
        assert_eq!(is_safe(&[added, promoted]), [true, false]);
        assert_eq!(is_safe(&[("n1", KNOWN, &["new", "old"]), promoted]), [true, true]);
        assert_eq!(is_safe(&[("n1", KNOWN, &["new"]), promoted]), [false, true]);
        assert_eq!(is_safe(&[("n1", KNOWN, &["new"]), ("n2", KNOWN, &["new"])]), [true, true]);
    }

    #[test]
    fn the_nodes_in_the_way_are_named() {
        let found = report(&[
            ("n1", KNOWN, &["old", "new"]),
            ("n2", KNOWN, &["new", "old"]),
            ("n3", KNOWN, &["old"]),
            ("n4", KNOWN, &["old"]),
        ]);
        let [promote, drop] = verdicts(&found);
        assert_eq!(promote.text, "new is not held by n[3-4]");
        assert_eq!(drop.text, "n2 seal with new; n[1,3-4] seal with old");
        let text = text(&found, &promote, &drop);
        assert!(text.contains("old                        2  n[3-4]\n"), "{text}");
        assert!(text.ends_with("drop: not yet: n2 seal with new; n[1,3-4] seal with old\n"));
    }

    #[test]
    fn who_does_not_say_may_hold_anything() {
        let whole = ("n1", KNOWN, &["old", "new"][..]);
        for answer in [KeyAnswer::Silent, KeyAnswer::Rejected, KeyAnswer::Unsaid] {
            let found = report(&[whole, ("n2", answer, &[])]);
            assert!(verdicts(&found).iter().all(|verdict| !verdict.safe), "{answer:?}");
            assert!(!answered(&found).safe);
            assert!(answered(&found).text.ends_with("n2") || answer == KeyAnswer::Rejected);
        }
        let found = report(&[whole, ("n2", KeyAnswer::NotAsked, &[])]);
        assert!(verdicts(&found).iter().all(|verdict| verdict.safe), "the dead open nothing");
        let few = KeyReport { expected: Some(3), ..report(&[whole]) };
        assert_eq!(answered(&few).text, "1 of 3 nodes are known here");
        let open = KeyReport::default();
        assert_eq!(answered(&open).text, "this cluster has no keys");
    }
}
