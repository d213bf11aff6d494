//! The sources that a run is made from: the repository, its commit, and what differs from it.

use std::path::{Path, PathBuf};

use super::machine::said_by;

/// The folder whose tables are published: only from sources that a commit holds.
const PUBLISHED: &str = "studies/";
/// What studies write there themselves: a file of these is no source of a number.
const WRITTEN: [&str; 4] = [".csv", ".json", ".svg", ".md"];
/// What a checkout of this project has, and hardly anything else.
const MARK: &str = "docs/reference/manifest.schema.json";

/// The sources of a run, when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sources {
    pub(crate) root: Option<PathBuf>,
    pub(crate) commit: Option<String>,
    /// Why nothing can be published from them.
    pub(crate) trial: Option<String>,
}

impl Sources {
    /// Of the checkout that a folder lies in, else of the one that this process runs in.
    pub(crate) fn of(folder: &Path) -> Self {
        let here = || std::env::current_dir().ok().and_then(|here| root_of(&here));
        match root_of(folder).or_else(here) {
            Some(root) => Self::in_checkout(root),
            None => Self {
                root: None,
                commit: None,
                trial: Some("no commit is known: this is no checkout of the project".to_owned()),
            },
        }
    }

    fn in_checkout(root: PathBuf) -> Self {
        let git = |arguments: &[&str]| {
            let folder = root.to_string_lossy();
            said_by("git", &[&["-C", &*folder], arguments].concat())
        };
        // An unpacked archive within another repository has a prefix there.
        let commit = git(&["rev-parse", "--show-prefix", "HEAD"]);
        let commit =
            commit.filter(|said| said.starts_with('\n')).map(|said| said.trim().to_owned());
        let changed = git(&["diff", "--name-only", "-z", "HEAD"]).unwrap_or_default();
        let changed: Vec<&str> =
            changed.split('\0').filter(|file| !file.is_empty() && !is_written(file)).collect();
        let trial = match (&commit, changed.len()) {
            (None, _) => Some("no commit is known: git finds no repository here".to_owned()),
            (_, 0) => None,
            (_, count) => {
                let differ = if count == 1 { "file differs" } else { "files differ" };
                let named = changed[..count.min(3)].join(", ");
                let more = if count > 3 { ", ..." } else { "" };
                Some(format!("{count} {differ} from the commit: {named}{more}"))
            }
        };
        Self { root: Some(root), commit, trial }
    }

    /// Why a table may not be written into a folder, if it may not.
    pub(super) fn refuse(&self, folder: &Path) -> Option<String> {
        let inside = folder.strip_prefix(self.root.as_deref()?).ok()?;
        let inside = format!("{}/", inside.display());
        inside.strip_prefix(PUBLISHED)?;
        let trial = self.trial.as_ref()?;
        Some(format!(
            "a table is published from a commit only, and {trial}; commit first, or try it in \
             another folder, such as target/trial"
        ))
    }

    /// The folder of the study that has a table of this name, if one has.
    pub(super) fn study_of(&self, file: &Path) -> Option<String> {
        let (root, name) = (self.root.as_deref()?, file.file_name()?);
        let folders = std::fs::read_dir(root.join("studies")).ok()?.flatten();
        let mut found = folders.filter(|folder| folder.path().join(name).is_file());
        let only = found.next().filter(|_| found.next().is_none())?;
        Some(format!("studies/{}", only.file_name().to_string_lossy()))
    }
}

/// Whether a file of the repository is written by studies.
fn is_written(file: &str) -> bool {
    file.starts_with(PUBLISHED) && WRITTEN.iter().any(|ending| file.ends_with(ending))
}

/// The checkout of this project that a folder lies in.
pub(super) fn root_of(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    folder.ancestors().find(|folder| folder.join(MARK).is_file()).map(Path::to_owned)
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// A checkout with one study, its table and a program, all committed.
    pub(crate) fn checkout() -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        for file in [MARK, "studies/ages/ages.csv", "studies/ages/run", "studies/ages/README.md"] {
            let file = place.path().join(file);
            fs::create_dir_all(file.parent().expect("it has one")).expect("the folder is ours");
            fs::write(file, "one\n").expect("the folder is ours");
        }
        let own = ["-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "all"];
        for words in [&["init", "-q"][..], &["add", "."], &own] {
            let git = Command::new("git").arg("-C").arg(place.path()).args(words).status();
            assert!(git.expect("git is there").success(), "{words:?}");
        }
        place
    }

    #[test]
    fn changed_sources_are_named_and_what_studies_write_is_none() {
        let place = checkout();
        let study = place.path().join("studies/ages");
        for written in ["ages.csv", "README.md"] {
            fs::write(study.join(written), "two\n").expect("the folder is ours");
        }
        let clean = Sources::of(&study);
        assert_eq!((clean.commit.as_ref().map(String::len), &clean.trial), (Some(40), &None));
        assert_eq!(clean.refuse(&study), None);
        assert_eq!(clean.study_of(Path::new("out/ages.csv")), Some("studies/ages".to_owned()));
        assert_eq!(clean.study_of(Path::new("out/deaths.csv")), None);

        fs::write(study.join("run"), "two\n").expect("the folder is ours");
        let dirty = Sources::of(&study.join("not/yet/there"));
        let trial = "1 file differs from the commit: studies/ages/run";
        assert_eq!((&dirty.commit, dirty.trial.as_deref()), (&clean.commit, Some(trial)));
        assert!(dirty.refuse(&study).expect("it is published there").contains("such as target"));
        assert_eq!(dirty.refuse(&place.path().join("target/trial")), None);
    }

    #[test]
    fn an_archive_within_another_repository_has_no_commit() {
        let place = checkout();
        let inner = place.path().join("vendor");
        fs::create_dir_all(inner.join("docs/reference")).expect("the folder is ours");
        fs::write(inner.join(MARK), "one\n").expect("the folder is ours");
        let sources = Sources::of(&inner.join("studies/ages"));
        assert_eq!((&sources.root, &sources.commit), (&Some(inner.clone()), &None));
        assert!(sources.refuse(&inner.join("studies/ages")).is_some());
    }
}
