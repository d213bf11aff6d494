//! An experiment from its first missing run to its last.
//!
//! What is measured is in the journal before the next run starts; whatever ends an experiment, the
//! same command goes on where it ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ExperimentError;
use crate::journal::{self, Journal, Subject};
use crate::outcome::Outcome;
use crate::place;
use crate::run::{End, Launch, Seen};
use crate::scheduling::Scheduling;

/// What a failed run means for the campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It stops, and tries that run again when it goes on.
    #[default]
    Stop,
    /// The failure is a result.
    GoOn,
}

/// Who watches an experiment.
pub trait Watcher {
    /// So many of all runs are done; the next is this.
    fn progress(&mut self, done: usize, all: usize, next: &str);
    /// Something that a person should know.
    fn say(&mut self, text: &str);
    /// The signal that asks for an end, if one came.
    fn stopped(&self) -> Option<i32>;
}

/// A record of a run, as far as a journal has to know it.
pub trait Noted {
    /// Its place in the plan.
    fn index(&self) -> u32;
    /// How it ended.
    fn outcome(&self) -> Outcome;
    /// What went wrong, if anything did.
    fn message(&self) -> &str;
}

/// An experiment: what its runs are, and how one of them is made.
pub trait Experiment {
    /// What is kept of a run.
    type Record: Noted + Clone + Serialize + DeserializeOwned;

    /// What its journal is of.
    fn subject(&self) -> Subject<'_>;
    /// The runs that are to be made, by their places in the plan.
    fn runs(&self) -> Vec<u32>;
    /// What a run is, for people.
    fn label(&self, index: u32) -> String;
    /// What a failed run means.
    fn on_failure(&self) -> OnFailure;
    /// Whether runs of the journal that failed are made again.
    fn repeats_failed(&self) -> bool {
        self.on_failure() == OnFailure::Stop
    }
    /// How long a launcher may take to end, if longer than usual.
    fn farewell(&self) -> Option<Duration>;
    /// Whether there is time for a run, after these.
    fn has_time_for(&self, _index: u32, _records: &[Self::Record]) -> bool {
        true
    }
    /// Makes a run in this folder; `None` if the experiment is to stop: at a signal, or because its
    /// time is over.
    ///
    /// # Errors
    /// What keeps it from being made; a run that fails is none.
    fn measure(
        &self,
        index: u32,
        folder: &Path,
        watcher: &dyn Watcher,
    ) -> Result<Option<Self::Record>, ExperimentError>;
}

/// Makes all runs of an experiment that its journal in a folder lacks, as far as it has time for
/// them; all records.
///
/// # Errors
/// [`ExperimentError`]; what was measured before is in the journal.
pub fn conduct<E: Experiment>(
    experiment: &E,
    folder: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Vec<E::Record>, ExperimentError> {
    let mut journal = Journal::open(folder, &experiment.subject())?;
    clear(folder, experiment.farewell(), watcher)?;
    let runs = experiment.runs();
    let records = journal.records().iter();
    let done: BTreeMap<u32, Outcome> =
        records.map(|record: &E::Record| (record.index(), record.outcome())).collect();
    let is_missing = |index: &&u32| match done.get(index) {
        None => true,
        Some(Outcome::Ok) => false,
        Some(_) => experiment.repeats_failed(),
    };
    let missing: Vec<&u32> = runs.iter().filter(is_missing).collect();
    let before = runs.len() - missing.len();
    if before > 0 {
        watcher.say(&format!("{before} of {} runs are done: going on", runs.len()));
    }
    for (at, &index) in missing.into_iter().enumerate() {
        if !experiment.has_time_for(index, journal.records()) {
            return Ok(journal.records().to_vec());
        }
        watcher.progress(before + at, runs.len(), &experiment.label(index));
        let Some(record) = experiment.measure(index, folder, watcher)? else {
            let Some(signal) = watcher.stopped() else { return Ok(journal.records().to_vec()) };
            return Err(ExperimentError::Stopped { done: before + at, all: runs.len(), signal });
        };
        keep(experiment, &mut journal, record, watcher)?;
    }
    watcher.progress(runs.len(), runs.len(), "");
    Ok(journal.records().to_vec())
}

/// Clears away what was left by a lab that was killed: the journal's lock says that none lives.
fn clear(
    folder: &Path,
    farewell: Option<Duration>,
    watcher: &mut dyn Watcher,
) -> Result<(), ExperimentError> {
    let unwritable = |source| ExperimentError::Unwritable { path: folder.to_owned(), source };
    let whole = fs::canonicalize(folder).map_err(unwritable)?;
    for left in place::clear(&whole, farewell).map_err(unwritable)? {
        let (path, ended) = (left.path.display(), left.ended);
        watcher.say(&match left.refused {
            None => format!(
                "removed {path}, left by a lab that was killed, and ended {ended} of its processes"
            ),
            Some(reason) => format!(
                "{path}, left by a lab that was killed, cannot be removed: {reason}: remove it"
            ),
        });
    }
    Ok(())
}

/// Keeps a record; a failure is reported, and ends an experiment that stops then.
fn keep<E: Experiment>(
    experiment: &E,
    journal: &mut Journal<E::Record>,
    record: E::Record,
    watcher: &mut dyn Watcher,
) -> Result<(), ExperimentError> {
    let (index, outcome) = (record.index(), record.outcome());
    let (what, reason) = (experiment.label(index), record.message().to_owned());
    journal.keep(record)?;
    match (outcome, experiment.on_failure()) {
        (Outcome::Ok, _) => Ok(()),
        (_, OnFailure::GoOn) => {
            watcher.say(&format!("run {index} ({what}) {reason}"));
            Ok(())
        }
        (_, OnFailure::Stop) => {
            let journal = journal.path().to_owned();
            Err(ExperimentError::Run { index, what, reason, journal })
        }
    }
}

/// How a run is made, whatever is read of it then.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How its processes are scheduled.
    pub scheduling: Scheduling,
    /// How long it may take before it is ended, in seconds.
    pub limit_s: f64,
}

impl Manner {
    /// Makes a run in a directory of its own below a folder, which `prepare` fills and `read`
    /// reads, and removes that directory; `None` if the experiment is to stop. `read` is handed
    /// when the run was started (UTC).
    ///
    /// # Errors
    /// What `prepare` says, and what keeps the run from being started.
    pub fn make<T>(
        self,
        folder: &Path,
        watcher: &dyn Watcher,
        prepare: impl FnOnce(&Path) -> Result<Launch, ExperimentError>,
        read: impl FnOnce(String, &Seen, &Path) -> T,
    ) -> Result<Option<T>, ExperimentError> {
        if watcher.stopped().is_some() {
            return Ok(None);
        }
        let unwritable = |source| ExperimentError::Unwritable { path: folder.to_owned(), source };
        let folder = fs::canonicalize(folder).map_err(unwritable)?;
        let place = place::make(&folder).map_err(unwritable)?;
        let launch = prepare(place.path())?;
        let started = journal::now();
        let limit = Duration::from_secs_f64(self.limit_s);
        let seen = launch.run(self.scheduling, limit, &|| watcher.stopped().is_some());
        let seen = seen.map_err(|error| {
            let program = launch.words.first().map_or("", String::as_str);
            ExperimentError::Program(format!("{program}: {error}"))
        })?;
        if matches!(seen.end, End::Stopped) {
            return Ok(None);
        }
        Ok(Some(read(started, &seen, place.path())))
    }
}
