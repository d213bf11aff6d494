//! Commits: a subject `part: what the change does` of at most 72 characters, and a body that says
//! why.
//!
//! They are read from git, from a base on: what lies before it stays as it is, and merges say what
//! they merge. A tarball has no history and a shallow clone may not reach back to the base; then
//! there is nothing to check, and the test says so.

use std::path::Path;
use std::process::Command;

use crate::Finding;
use crate::ratchet::Breach;

/// The last commit to which the rule does not apply.
pub(crate) const BASE: &str = "394fc4aa96c8919f79f4534d9ba07ea68334db6f";

const MAX_SUBJECT: usize = 72;

/// What stands between the fields of a commit, and behind it, in git's answer.
const FIELD: char = '\u{1f}';
const RECORD: char = '\u{1e}';

/// What git says of the commits of the repository in `root` since `base`; or why it cannot.
///
/// A repository further up is another's: a tarball unpacked in it has no history.
pub(crate) fn since(base: &str, root: &Path) -> Result<String, String> {
    git(root, &["merge-base", "--is-ancestor", base, "HEAD"])?;
    let commits = format!("{base}..HEAD");
    git(root, &["log", "--no-merges", "--format=%H%x1f%s%x1f%b%x1e", &commits])
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(root).env_remove("GIT_DIR").env("LC_ALL", "C");
    git.env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root));
    let output = git.output().map_err(|error| format!("git does not run: {error}"))?;
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

    /// A repository of two commits, the first of which is the base.
    fn repository_of_two(folder: &Path) -> String {
        let commit = |subject: &str| {
            let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
            let message = ["commit", "-q", "--allow-empty", "--no-verify", "-m", subject];
            git(folder, &[&author[..], &["-c", "commit.gpgSign=false"], &message].concat())
        };
        git(folder, &["init", "-q"]).expect("git makes a repository");
        commit("the base").expect("git commits");
        let base = git(folder, &["rev-parse", "HEAD"]).expect("git names the commit");
        commit("later").expect("git commits");
        base.trim().to_owned()
    }

    #[test]
    fn the_commits_since_the_base_are_read_where_the_history_reaches_it() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (whole, shallow) = (place.path().join("whole"), place.path().join("shallow"));
        std::fs::create_dir(&whole).expect("a folder in it");
        let base = repository_of_two(&whole);
        let breaches = unclear(&since(&base, &whole).expect("the base is an ancestor"));
        assert_eq!(breaches.len(), 1, "{breaches:?}");
        assert!(breaches[0].finding.remedy.contains("`later`"), "{breaches:?}");

        let origin = format!("file://{}", whole.display());
        git(place.path(), &["clone", "-q", "--depth=1", &origin, "shallow"]).expect("git clones");
        let why = since(&base, &shallow).expect_err("a shallow clone has no base");
        assert!(why.starts_with("git merge-base: "), "{why}");
    }

    #[test]
    fn without_a_history_there_is_a_reason_and_no_commit() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let tarball = place.path().join("tidings");
        std::fs::create_dir(&tarball).expect("a folder in it");
        let base = repository_of_two(place.path());
        for base in [BASE, &*base] {
            let why = since(base, &tarball).expect_err("the repository around it is another's");
            assert!(why.contains("not a git repository"), "{why}");
        }
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
