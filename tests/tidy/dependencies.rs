//! The direction of dependencies: what cargo says must be what ARCHITECTURE.md says.
//!
//! The page states the arrows once, in lines such as `gossip ← agent, cli` inside a code block. An
//! arrow that only cargo knows, or only the page knows, is a finding.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::{Finding, repository};

/// What would give the core a clock, a socket or a global generator, however deep it lies.
const DOING_IO: [&str; 11] = [
    "async-std",
    "getrandom",
    "mio",
    "nix",
    "polling",
    "quinn-udp",
    "rand",
    "rustix",
    "smol",
    "socket2",
    "tokio",
];

/// The state machines without input and output, and the one crate of the workspace that they link.
pub(crate) const CORES: [&str; 3] = ["tidings-gossip", "tidings-steal", "tidings-tasks-core"];
const BELOW: &str = "tidings-primitives";

/// `(depended upon, dependent)`, by short name: `gossip`, not `tidings-gossip`.
pub(crate) type Arrows = BTreeSet<(String, String)>;

/// The answer of `cargo metadata`.
pub(crate) struct Metadata(Value);

impl Metadata {
    /// Asks cargo about this workspace.
    pub(crate) fn of_workspace() -> Self {
        let printed = ask_cargo(&["metadata", "--format-version=1", "--locked", "--no-deps"]);
        Self(serde_json::from_str(&printed).expect("cargo metadata prints JSON"))
    }

    /// Each dependency between two packages of the workspace, of any kind.
    pub(crate) fn arrows(&self) -> Arrows {
        let members: Vec<&Value> = list(&self.0["packages"])
            .filter(|package| list(&self.0["workspace_members"]).any(|id| *id == package["id"]))
            .collect();
        let names: BTreeSet<&str> = members.iter().map(|package| name_of(package)).collect();
        members
            .iter()
            .flat_map(|package| {
                list(&package["dependencies"]).map(move |dependency| (package, dependency))
            })
            .filter(|(_, dependency)| names.contains(name_of(dependency)))
            .map(|(package, dependency)| (short(name_of(dependency)), short(name_of(package))))
            .collect()
    }
}

/// The arrows that a page states.
pub(crate) fn stated_arrows(page: &str) -> Arrows {
    let lines = page.lines().filter_map(|line| line.split_once('←'));
    lines
        .filter(|(upon, _)| is_name(upon.trim()))
        .flat_map(|(upon, dependents)| {
            dependents.split(',').map(|by| (upon.trim().to_owned(), by.trim().to_owned()))
        })
        .filter(|(_, dependent)| is_name(dependent))
        .collect()
}

/// Arrows that only the page or only cargo knows, and arrows from the agent.
pub(crate) fn differences(page: &str, stated: &Arrows, real: &Arrows) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (upon, dependent) in real.difference(stated) {
        let remedy = format!(
            "cargo has `{upon} ← {dependent}`, the page has not: remove the dependency, or state it"
        );
        findings.push(Finding::new(page, 1, remedy));
    }
    for (upon, dependent) in stated.difference(real) {
        let remedy =
            format!("the page has `{upon} ← {dependent}`, cargo has not: remove the arrow");
        findings.push(Finding::new(page, 1, remedy));
    }
    for (_, dependent) in real.iter().filter(|(upon, _)| upon == "agent") {
        let remedy = format!("`{dependent}` depends on the agent: move what both need to control");
        findings.push(Finding::new("Cargo.toml", 1, remedy));
    }
    findings
}

/// Names and versions of all that a core links, however deep, as `cargo tree` prints them: what its
/// tests and the other packages of the workspace need is left out.
pub(crate) fn linked_by(core: &str) -> String {
    let edges = ["--edges", "normal,no-proc-macro", "--prefix", "none"];
    ask_cargo(&[&["tree", "--locked", "--package", core][..], &edges].concat())
}

/// Crates under a core that do I/O, keep time or draw from a global generator; and own crates.
pub(crate) fn core_doing_io(core: &str, tree: &str) -> Vec<Finding> {
    let names: BTreeSet<&str> =
        tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for own in [core, BELOW] {
        assert!(names.contains(own), "cargo tree does not know {own} in the core");
    }
    let is_own = |name: &str| name.starts_with("tidings-") && name != core && name != BELOW;
    names
        .into_iter()
        .filter(|name| DOING_IO.contains(name) || is_own(name))
        .map(|name| {
            let remedy = format!("{core} links `{name}` (see `cargo tree -p {core}`): remove it");
            Finding::new("Cargo.toml", 1, remedy)
        })
        .collect()
}

fn ask_cargo(arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.args(arguments).current_dir(repository::root()).output();
    let output = output.expect("cargo runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {} failed:\n{complaint}", arguments.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn short(name: &str) -> String {
    name.trim_start_matches("tidings-").to_owned()
}

fn name_of(value: &Value) -> &str {
    text_of(&value["name"])
}

fn text_of(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has a text here")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arrows(pairs: &[(&str, &str)]) -> Arrows {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    fn package(name: &str, dependencies: &[&str]) -> Value {
        let dependencies: Vec<Value> = dependencies.iter().map(|d| json!({"name": d})).collect();
        json!({"id": name, "name": name, "dependencies": dependencies})
    }

    fn sample() -> Metadata {
        Metadata(json!({
            "workspace_members": ["tidings-gossip", "tidings-agent"],
            "packages": [
                package("tidings-gossip", &["aead"]),
                package("tidings-agent", &["tidings-gossip", "tokio"]),
                package("tokio", &["tidings-gossip"]),
            ],
        }))
    }

    #[test]
    fn arrows_are_read_from_the_page() {
        let page = "```text\ngossip  ← agent, cli\n```\nNews flows a ← b, of course.\n";
        assert_eq!(stated_arrows(page), arrows(&[("gossip", "agent"), ("gossip", "cli")]));
    }

    #[test]
    fn arrows_are_read_from_cargo() {
        assert_eq!(sample().arrows(), arrows(&[("gossip", "agent")]));
    }

    #[test]
    fn an_arrow_on_one_side_only_is_found() {
        let (one, two) = (arrows(&[("a", "b")]), arrows(&[("a", "b"), ("a", "c")]));
        assert_eq!(differences("page", &one, &two).len(), 1);
        assert_eq!(differences("page", &two, &one).len(), 1);
        assert!(differences("page", &two, &two).is_empty());
    }

    #[test]
    fn a_dependency_on_the_agent_is_found_even_if_stated() {
        let both = arrows(&[("agent", "cli")]);
        assert_eq!(differences("page", &both, &both).len(), 1);
    }

    #[test]
    fn io_under_the_core_is_found() {
        let own = "tidings-gossip v0.1.0 (/work)\ntidings-primitives v0.1.0 (/work)\n";
        let pure = &format!("{own}aead v0.6.1\ncfg-if v1.0.5 (*)\n");
        assert!(core_doing_io("tidings-gossip", pure).is_empty());
        let with_io = format!("{pure}getrandom v0.3.4\ntidings-control v0.1.0 (/work)\n");
        assert_eq!(core_doing_io("tidings-gossip", &with_io).len(), 2);
    }
}
