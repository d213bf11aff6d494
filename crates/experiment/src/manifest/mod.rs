//! A table in a file, with a manifest beside it that says where its numbers come from.
//!
//! A table is announced before the run: both files are made under passing names, so that a folder
//! that cannot be written is found before hours are spent, and so is a table that would be
//! published from sources that no commit holds. They take their own names after the run: there is
//! never half a table, and an old one stays until the next is whole.
//!
//! docs/reference/manifest.md describes the manifest, `form` is its shape. The writer of the
//! studies in Python is studies/drawing/manifest.py; tests/manifests holds both to one form.

mod command;
mod form;
mod machine;
mod paths;
mod sources;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tempfile::{Builder, NamedTempFile};

pub use command::command_line;
pub use form::{FormError, Input, Machine, Manifest, Run, SCHEMA, Seed};
pub use machine::first_line;
pub(crate) use sources::Sources;

/// The compiler that built this program, in its own words; the machine may have another one, or
/// none.
const COMPILER: &str = env!("TIDINGS_RUSTC");

/// A table cannot be written where it was to be. What was there before is there still.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The system refuses a file.
    #[error("{}: {source}", file.display())]
    File {
        /// The file, or the folder it was to lie in.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The table would be published, and nobody could make it again.
    #[error("{}: {reason}", file.display())]
    Sources {
        /// The table.
        file: PathBuf,
        /// What is wrong with the sources, and the remedy.
        reason: String,
    },
}

/// A table that is about to be made.
#[derive(Debug)]
pub struct Table {
    file: PathBuf,
    manifest_file: PathBuf,
    lines: NamedTempFile,
    manifest: NamedTempFile,
    run: Run,
    start: Instant,
}

impl Table {
    /// Prepares `NAME.csv` and `NAME.manifest.json` in a folder, which is made if it is not there;
    /// `command` makes the table again, with this seed of chance if it has any.
    ///
    /// # Errors
    /// [`TableError`] if they cannot or may not be written there.
    pub fn in_folder(
        folder: &Path,
        name: &str,
        command: &str,
        seed: Option<Seed>,
    ) -> Result<Self, TableError> {
        Self::at(&folder.join(format!("{name}.csv")), command, seed)
    }

    /// Prepares this file, and the manifest of the same name beside it.
    ///
    /// # Errors
    /// [`TableError`] if they cannot or may not be written there.
    pub fn at(file: &Path, command: &str, seed: Option<Seed>) -> Result<Self, TableError> {
        let refused = |file: &Path| {
            let file = file.to_owned();
            move |source| TableError::File { file, source }
        };
        let file = std::path::absolute(file).map_err(refused(file))?;
        let manifest_file = file.with_extension("manifest.json");
        let folder = file.parent().unwrap_or(Path::new("/"));
        // Before the run: the sources may change while it lasts.
        let sources = Sources::of(folder);
        if let Some(reason) = sources.refuse(folder) {
            return Err(TableError::Sources { file, reason });
        }
        fs::create_dir_all(folder).map_err(refused(folder))?;
        for taken in [&file, &manifest_file] {
            if taken.is_dir() {
                return Err(refused(taken)(io::Error::from(io::ErrorKind::IsADirectory)));
            }
        }
        let passing = || {
            let permissions = Permissions::from_mode(0o666); // less what the umask takes
            Builder::new().permissions(permissions).tempfile_in(folder).map_err(refused(folder))
        };
        Ok(Self {
            lines: passing()?,
            manifest: passing()?,
            run: run_from_now(command, seed, &sources, &file),
            manifest_file,
            file,
            start: Instant::now(),
        })
    }

    /// Names the version of a further program that the numbers depend on.
    pub fn version(&mut self, program: &str, version: String) {
        self.run.versions.insert(program.to_owned(), version);
    }

    /// Writes the table and its manifest, with `facts` of the table's own.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn write(mut self, table: &str, facts: &Map<String, Value>) -> Result<(), TableError> {
        self.run.wall_s = Some((self.start.elapsed().as_secs_f64() * 1e3).round() / 1e3);
        let manifest = Manifest {
            schema: SCHEMA,
            table_sha256: digest(table.as_bytes()),
            runs: vec![self.run],
            facts: facts.clone(),
        };
        let manifest = serde_json::to_string_pretty(&manifest).map(|text| text + "\n");
        let manifest = manifest.map_err(io::Error::from);
        persist(self.lines, table, &self.file)
            .and_then(|()| persist(self.manifest, &manifest?, &self.manifest_file))
            .map_err(|source| TableError::File { file: self.file, source })
    }
}

/// A run that begins now.
fn run_from_now(command: &str, seed: Option<Seed>, sources: &Sources, file: &Path) -> Run {
    let study = sources.study_of(file);
    let places = command::Places {
        root: sources.root.as_deref(),
        output: file.parent().unwrap_or(Path::new("/")),
        study: study.as_deref(),
    };
    Run {
        command: command::normalised(command, &places),
        seed,
        commit: sources.commit.clone(),
        trial: sources.trial.clone(),
        date: Some(humantime::format_rfc3339_seconds(SystemTime::now()).to_string()),
        machine: machine::this(),
        versions: BTreeMap::from([
            ("tidings".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("rustc".to_owned(), COMPILER.to_owned()),
        ]),
        wall_s: None,
        inputs: Vec::new(),
        facts: Map::new(),
    }
}

/// The SHA-256 of a file's bytes, as manifests have it.
pub fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn persist(mut passing: NamedTempFile, text: &str, file: &Path) -> io::Result<()> {
    passing.write_all(text.as_bytes())?;
    passing.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_its_manifest_appear_together_and_leave_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let inner = folder.path().join("results/of");
        let command = format!("tidings sim ages --output {}", inner.display());
        let table = Table::in_folder(&inner, "ages", &command, Some(Seed::One(7)));
        let mut table = table.expect("the folder is ours");
        table.version("go", "go1.26".to_owned());
        assert!(!inner.join("ages.csv").exists());
        let facts = Map::from_iter([("runs".to_owned(), Value::from(3))]);
        table.write("a,b\n1,2\n", &facts).expect("the folder is ours");
        let text = fs::read_to_string(inner.join("ages.manifest.json")).expect("it is there");
        let manifest = Manifest::parse(&text).expect("it has the form");
        assert_eq!((&manifest.facts, manifest.table_sha256), (&facts, digest(b"a,b\n1,2\n")));
        let [run] = &*manifest.runs else { panic!("one run: {text}") };
        assert_eq!((&run.seed, &*run.versions["go"]), (&Some(Seed::One(7)), "go1.26"));
        assert!(run.date.is_some() && run.wall_s.is_some(), "{text}");
        assert!(run.versions["rustc"].starts_with("rustc 1."), "the compiler's own words: {text}");
        assert_eq!(fs::read_dir(&inner).expect("it is there").count(), 2);
    }

    #[test]
    fn a_published_table_is_of_a_commit() {
        let place = sources::tests::checkout();
        let folder = place.path().join("studies/ages");
        let table = || Table::in_folder(&folder, "ages", "tidings sim ages", None);
        table().expect("nothing differs").write("a\n", &Map::new()).expect("the folder is ours");
        let text = fs::read_to_string(folder.join("ages.manifest.json")).expect("it is there");
        let manifest = Manifest::parse(&text).expect("it has the form");
        assert!(manifest.runs[0].commit.is_some() && manifest.runs[0].trial.is_none(), "{text}");
        fs::write(folder.join("run"), "two\n").expect("the folder is ours");
        let refused = table().expect_err("a source differs").to_string();
        assert!(refused.contains("1 file differs from the commit: studies/ages/run"), "{refused}");
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 4, "nothing was left");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("ages.csv");
        fs::create_dir(&file).expect("the folder is ours");
        let refused = Table::at(&file, "make ages", None).expect_err("a folder is in its place");
        assert!(refused.to_string().contains("ages.csv: "), "{refused}");
        let refused = Table::in_folder(Path::new("/proc/none"), "ages", "make ages", None);
        let refused = refused.expect_err("no folder can be made there");
        assert!(refused.to_string().contains("/proc/none: "), "{refused}");
    }
}
