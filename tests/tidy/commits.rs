//! Commits: a subject `part: what the change does` of at most 72 characters, and a body that says
//! why.
//!
//! They are read from git, from a base on: what lies before it stays as it is, and merges say what
//! they merge. A tarball has no history and a shallow clone may not reach back to the base; then
//! there is nothing to check, and the test says so.

use std::process::Command;

use crate::Finding;
use crate::ratchet::Breach;
use crate::repository;

/// The last commit to which the rule does not apply.
const BASE: &str = "394fc4aa96c8919f79f4534d9ba07ea68334db6f";

const MAX_SUBJECT: usize = 72;

/// What stands between the fields of a commit, and behind it, in git's answer.
const FIELD: char = '\u{1f}';
const RECORD: char = '\u{1e}';

/// What git tells of the commits since the base; or why it cannot.
pub(crate) fn since_base() -> Result<String, String> {
    git(&["merge-base", "--is-ancestor", BASE, "HEAD"])?;
    git(&["log", "--no-merges", "--format=%H%x1f%s%x1f%b%x1e", &format!("{BASE}..HEAD")])
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).current_dir(repository::root()).output();
    let output = output.map_err(|error| format!("git does not run: {error}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("git {}: {} {complaint}", arguments[0], output.status))
    }
}

/// The commits of `log` whose message does not say what was done and why.
pub(crate) fn unclear(log: &str) -> Vec<Breach> {
    let commits = log.split(RECORD).map(str::trim_start).filter(|commit| !commit.is_empty());
    commits.filter_map(unclear_commit).collect()
}

fn unclear_commit(commit: &str) -> Option<Breach> {
    let mut fields = commit.split(FIELD);
    let (id, subject) = (fields.next()?, fields.next()?);
    let body = fields.next().unwrap_or_default();
    let short = id.get(..7).unwrap_or(id);
    let remedy = wrong_with(subject, body)?;
    let remedy = format!("commit {short} `{subject}`: {remedy}");
    let finding = Finding::new("git log", 1, remedy);
    Some(Breach { what: short.to_owned(), amount: subject.chars().count(), finding })
}

fn wrong_with(subject: &str, body: &str) -> Option<String> {
    let columns = subject.chars().count();
    let part = subject.split_once(": ").map_or("", |(part, _)| part);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, ' ' | ',' | '-' | '_' | '.' | '/');
    let is_trailer =
        |line: &str| line.split_once(": ").is_some_and(|(key, _)| key.ends_with("-by"));
    let says_why =
        body.lines().any(|line| line.split_whitespace().count() > 2 && !is_trailer(line));
    if columns > MAX_SUBJECT {
        Some(format!("{columns} characters, at most {MAX_SUBJECT}"))
    } else if part.is_empty() || !part.chars().all(is_part) {
        Some("begin with the part, as in `gossip: count replayed datagrams`".to_owned())
    } else if subject.contains("; ") || subject.ends_with('.') {
        Some("say one thing, without a full stop: another thing is another commit".to_owned())
    } else if !says_why {
        Some("say why in the body".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(subject: &str, body: &str) -> usize {
        let log = format!("0123456789{FIELD}{subject}{FIELD}{body}\n{RECORD}\n");
        unclear(&log).len()
    }

    const WHY: &str = "Replayed datagrams were lost among the bad ones.\n";

    #[test]
    fn a_commit_that_says_what_and_why_passes() {
        assert_eq!(found("gossip: count replayed datagrams", WHY), 0);
        assert_eq!(found("mpi, board: wrap lines", WHY), 0);
        assert_eq!(unclear(""), []);
    }

    #[test]
    fn a_long_subject_is_found() {
        assert_eq!(found(&format!("gossip: {}", "x".repeat(65)), WHY), 1);
        assert_eq!(found(&format!("gossip: {}", "x".repeat(64)), WHY), 0);
    }

    #[test]
    fn a_subject_without_its_part_or_of_two_things_is_found() {
        for subject in
            ["Count replayed datagrams", "x", "Why so? gossip: count", "a: b; c", "a: b."]
        {
            assert_eq!(found(subject, WHY), 1, "{subject}");
        }
    }

    #[test]
    fn a_body_that_does_not_say_why_is_found() {
        for body in ["", "\n\n", "Signed-off-by: Some Body <s@example.org>\n"] {
            assert_eq!(found("gossip: count replayed datagrams", body), 1, "{body:?}");
        }
    }
}
