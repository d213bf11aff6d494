//! The journal of a campaign: a line for each run, on disk before the next run starts.
//!
//! A campaign may be interrupted anywhere, by a signal, a full disk or a power cut. What is left is
//! whole lines and at most one torn one at the end, which is cut off when the campaign goes on.
//!
//! Invariants: a journal belongs to one campaign file, by its digest; one process at a time writes
//! it (a lock on the file); lines that were written are never changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ExperimentError;
use crate::manifest::Sources;

/// The journal's name in a campaign's folder.
pub const RUNS: &str = "runs.jsonl";
/// The campaign file's copy beside it.
pub const CAMPAIGN: &str = "campaign.toml";

/// The first line of a journal: whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// The version of the schema.
    pub schema: String,
    /// The campaign's name.
    pub campaign: String,
    /// SHA-256 of its file.
    pub digest: String,
    /// When it was begun.
    pub begun: String,
    /// The version of tidings.
    pub version: String,
    /// The commit of the sources, where they are a checkout of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What of the sources differed from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
}

/// What a journal is of.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The version of its schema: what its lines are.
    pub schema: &'a str,
    /// The campaign's name.
    pub campaign: &'a str,
    /// SHA-256 of the campaign's text.
    pub digest: &'a str,
    /// The campaign's text.
    pub text: &'a str,
}

/// The journal's file, which one process at a time has open for writing.
///
/// The lock is given back in words: a program that another thread is about to start has a copy of
/// the file until it is executed, and the copy would keep the lock for as long.
#[derive(Debug)]
struct Locked(File);

impl Locked {
    /// The file, if no other process has it.
    fn of(file: File) -> Option<Self> {
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        locked.is_ok().then_some(Self(file))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Without it the lock goes with the last copy of the file.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// A journal, open for further runs, each of which has a record of this kind.
#[derive(Debug)]
pub struct Journal<Record> {
    path: PathBuf,
    file: Locked,
    records: Vec<Record>,
    heading: Heading,
}

impl<Record: Serialize + DeserializeOwned> Journal<Record> {
    /// Opens the journal of a campaign in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`ExperimentError::Journal`] if it is of another campaign, in use or damaged;
    /// [`ExperimentError::Unwritable`].
    pub fn open(folder: &Path, subject: &Subject<'_>) -> Result<Self, ExperimentError> {
        let path = folder.join(RUNS);
        let unwritable = |source| ExperimentError::Unwritable { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(unwritable)?;
        let mut open = OpenOptions::new();
        let file = open.read(true).append(true).create(true).open(&path).map_err(unwritable)?;
        let Some(file) = Locked::of(file) else {
            let reason = "another process runs this campaign: wait for it, or end it";
            return Err(ExperimentError::Journal { path, reason: reason.to_owned() });
        };
        let text = fs::read(&path).map_err(unwritable)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        file.0.set_len(whole as u64).map_err(unwritable)?;
        if whole == 0 {
            return Self::begin(path, file, subject);
        }
        let (heading, records) = parse(&path, &text[..whole], subject.schema)?;
        if heading.digest != subject.digest {
            let reason = format!(
                "it belongs to another text of campaign {}, kept in {CAMPAIGN} beside it: name \
                 another folder with --output, or put the old text back",
                heading.campaign
            );
            return Err(ExperimentError::Journal { path, reason });
        }
        if let Some(reason) = other_sources(&heading, &Sources::of(folder)) {
            return Err(ExperimentError::Journal { path, reason });
        }
        Ok(Self { path, file, records, heading })
    }

    fn begin(path: PathBuf, file: Locked, subject: &Subject<'_>) -> Result<Self, ExperimentError> {
        let copy = path.with_file_name(CAMPAIGN);
        let written = fs::write(&copy, subject.text);
        written.map_err(|source| ExperimentError::Unwritable { path: copy, source })?;
        let sources = Sources::of(path.parent().unwrap_or(Path::new("/")));
        let heading = Heading {
            schema: subject.schema.to_owned(),
            campaign: subject.campaign.to_owned(),
            digest: subject.digest.to_owned(),
            begun: now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            trial: sources.trial.filter(|_| sources.commit.is_some()),
            commit: sources.commit,
        };
        let mut journal = Self { path, file, records: Vec::new(), heading };
        let heading = journal.heading.clone();
        journal.append(&heading)?;
        Ok(journal)
    }

    /// The records so far, in the order in which they were made.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What its first line says.
    pub fn heading(&self) -> &Heading {
        &self.heading
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a record.
    ///
    /// # Errors
    /// [`ExperimentError::Unwritable`]; the records before are kept.
    pub fn keep(&mut self, record: Record) -> Result<(), ExperimentError> {
        self.append(&record)?;
        self.records.push(record);
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), ExperimentError> {
        let text = serde_json::to_string(line).map_err(io::Error::from);
        let written = text.and_then(|text| {
            self.file.0.write_all((text + "\n").as_bytes())?;
            self.file.0.sync_data()
        });
        written.map_err(|source| ExperimentError::Unwritable { path: self.path.clone(), source })
    }
}

/// Why a journal cannot go on with these sources, if it cannot: the manifest of its table would
/// name a commit that not all runs are of.
fn other_sources(heading: &Heading, now: &Sources) -> Option<String> {
    let begun = heading.commit.as_ref()?;
    let remedy = "name another folder with --output, or remove this one";
    if now.commit.as_ref() != Some(begun) {
        let now = now.commit.as_deref().unwrap_or("no commit");
        return Some(format!("it was measured at commit {begun}, and this is {now}: {remedy}"));
    }
    let trial = heading.trial.as_ref().filter(|_| now.trial.is_none())?;
    Some(format!("it was measured from sources that are no commit ({trial}): {remedy}"))
}

/// Reads the journal of a folder without opening it for more; a torn last line is passed over.
///
/// # Errors
/// [`ExperimentError::Unreadable`] or [`ExperimentError::Journal`].
pub fn read<Record: DeserializeOwned>(
    folder: &Path,
    schema: &str,
) -> Result<(Heading, Vec<Record>), ExperimentError> {
    let path = folder.join(RUNS);
    let text = fs::read(&path)
        .map_err(|source| ExperimentError::Unreadable { path: path.clone(), source })?;
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    parse(&path, &text[..whole], schema)
}

fn parse<Record: DeserializeOwned>(
    path: &Path,
    text: &[u8],
    schema: &str,
) -> Result<(Heading, Vec<Record>), ExperimentError> {
    let damaged = |line: usize, reason: &str| ExperimentError::Journal {
        path: path.to_owned(),
        reason: format!("line {line}: {reason}: move the file away, or take a copy of it"),
    };
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let heading = lines.next().ok_or_else(|| damaged(1, "it is empty"))?;
    let heading: Heading = serde_json::from_slice(heading)
        .map_err(|error| damaged(1, &format!("no heading of a campaign ({error})")))?;
    if heading.schema != schema {
        let reason = format!("schema {}, this command reads {schema}", heading.schema);
        return Err(damaged(1, &reason));
    }
    let records = lines.enumerate().map(|(at, line)| {
        serde_json::from_slice(line).map_err(|error| damaged(at + 2, &format!("no run ({error})")))
    });
    Ok((heading, records.collect::<Result<_, _>>()?))
}

/// The time as a journal has it.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

/// SHA-256 of a text, in hexadecimal digits.
pub fn digest(text: &str) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 0xf].map(|digit| char::from_digit(digit.into(), 16));
    Sha256::digest(text.as_bytes()).iter().flat_map(digits).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Subject<'_> =
        Subject { schema: "test-1", campaign: "small", digest: "1", text: "name = 1\n" };

    fn open(folder: &Path, subject: &Subject<'_>) -> Result<Journal<Vec<u32>>, ExperimentError> {
        Journal::open(folder, subject)
    }

    #[test]
    fn what_was_kept_is_there_again_and_a_torn_line_is_cut_off() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut journal = open(folder.path(), &OWN).expect("a fresh folder");
        for index in 0..3 {
            journal.keep(vec![index, 1]).expect("there is room");
        }
        drop(journal);
        let path = folder.path().join(RUNS);
        let mut text = fs::read(&path).expect("it is there");
        let whole = text.len();
        text.truncate(whole - 3);
        fs::write(&path, &text).expect("ours");
        let (heading, records) = read::<Vec<u32>>(folder.path(), "test-1").expect("whole lines");
        assert_eq!((heading.campaign.as_str(), records.len()), ("small", 2));
        let mut journal = open(folder.path(), &OWN).expect("it goes on");
        assert_eq!(journal.records().len(), 2);
        journal.keep(vec![2, 1]).expect("there is room");
        assert_eq!(fs::read(&path).expect("it is there").len(), whole);
        assert_eq!(fs::read_to_string(folder.path().join(CAMPAIGN)).expect("ours"), OWN.text);
    }

    /// Tests that ran beside others found a journal in use that they had just closed: a program
    /// was being started, with copies of all files of this process.
    #[test]
    fn a_closed_journal_is_free_although_a_copy_of_its_file_is_open() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let journal = open(folder.path(), &OWN).expect("a fresh folder");
        let copy = journal.file.0.try_clone().expect("a copy");
        drop(journal);
        open(folder.path(), &OWN).expect("it is closed");
        drop(copy);
    }

    #[test]
    fn one_process_at_a_time_and_one_campaign_only() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let journal = open(folder.path(), &OWN).expect("a fresh folder");
        let refused = open(folder.path(), &OWN).expect_err("it is in use");
        assert!(refused.to_string().contains("another process"), "{refused}");
        drop(journal);
        let other = Subject { digest: "2", ..OWN };
        let refused = open(folder.path(), &other).expect_err("another campaign's");
        assert!(refused.to_string().contains("--output"), "{refused}");
        assert_eq!(refused.exit_code(), 2);
        let other = Subject { schema: "test-2", ..OWN };
        let refused = open(folder.path(), &other).expect_err("of another kind");
        assert!(refused.to_string().contains("test-2"), "{refused}");
    }

    #[test]
    fn a_journal_goes_on_only_with_its_sources() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        drop(open(folder.path(), &OWN).expect("a fresh folder"));
        let (begun, _) = read::<Vec<u32>>(folder.path(), "test-1").expect("its heading");
        let sources = |commit: Option<&str>, trial: Option<&str>| Sources {
            root: None,
            commit: commit.map(str::to_owned),
            trial: trial.map(str::to_owned),
        };
        let heading = |commit: Option<&str>, trial: Option<&str>| {
            let Sources { commit, trial, .. } = sources(commit, trial);
            Heading { commit, trial, ..begun.clone() }
        };
        for (then, now, refused) in [
            ((Some("a"), None), (Some("a"), None), None),
            ((Some("a"), None), (Some("a"), Some("1 file")), None),
            ((Some("a"), Some("1 file")), (Some("a"), Some("2 files")), None),
            ((Some("a"), Some("1 file")), (Some("a"), None), Some("no commit (1 file)")),
            ((Some("a"), None), (Some("b"), None), Some("at commit a, and this is b")),
            ((Some("a"), None), (None, Some("none")), Some("this is no commit")),
            ((None, None), (Some("b"), None), None),
        ] {
            let said = other_sources(&heading(then.0, then.1), &sources(now.0, now.1));
            assert_eq!(said.is_some(), refused.is_some(), "{then:?} {now:?}: {said:?}");
            let said = said.unwrap_or_default();
            assert!(said.contains(refused.unwrap_or_default()), "{then:?} {now:?}: {said}");
        }
    }

    #[test]
    fn a_damaged_journal_is_named_by_line_and_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        drop(open(folder.path(), &OWN).expect("a fresh folder"));
        let path = folder.path().join(RUNS);
        let text = fs::read_to_string(&path).expect("it is there") + "{\"index\": 3}\n";
        fs::write(&path, &text).expect("ours");
        let refused = open(folder.path(), &OWN).expect_err("not a run");
        assert!(refused.to_string().contains("line 2"), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
    }
}
