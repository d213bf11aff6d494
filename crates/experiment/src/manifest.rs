//! A table in a file, with a manifest beside it that says where its numbers come from.
//!
//! Both files are made under passing names before the run, so that a folder that cannot be written
//! is found before hours are spent, and take their own names after it: there is never half a table,
//! and an old one stays until the next is whole.
//!
//! A manifest is one JSON object: `command`, `seed`, `commit` (`-dirty` if the sources differed
//! from it), `version`, `rustc`, `machine` (the name of its processor), `processors`, `wall_s`, and
//! facts of the table.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value};
use tempfile::{Builder, NamedTempFile};

/// A file of a table cannot be written. What was there before is there still.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", file.display())]
pub struct TableError {
    /// The file, or the folder it was to lie in.
    pub file: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Where a table comes from.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    command: &'a str,
    seed: u64,
    commit: &'a str,
    version: &'static str,
    rustc: String,
    machine: String,
    processors: usize,
    wall_s: f64,
    #[serde(flatten)]
    facts: &'a Map<String, Value>,
}

/// A table that is about to be made.
#[derive(Debug)]
pub struct Table {
    command: String,
    file: PathBuf,
    manifest_file: PathBuf,
    lines: NamedTempFile,
    manifest: NamedTempFile,
    seed: u64,
    commit: String,
    start: Instant,
}

impl Table {
    /// Prepares `NAME.csv` and `NAME.manifest.json` in a folder, which is made if it is not there;
    /// `command` makes the table again.
    ///
    /// # Errors
    /// [`TableError`] if they cannot be written there.
    pub fn in_folder(
        folder: &Path,
        name: &str,
        command: &str,
        seed: u64,
    ) -> Result<Self, TableError> {
        Self::at(&folder.join(format!("{name}.csv")), command, seed)
    }

    /// Prepares this file, and the manifest of the same name beside it.
    ///
    /// # Errors
    /// [`TableError`] if they cannot be written there.
    pub fn at(file: &Path, command: &str, seed: u64) -> Result<Self, TableError> {
        let manifest_file = file.with_extension("manifest.json");
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let refused = |file: &Path| {
            let file = file.to_owned();
            move |source| TableError { file, source }
        };
        fs::create_dir_all(folder).map_err(refused(folder))?;
        for taken in [file, &manifest_file] {
            if taken.is_dir() {
                return Err(refused(taken)(io::Error::from(io::ErrorKind::IsADirectory)));
            }
        }
        let passing = || {
            let permissions = Permissions::from_mode(0o666); // less what the umask takes
            Builder::new().permissions(permissions).tempfile_in(folder).map_err(refused(folder))
        };
        Ok(Self {
            command: command.to_owned(),
            lines: passing()?,
            manifest: passing()?,
            file: file.to_owned(),
            manifest_file,
            seed,
            // Before the run: the sources may change while it lasts.
            commit: said_by("git", &["describe", "--always", "--dirty", "--abbrev=40"]),
            start: Instant::now(),
        })
    }

    /// Writes the table and its manifest, with `facts` of the table's own.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn write(self, table: &str, facts: &Map<String, Value>) -> Result<(), TableError> {
        let manifest = Manifest {
            command: &self.command,
            seed: self.seed,
            commit: &self.commit,
            version: env!("CARGO_PKG_VERSION"),
            rustc: said_by("rustc", &["--version"]),
            machine: processor_name(),
            processors: thread::available_parallelism().map_or(1, usize::from),
            wall_s: self.start.elapsed().as_secs_f64(),
            facts,
        };
        let manifest = serde_json::to_string_pretty(&manifest).map(|text| text + "\n");
        let manifest = manifest.map_err(io::Error::from);
        persist(self.lines, table, &self.file)
            .and_then(|()| persist(self.manifest, &manifest?, &self.manifest_file))
            .map_err(|source| TableError { file: self.file, source })
    }
}

fn persist(mut passing: NamedTempFile, text: &str, file: &Path) -> io::Result<()> {
    passing.write_all(text.as_bytes())?;
    passing.persist(file)?;
    Ok(())
}

/// The command line of this process, with `program` for its path.
pub fn command_line(program: &str) -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell would read it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=%:,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What a program prints, or `unknown`.
fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let said = output.ok().filter(|output| output.status.success());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    said.unwrap_or_else(|| "unknown".to_owned())
}

/// The name the kernel gives the processor, or `unknown`.
fn processor_name() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown".to_owned(), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_its_manifest_appear_together_and_leave_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let inner = folder.path().join("results/of");
        let table = Table::in_folder(&inner, "ages", "make ages", 7).expect("the folder is ours");
        assert!(!inner.join("ages.csv").exists());
        let facts = Map::from_iter([("runs".to_owned(), Value::from(3))]);
        table.write("a,b\n1,2\n", &facts).expect("the folder is ours");
        let text = fs::read_to_string(inner.join("ages.manifest.json")).expect("it is there");
        let manifest: Value = serde_json::from_str(&text).expect("one JSON object");
        assert_eq!((&manifest["seed"], &manifest["runs"]), (&Value::from(7), &Value::from(3)));
        assert_eq!(manifest["command"], "make ages");
        assert_eq!(fs::read_dir(&inner).expect("it is there").count(), 2);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("ages.csv");
        fs::create_dir(&file).expect("the folder is ours");
        let refused = Table::at(&file, "make ages", 1).expect_err("a folder is in its place");
        assert!(refused.to_string().contains("ages.csv: "), "{refused}");
        let refused = Table::in_folder(Path::new("/proc/none"), "ages", "make ages", 1);
        let refused = refused.expect_err("no folder can be made there");
        assert!(refused.to_string().contains("/proc/none: "), "{refused}");
        assert!(command_line("tidings").starts_with("tidings"));
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("--window=20%"), "--window=20%");
        assert_eq!(quoted("my results"), "'my results'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
