//! A campaign from its first missing run to its last.
//!
//! What is measured is in the journal before the next run starts; whatever ends a campaign, the
//! same command goes on where it ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::application::{self, object_in};
use crate::backend::{REPORT, Stage, TIMES};
use crate::campaign::{OnFailure, Reading};
use crate::journal::{self, Journal};
use crate::record::{Outcome, Record};
use crate::schedule::{Planned, plan};
use crate::{Campaign, LabError};
use tidings_experiment::place;
use tidings_experiment::run::{self, End, Seen};

/// Who watches a campaign.
pub trait Watcher {
    /// So many of all runs are done; the next is of this arm.
    fn progress(&mut self, done: usize, all: usize, next: &str);
    /// Something that a person should know.
    fn say(&mut self, text: &str);
    /// The signal that asks for an end, if one came.
    fn stopped(&self) -> Option<i32>;
}

/// Makes all runs of a campaign that its journal lacks.
///
/// # Errors
/// [`LabError`]; what was measured before is in the journal.
pub fn run(
    campaign: &Campaign,
    folder: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Record>, LabError> {
    let stage = Stage::prepare(campaign)?;
    let mut journal = Journal::open(folder, campaign)?;
    clear(folder, stage.farewell(), watcher)?;
    let plan = plan(campaign);
    let done: BTreeMap<u32, Outcome> =
        journal.records().iter().map(|record| (record.index, record.outcome)).collect();
    let is_missing = |planned: &&Planned| match done.get(&planned.index) {
        None => true,
        Some(Outcome::Ok) => false,
        Some(_) => campaign.on_failure == OnFailure::Stop,
    };
    let missing: Vec<&Planned> = plan.iter().filter(is_missing).collect();
    let before = plan.len() - missing.len();
    if before > 0 {
        watcher.say(&format!("{before} of {} runs are done: going on", plan.len()));
    }
    for (at, planned) in missing.into_iter().enumerate() {
        let doing = planned.doing(campaign).to_string();
        watcher.progress(before + at, plan.len(), &doing);
        let Some(record) = measure(campaign, &stage, planned, folder, watcher)? else {
            let signal = watcher.stopped().unwrap_or(0);
            return Err(LabError::Stopped { done: before + at, all: plan.len(), signal });
        };
        keep(campaign, &mut journal, record, watcher)?;
    }
    watcher.progress(plan.len(), plan.len(), "");
    Ok(journal.records().to_vec())
}

/// Clears away what was left by a lab that was killed: the journal's lock says that none lives.
fn clear(
    folder: &Path,
    farewell: Option<Duration>,
    watcher: &mut dyn Watcher,
) -> Result<(), LabError> {
    let unwritable = |source| LabError::Unwritable { path: folder.to_owned(), source };
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

/// Keeps a record; a failure is told, and ends a campaign that stops then.
fn keep(
    campaign: &Campaign,
    journal: &mut Journal,
    record: Record,
    watcher: &mut dyn Watcher,
) -> Result<(), LabError> {
    let (index, arm) = (record.index, format!("{}, {}", record.application, record.doing));
    let failure = (record.outcome != Outcome::Ok).then(|| record.message.clone());
    journal.keep(record)?;
    let Some(reason) = failure else { return Ok(()) };
    let reason = reason.unwrap_or_default();
    match campaign.on_failure {
        OnFailure::GoOn => watcher.say(&format!("run {index} ({arm}) {reason}")),
        OnFailure::Stop => {
            let journal = journal.path().to_owned();
            return Err(LabError::Run { index, arm, reason, journal });
        }
    }
    Ok(())
}

/// Makes one run; `None` if the campaign is to stop.
fn measure(
    campaign: &Campaign,
    stage: &Stage<'_>,
    planned: &Planned,
    folder: &Path,
    watcher: &dyn Watcher,
) -> Result<Option<Record>, LabError> {
    if watcher.stopped().is_some() {
        return Ok(None);
    }
    let unwritable = |source| LabError::Unwritable { path: folder.to_owned(), source };
    let folder = fs::canonicalize(folder).map_err(unwritable)?;
    let place = place::make(&folder).map_err(unwritable)?;
    let application = &campaign.applications[planned.application];
    for (name, source) in &application.files {
        let to = place.path().join(name);
        let folder = to.parent().unwrap_or(place.path());
        fs::create_dir_all(folder).and_then(|()| fs::copy(source, &to)).map_err(unwritable)?;
    }
    let launch = stage.launch(planned, place.path())?;
    let started = journal::now();
    let limit = Duration::from_secs_f64(campaign.limit_s);
    let seen = launch.run(campaign.scheduling, limit, &|| watcher.stopped().is_some());
    let seen = seen.map_err(|error| {
        let program = launch.words.first().map_or("", String::as_str);
        LabError::Program(format!("{program}: {error}"))
    })?;
    if matches!(seen.end, End::Stopped) {
        return Ok(None);
    }
    Ok(Some(record(campaign, planned, started, &seen, place.path())))
}

/// What came out of a run.
fn record(
    campaign: &Campaign,
    planned: &Planned,
    started: String,
    seen: &Seen,
    directory: &Path,
) -> Record {
    use crate::schedule::Role;

    let application = &campaign.applications[planned.application];
    let doing = planned.doing(campaign);
    let (ranks, hidden) = campaign.ranks(planned.nodes, doing);
    let times = object_in(&directory.join(TIMES));
    let mut record = Record {
        index: planned.index,
        lap: planned.lap,
        application: application.name.clone(),
        nodes: planned.nodes,
        ranks,
        hidden,
        doing: doing.clone(),
        baseline: planned.role <= Role::Again,
        again: planned.role == Role::Again,
        seed: planned.seed,
        started,
        outcome: Outcome::Ok,
        exit_code: None,
        message: None,
        seconds: None,
        phases: BTreeMap::new(),
        figures: BTreeMap::new(),
        wall_s: seen.wall_s,
        disturbance: seen.disturbance,
        times,
        gossip: object_in(&directory.join(REPORT)),
    };
    judge(&mut record, campaign, seen, directory);
    if record.outcome == Outcome::Ok {
        read_numbers(&mut record, campaign, planned, directory);
    }
    record
}

/// Notes how a run ended.
fn judge(record: &mut Record, campaign: &Campaign, seen: &Seen, directory: &Path) {
    let said = || match run::last_words(directory) {
        words if words.is_empty() => "it said nothing".to_owned(),
        words => format!("it said: {words}"),
    };
    match seen.end {
        End::Itself(status) => {
            let (code, reason) = run::judged(status);
            record.exit_code = code;
            if let Some(reason) = reason {
                record.outcome = Outcome::Failed;
                record.message = Some(format!("{reason}; {}", said()));
            }
        }
        End::Late | End::Stopped => {
            record.outcome = Outcome::Late;
            let limit_s = campaign.limit_s;
            record.message =
                Some(format!("took longer than limit_s = {limit_s} and was ended; {}", said()));
        }
    }
}

/// Reads the application's numbers; without its time the run counts as unreadable.
fn read_numbers(record: &mut Record, campaign: &Campaign, planned: &Planned, directory: &Path) {
    let application = &campaign.applications[planned.application];
    let read = |reading: &Reading| match reading {
        Reading::Wall => Ok(record.wall_s),
        other => application::read(other, directory, record.times.as_ref()),
    };
    let seconds = match read(&application.seconds) {
        Ok(seconds) if seconds > 0.0 => Ok(seconds),
        Ok(seconds) => Err(format!("a time of {seconds} s")),
        Err(reason) => Err(reason),
    };
    let all = |readings: &[(String, Reading)]| -> BTreeMap<String, f64> {
        let numbers = readings.iter().map(|(name, from)| Some((name.clone(), read(from).ok()?)));
        numbers.flatten().collect()
    };
    let (mut phases, figures) = (all(&application.phases), all(&application.figures));
    if let Some((file, key)) = &application.phases_object {
        phases.extend(application::read_object(directory, file, key));
    }
    (record.phases, record.figures) = (phases, figures);
    match seconds {
        Ok(seconds) => record.seconds = Some(seconds),
        Err(reason) => {
            record.outcome = Outcome::Unreadable;
            record.message =
                Some(format!("left no time: {reason}; {}", run::last_words(directory)));
        }
    }
}
