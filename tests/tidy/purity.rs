//! The sans-IO core: its source names no clock, socket, thread, file, environment or `unsafe`.
//!
//! Clippy bans the calls (the clippy.toml of each crate of the core). This rule bans the names,
//! whether or not they are called, in code behind any `cfg`.

use crate::Finding;
use crate::tokens::{lex, paths};

/// Paths that reach outside the state machine, with what to do instead.
const OUTSIDE: [(&str, &str); 13] = [
    ("std::net", "use core::net for addresses; sockets belong to the driver"),
    ("std::thread", "threads belong to the driver"),
    ("std::fs", "files belong to the driver: take the bytes as an argument"),
    ("std::io", "streams belong to the driver: take and return bytes"),
    ("std::env", "the environment belongs to the driver: take the value in Config"),
    ("std::process", "processes belong to the driver: return an error"),
    ("std::os", "the operating system belongs to the driver"),
    ("std::time::Instant", "use the crate's own Instant, which the driver sets"),
    ("std::time::SystemTime", "wall-clock time never enters the core"),
    ("std::time::UNIX_EPOCH", "wall-clock time never enters the core"),
    ("std::time::*", "name what is used: core::time::Duration"),
    ("tokio", "the runtime belongs to the driver"),
    ("getrandom", "draw from the generator that the seed started"),
];

/// The folders of the core's crates.
pub(crate) const CORE: [&str; 5] =
    ["crates/blocks", "crates/gossip", "crates/primitives", "crates/steal", "crates/tasks-core"];

/// Whether a file belongs to the core.
pub(crate) fn is_core(file: &str) -> bool {
    CORE.iter()
        .any(|folder| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with("/src/")))
}

/// Paths of the core's source that reach outside.
pub(crate) fn impure_paths(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in paths(&lex(file, text)) {
        if matches!(
            path.text.as_str(),
            "std" | "std::*" | "std::self" | "std::time" | "std::time::self"
        ) {
            let remedy = format!("`{}` hides what is used: name the item itself", path.text);
            findings.push(Finding::new(file, path.line, remedy));
        }
        for (outside, remedy) in OUTSIDE {
            let rest = path.text.strip_prefix(outside);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::")) {
                let remedy = format!("`{}` in the core: {remedy}", path.text);
                findings.push(Finding::new(file, path.line, remedy));
            }
        }
    }
    findings
}

/// A crate root without `#![forbid(unsafe_code)]`.
pub(crate) fn unsafe_allowed(file: &str, text: &str) -> Vec<Finding> {
    let written = lex(file, text).to_string().replace(' ', "");
    let remedy = "the core has no unsafe code: write #![forbid(unsafe_code)]";
    let forbids = written.contains("#![forbid(unsafe_code");
    (!forbids).then(|| Finding::new(file, 1, remedy)).into_iter().collect()
}

/// Lines of the workspace's clippy.toml that the core's own copy lacks.
pub(crate) fn missing_bans(core_file: &str, workspace: &str, core: &str) -> Vec<Finding> {
    let is_rule = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let has = |wanted: &str| core.lines().any(|line| line.trim() == wanted.trim());
    workspace
        .lines()
        .filter(is_rule)
        .filter(|line| !has(line))
        .map(|line| Finding::new(core_file, 1, format!("repeat this line of /clippy.toml: {line}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_outside_is_found() {
        let bad = [
            "use std::net::UdpSocket;",
            "use std::{collections::BTreeMap, time::{Duration, Instant}};",
            "fn f() { let t = std::time::Instant::now(); }",
            "fn f() { m!(std::thread::sleep(d)) }",
            "fn f() -> Vec<u8> { std::fs::read(p) }",
            "use std::time::*;",
            "use std::time;",
            "use ::std::env;",
            "use std::time::SystemTime as Clock;",
            "async fn f() { tokio::spawn(g()); }",
        ];
        for source in bad {
            assert!(!impure_paths("a.rs", source).is_empty(), "{source}");
        }
    }

    #[test]
    fn what_is_pure_passes() {
        let good = "use core::net::SocketAddr;\nuse core::time::Duration;\nuse crate::Instant;
            // std::fs\nuse std::time::Duration as D;\nfn f(now: Instant) { \"std::net\"; }";
        assert_eq!(impure_paths("a.rs", good), []);
    }

    #[test]
    fn a_root_that_allows_unsafe_is_found() {
        assert_eq!(unsafe_allowed("lib.rs", "#![warn(missing_docs)]").len(), 1);
        assert_eq!(unsafe_allowed("lib.rs", "// #![forbid(unsafe_code)]").len(), 1);
        assert!(unsafe_allowed("lib.rs", "//! Doc.\n#![forbid(unsafe_code)]").is_empty());
    }

    #[test]
    fn a_ban_that_the_core_lacks_is_found() {
        assert_eq!(missing_bans("core", "# why\na = 1\n\nb = 2", "b = 2\nc = 3").len(), 1);
        assert!(missing_bans("core", "a = 1", "a = 1\nb = 2").is_empty());
    }
}
