//! A campaign's runs, one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tidings_experiment::ExperimentError;
use tidings_experiment::conduct::{Experiment, Manner, OnFailure, Watcher, conduct};
use tidings_experiment::journal::Subject;
use tidings_experiment::outcome::{Ended, Outcome};
use tidings_experiment::pressure::Disturbance;
use tidings_experiment::reading::{self, Reading, object_in};
use tidings_experiment::run::{Seen, last_words};

use crate::Campaign;
use crate::campaign::TIMES;
use crate::record::{Record, SCHEMA};
use crate::schedule::{Planned, Role, plan};
use crate::stage::{REPORT, Stage};
use crate::words;

/// Makes all runs of a campaign that its journal lacks.
///
/// # Errors
/// [`ExperimentError`]; what was measured before is in the journal.
pub fn run(
    campaign: &Campaign,
    folder: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Record>, ExperimentError> {
    let stage = Stage::prepare(campaign)?;
    conduct(&Overhead { campaign, stage, plan: plan(campaign) }, folder, watcher)
}

/// A campaign that can be run.
struct Overhead<'a> {
    campaign: &'a Campaign,
    stage: Stage<'a>,
    plan: Vec<Planned>,
}

impl Experiment for Overhead<'_> {
    type Record = Record;

    fn subject(&self) -> Subject<'_> {
        let Campaign { name, digest, text, .. } = self.campaign;
        Subject { schema: SCHEMA, campaign: name, digest, text }
    }

    fn runs(&self) -> Vec<u32> {
        self.plan.iter().map(|planned| planned.index).collect()
    }

    fn label(&self, index: u32) -> String {
        let planned = &self.plan[index as usize];
        let application = &self.campaign.applications[planned.application];
        format!("{}, {}", application.name, planned.doing(self.campaign))
    }

    fn on_failure(&self) -> OnFailure {
        self.campaign.on_failure
    }

    fn farewell(&self) -> Option<Duration> {
        self.stage.farewell()
    }

    fn measure(
        &self,
        index: u32,
        folder: &Path,
        watcher: &dyn Watcher,
    ) -> Result<Option<Record>, ExperimentError> {
        let (campaign, planned) = (self.campaign, &self.plan[index as usize]);
        let manner = Manner { scheduling: campaign.scheduling, limit_s: campaign.limit_s };
        let prepare = |place: &Path| {
            let unwritable =
                |source| ExperimentError::Unwritable { path: place.to_owned(), source };
            for (name, source) in &campaign.applications[planned.application].files {
                let to = place.join(name);
                let folder = to.parent().unwrap_or(place);
                fs::create_dir_all(folder)
                    .and_then(|()| fs::copy(source, &to))
                    .map_err(unwritable)?;
            }
            self.stage.launch(planned, place)
        };
        let read =
            |started, seen: &Seen, place: &Path| record(campaign, planned, started, seen, place);
        manner.make(folder, watcher, prepare, read)
    }
}

/// What came out of a run.
fn record(
    campaign: &Campaign,
    planned: &Planned,
    started: String,
    seen: &Seen,
    directory: &Path,
) -> Record {
    let application = &campaign.applications[planned.application];
    let doing = planned.doing(campaign);
    let (ranks, hidden) = campaign.ranks(planned.nodes, doing);
    let ended = Ended::of(seen, campaign.limit_s, directory);
    let times = object_in(&directory.join(TIMES));
    let mut record = Record {
        index: planned.index,
        repetition: planned.repetition,
        application: application.name.clone(),
        nodes: planned.nodes,
        ranks,
        hidden,
        doing: doing.clone(),
        baseline: planned.role <= Role::Again,
        again: planned.role == Role::Again,
        seed: planned.seed,
        started,
        outcome: ended.outcome,
        exit_code: ended.exit_code,
        message: ended.message.map(|message| in_own_terms(message, campaign.every, hidden)),
        seconds: None,
        phases: BTreeMap::new(),
        figures: BTreeMap::new(),
        wall_s: seen.wall_s,
        disturbance: disturbance(campaign, seen, times.as_ref()),
        times,
        gossip: object_in(&directory.join(REPORT)),
    };
    if record.outcome == Outcome::Ok {
        read_numbers(&mut record, campaign, planned, directory);
    }
    record
}

/// How the machines were meanwhile: this one, or the nodes of Slurm as the shim saw them.
fn disturbance(campaign: &Campaign, seen: &Seen, times: Option<&Value>) -> Disturbance {
    if !campaign.is_on_nodes() {
        return seen.disturbance;
    }
    let share = |key| times?.get(key)?.as_f64();
    Disturbance {
        others_share: share("others_share"),
        steal_share: share("steal_share"),
        ..Disturbance::default()
    }
}

/// A complaint, with the number that the application gives to the rank that it names.
fn in_own_terms(message: String, every: u32, hidden: u32) -> String {
    match words::rank(&message, every) {
        Some(rank) if hidden > 0 => format!("{message} ({rank})"),
        _ => message,
    }
}

/// Reads the application's numbers; without its time the run counts as unreadable.
fn read_numbers(record: &mut Record, campaign: &Campaign, planned: &Planned, directory: &Path) {
    let application = &campaign.applications[planned.application];
    let read = |reading: &Reading| match reading {
        Reading::Wall => Ok(record.wall_s),
        Reading::Json { file, .. } if file == TIMES && record.times.is_none() => {
            Err("the shim wrote no times: the program is no MPI program, or did not finalize"
                .to_owned())
        }
        other => reading::read(other, directory),
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
        phases.extend(reading::read_object(directory, file, key));
    }
    (record.phases, record.figures) = (phases, figures);
    match seconds {
        Ok(seconds) => record.seconds = Some(seconds),
        Err(reason) => {
            record.outcome = Outcome::Unreadable;
            record.message = Some(format!("left no time: {reason}; {}", last_words(directory)));
        }
    }
}
