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
use serde::Serialize;

use crate::record::{Heading, Record, SCHEMA};
use crate::{Campaign, LabError};

/// The journal's name in a campaign's folder.
pub const RUNS: &str = "runs.jsonl";
/// The campaign file's copy beside it.
pub const CAMPAIGN: &str = "campaign.toml";

/// A journal, open for further runs.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
    heading: Heading,
}

impl Journal {
    /// Opens the journal of a campaign in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`LabError::Journal`] if it is of another campaign, in use or damaged;
    /// [`LabError::Unwritable`].
    pub fn open(folder: &Path, campaign: &Campaign) -> Result<Self, LabError> {
        let path = folder.join(RUNS);
        let unwritable = |source| LabError::Unwritable { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(unwritable)?;
        let mut open = OpenOptions::new();
        let file = open.read(true).append(true).create(true).open(&path).map_err(unwritable)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let reason = "another process runs this campaign: wait for it, or end it";
            return Err(LabError::Journal { path, reason: reason.to_owned() });
        }
        let text = fs::read(&path).map_err(unwritable)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(unwritable)?;
        if whole == 0 {
            return Self::begin(path, file, campaign);
        }
        let (heading, records) = parse(&path, &text[..whole])?;
        if heading.digest != campaign.digest {
            let reason = format!(
                "it belongs to another text of campaign {}, kept in {CAMPAIGN} beside it: name \
                 another folder with --output, or put the old text back",
                heading.campaign
            );
            return Err(LabError::Journal { path, reason });
        }
        Ok(Self { path, file, records, heading })
    }

    fn begin(path: PathBuf, file: File, campaign: &Campaign) -> Result<Self, LabError> {
        let copy = path.with_file_name(CAMPAIGN);
        let written = fs::write(&copy, &campaign.text);
        written.map_err(|source| LabError::Unwritable { path: copy, source })?;
        let heading = Heading {
            schema: SCHEMA.to_owned(),
            campaign: campaign.name.clone(),
            digest: campaign.digest.clone(),
            begun: now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
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
    /// [`LabError::Unwritable`]; the records before are kept.
    pub fn keep(&mut self, record: Record) -> Result<(), LabError> {
        self.append(&record)?;
        self.records.push(record);
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), LabError> {
        let text = serde_json::to_string(line).map_err(io::Error::from);
        let written = text.and_then(|text| {
            self.file.write_all((text + "\n").as_bytes())?;
            self.file.sync_data()
        });
        written.map_err(|source| LabError::Unwritable { path: self.path.clone(), source })
    }
}

/// Reads the journal of a folder without opening it for more; a torn last line is passed over.
///
/// # Errors
/// [`LabError::Unreadable`] or [`LabError::Journal`].
pub fn read(folder: &Path) -> Result<(Heading, Vec<Record>), LabError> {
    let path = folder.join(RUNS);
    let text =
        fs::read(&path).map_err(|source| LabError::Unreadable { path: path.clone(), source })?;
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    parse(&path, &text[..whole])
}

fn parse(path: &Path, text: &[u8]) -> Result<(Heading, Vec<Record>), LabError> {
    let damaged = |line: usize, reason: &str| LabError::Journal {
        path: path.to_owned(),
        reason: format!("line {line}: {reason}: move the file away, or take a copy of it"),
    };
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let heading = lines.next().ok_or_else(|| damaged(1, "it is empty"))?;
    let heading: Heading = serde_json::from_slice(heading)
        .map_err(|error| damaged(1, &format!("no heading of a campaign ({error})")))?;
    if heading.schema != SCHEMA {
        return Err(damaged(1, &format!("schema {}, this tidings reads {SCHEMA}", heading.schema)));
    }
    let records = lines.enumerate().map(|(at, line)| {
        serde_json::from_slice(line).map_err(|error| damaged(at + 2, &format!("no run ({error})")))
    });
    Ok((heading, records.collect::<Result<_, _>>()?))
}

/// The time as a journal has it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Doing;
    use crate::campaign::tests::{LOCAL, campaign_of, small};
    use crate::record::tests::record;

    #[test]
    fn what_was_kept_is_there_again_and_a_torn_line_is_cut_off() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let campaign = small(20);
        let mut journal = Journal::open(folder.path(), &campaign).expect("a fresh folder");
        for index in 0..3 {
            let record = record(index, 1, Doing::Asleep, 1.0);
            journal.keep(record).expect("there is room");
        }
        drop(journal);
        let path = folder.path().join(RUNS);
        let mut text = fs::read(&path).expect("it is there");
        let whole = text.len();
        text.truncate(whole - 7);
        fs::write(&path, &text).expect("ours");
        assert_eq!(read(folder.path()).expect("two whole lines").1.len(), 2);
        let mut journal = Journal::open(folder.path(), &campaign).expect("it goes on");
        assert_eq!(journal.records().len(), 2);
        journal.keep(record(2, 1, Doing::Asleep, 1.0)).expect("there is room");
        assert_eq!(fs::read(&path).expect("it is there").len(), whole);
    }

    #[test]
    fn one_process_at_a_time_and_one_campaign_only() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let journal = Journal::open(folder.path(), &small(20)).expect("a fresh folder");
        let refused = Journal::open(folder.path(), &small(20)).expect_err("it is in use");
        assert!(refused.to_string().contains("another process"), "{refused}");
        drop(journal);
        let other = campaign_of(&LOCAL.replace("seed = 1", "seed = 2"));
        let refused = Journal::open(folder.path(), &other).expect_err("another campaign's");
        assert!(refused.to_string().contains("--output"), "{refused}");
        assert_eq!(refused.exit_code(), 2);
    }

    #[test]
    fn a_damaged_journal_is_named_by_line_and_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        drop(Journal::open(folder.path(), &small(20)).expect("a fresh folder"));
        let path = folder.path().join(RUNS);
        let text = fs::read_to_string(&path).expect("it is there") + "{\"index\": 3}\n";
        fs::write(&path, &text).expect("ours");
        let refused = Journal::open(folder.path(), &small(20)).expect_err("not a run");
        assert!(refused.to_string().contains("line 2"), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
    }
}
