//! Tables of studies: each has a manifest of the form of docs/reference/manifest.md, and was made
//! by sources that anyone can have again.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use tidings_experiment::manifest::{Manifest, digest};

use crate::Finding;
use crate::ratchet::Breach;

/// The folders of studies.
const STUDIES: [&str; 1] = ["studies/"];
const MANIFEST: &str = ".manifest.json";

/// The tables and manifests among the files of the repository.
pub(crate) fn tables_in(files: &[String]) -> (Vec<&str>, Vec<&str>) {
    let of_studies = |file: &&str| STUDIES.iter().any(|folder| file.starts_with(folder));
    let files = files.iter().map(String::as_str).filter(of_studies);
    let (manifests, others): (Vec<_>, Vec<_>) = files.partition(|file| file.ends_with(MANIFEST));
    let is_table = |file: &&str| {
        Path::new(file).extension().is_some_and(|ending| ending == "csv" || ending == "json")
    };
    (others.into_iter().filter(is_table).collect(), manifests)
}

/// The manifest that stands beside a table.
pub(crate) fn manifest_of(table: &str) -> String {
    let (name, _) = table.rsplit_once('.').expect("a table's name has an ending");
    format!("{name}{MANIFEST}")
}

/// What a list allows once for a table, and what is said of it.
fn breach(table: &str, remedy: impl Into<String>) -> Breach {
    let finding = Finding::new(table, 1, remedy);
    Breach { what: table.to_owned(), amount: 1, finding }
}

/// Manifests beside which no table lies.
pub(crate) fn without_table(tables: &[&str], manifests: &[&str]) -> Vec<Finding> {
    let named: BTreeSet<String> = tables.iter().map(|table| manifest_of(table)).collect();
    let lonely = manifests.iter().filter(|manifest| !named.contains(**manifest));
    lonely.map(|file| Finding::new(file, 1, "no table lies beside it: remove it")).collect()
}

/// Why a table cannot be made again, if it cannot: the first reason of all.
pub(crate) fn not_repeatable(
    table: &str,
    bytes: &[u8],
    manifest: Option<&str>,
    is_ancestor: &dyn Fn(&str) -> bool,
) -> Option<Breach> {
    let file = manifest_of(table);
    let Some(text) = manifest else {
        return Some(breach(table, format!("{file} is missing: let its command write both")));
    };
    let manifest = match Manifest::parse(text) {
        Ok(manifest) => manifest,
        Err(error) => return Some(breach(table, format!("{file}: {error}"))),
    };
    if manifest.table_sha256 != digest(bytes) {
        let remedy = format!(
            "it is not what the command of {file} wrote: measure it again; of a column that was \
             only given another name say so in `facts`, with the hash it has now"
        );
        return Some(breach(table, remedy));
    }
    manifest
        .runs
        .iter()
        .find_map(|run| match (&run.trial, &run.commit) {
            (Some(trial), _) => Some(format!("it was a trial ({trial})")),
            (None, None) => Some("no commit is known".to_owned()),
            (None, Some(commit)) if !is_ancestor(commit) => {
                Some(format!("commit {commit} is not of this history"))
            }
            _ => None,
        })
        .map(|why| {
            breach(
                table,
                format!("{why}: make it again at a commit, `{}`", manifest.runs[0].command),
            )
        })
}

/// Whether commits are ancestors of the one that is checked out; an error where that cannot be
/// known: there is no repository, or a part of its history only.
pub(crate) fn history(root: &Path) -> Result<impl Fn(&str) -> bool + use<>, String> {
    let root = root.to_owned();
    let git = move |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    };
    match git(&["rev-parse", "--is-shallow-repository"]).as_deref() {
        None => Err("git finds no repository here".to_owned()),
        Some("true") => {
            Err("this is a shallow clone; `git fetch --unshallow` completes it".to_owned())
        }
        Some(_) => {
            Ok(move |commit: &str| git(&["merge-base", "--is-ancestor", commit, "HEAD"]).is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "studies/ages/ages.csv";
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A manifest of the table `a` by a run with these fields.
    fn manifest(fields: &str) -> String {
        let machine = r#"{"processor":null,"architecture":null,"processors":2,
            "memory_mib":null,"kernel":null}"#;
        format!(
            r#"{{"schema":1,"table_sha256":"{}","runs":[{{"seed":1,"date":null,"machine":{machine},
                "versions":{{}},"wall_s":1.0,{fields}}}]}}"#,
            digest(b"a")
        )
    }

    fn said_of(manifest: Option<&str>) -> Option<String> {
        let breach = not_repeatable(TABLE, b"a", manifest, &|commit| commit == COMMIT)?;
        assert_eq!((&*breach.what, &*breach.finding.file), (TABLE, TABLE));
        Some(breach.finding.remedy)
    }

    #[test]
    fn a_table_with_a_manifest_of_a_commit_passes() {
        let own = manifest(&format!(r#""command":"make ages","commit":"{COMMIT}""#));
        assert_eq!(said_of(Some(&own)), None);
        let files = [TABLE, "studies/ages/ages.manifest.json"].map(str::to_owned);
        let (tables, manifests) = tables_in(&files);
        assert_eq!((&*tables, without_table(&tables, &manifests)), (&[TABLE][..], vec![]));
    }

    #[test]
    fn a_table_that_nobody_can_make_again_is_found() {
        let commit = format!(r#""commit":"{COMMIT}""#);
        let command = r#""command":"make ages""#;
        for (fields, reason) in [
            (format!(r#"{command},"commit":"{COMMIT}-dirty""#), "is not 40 hexadecimal digits"),
            (format!(r#"{command},"commit":"unknown""#), "`unknown` is not 40"),
            (format!(r#"{command},"commit":null"#), "no commit is known: make it again"),
            (format!(r#"{command},{commit},"trial":"2 files differ""#), "a trial (2 files differ)"),
            (
                format!(r#"{command},"commit":"{}""#, COMMIT.replace('0', "f")),
                "not of this history",
            ),
            (format!(r#""command":"tidings --output /work/a",{commit}"#), "a path of a machine"),
            (format!(r#""command":"",{commit}"#), "runs.0.command: it is empty"),
            (commit.clone(), "missing field `command`"),
        ] {
            let said = said_of(Some(&manifest(&fields))).expect(reason);
            assert!(said.contains(reason), "{said}");
        }
        assert!(said_of(None).is_some_and(|said| said.contains("ages.manifest.json is missing")));
        let other = manifest(&format!("{command},{commit}")).replace(&digest(b"a"), &digest(b"b"));
        assert!(said_of(Some(&other)).is_some_and(|said| said.contains("is not what the command")));
    }

    #[test]
    fn a_manifest_without_a_table_is_found() {
        let files = ["studies/ages/ages.manifest.json", "studies/ages/README.md", "bench/a.csv"];
        let files = files.map(str::to_owned);
        let (tables, manifests) = tables_in(&files);
        assert!(tables.is_empty());
        assert_eq!(without_table(&tables, &manifests)[0].file, files[0]);
    }

    #[test]
    fn ancestors_are_asked_of_git() {
        let is_ancestor = history(&crate::repository::root());
        if let Ok(is_ancestor) = is_ancestor {
            assert!(is_ancestor("HEAD") && !is_ancestor(COMMIT));
        }
        let nowhere = tempfile::tempdir().expect("a temporary directory");
        assert!(history(nowhere.path()).is_err_and(|why| why.contains("no repository")));
    }
}
