//! The applications of a campaign file, and where each says how long it took.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use tidings_experiment::ExperimentError;
use tidings_experiment::reading::{Reading, Take};
use tidings_experiment::text::Source;
use toml::Spanned;

use super::kinds::{Application, TIMES};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplicationText {
    name: String,
    command: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, PathBuf>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    loads_mpi: bool,
    #[serde(default)]
    seconds: Option<ReadingText>,
    #[serde(default)]
    phases: BTreeMap<String, ReadingText>,
    phases_object: Option<PhasesText>,
    #[serde(default)]
    figures: BTreeMap<String, ReadingText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhasesText {
    file: String,
    key: String,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a number is read by \"shim\", \"wall\", { file, json } or { file, after, take }"
)]
enum ReadingText {
    Whole(WholeText),
    Json(JsonText),
    Text(AfterText),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WholeText {
    Wall,
    Shim,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonText {
    file: String,
    json: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AfterText {
    file: String,
    after: String,
    #[serde(default)]
    take: Take,
}

pub(super) fn applications(
    place: &Source<'_>,
    read: &Spanned<Vec<Spanned<ApplicationText>>>,
    folder: &Path,
) -> Result<Vec<Application>, ExperimentError> {
    if read.get_ref().is_empty() {
        return Err(place.refuse(read, "applications is empty: name one to measure"));
    }
    let mut names = BTreeSet::new();
    let mut applications = Vec::new();
    for given in read.get_ref() {
        let text = given.get_ref();
        if !names.insert(&text.name) {
            return Err(place.refuse(given, format!("two applications named {}", text.name)));
        }
        if text.command.is_empty() {
            let reason = format!("the command of {} is empty: name its program", text.name);
            return Err(place.refuse(given, reason));
        }
        applications.push(application(place, given, folder)?);
    }
    Ok(applications)
}

fn application(
    place: &Source<'_>,
    given: &Spanned<ApplicationText>,
    folder: &Path,
) -> Result<Application, ExperimentError> {
    let text = given.get_ref();
    let inside = |name: &str| {
        let parts = Path::new(name).components();
        !name.is_empty() && parts.into_iter().all(|part| matches!(part, Component::Normal(_)))
    };
    let readings = |texts: &BTreeMap<String, ReadingText>| {
        let all = texts.iter().map(|(name, text)| (name.clone(), reading(text)));
        all.collect::<Vec<_>>()
    };
    let application = Application {
        name: text.name.clone(),
        command: text.command.clone(),
        files: text.files.iter().map(|(name, path)| (name.clone(), folder.join(path))).collect(),
        environment: text.environment.clone().into_iter().collect(),
        loads_mpi: text.loads_mpi,
        seconds: text.seconds.as_ref().map_or_else(shim, reading),
        phases: readings(&text.phases),
        phases_object: text.phases_object.as_ref().map(|at| (at.file.clone(), at.key.clone())),
        figures: readings(&text.figures),
    };
    let named = application.files.iter().map(|(name, _)| name.as_str());
    if let Some(name) = named.chain(application.files_read()).find(|name| !inside(name)) {
        let reason = format!("`{name}` is no file of the run's directory: name one without `..`");
        return Err(place.refuse(given, reason));
    }
    Ok(application)
}

impl Application {
    /// The files that its numbers are read from.
    fn files_read(&self) -> impl Iterator<Item = &str> {
        let readings = self.phases.iter().chain(&self.figures).map(|(_, reading)| reading);
        let files = readings.chain([&self.seconds]).filter_map(|reading| match reading {
            Reading::Json { file, .. } | Reading::Text { file, .. } => Some(file.as_str()),
            Reading::Wall => None,
        });
        files.chain(self.phases_object.iter().map(|(file, _)| file.as_str()))
    }
}

fn reading(text: &ReadingText) -> Reading {
    match text {
        ReadingText::Whole(WholeText::Wall) => Reading::Wall,
        ReadingText::Whole(WholeText::Shim) => shim(),
        ReadingText::Json(JsonText { file, json }) => {
            Reading::Json { file: file.clone(), key: json.clone() }
        }
        ReadingText::Text(AfterText { file, after, take }) => {
            Reading::Text { file: file.clone(), after: after.clone(), take: *take }
        }
    }
}

/// From MPI_Init to MPI_Finalize, as the shim measures it.
fn shim() -> Reading {
    Reading::Json { file: TIMES.to_owned(), key: "seconds".to_owned() }
}
