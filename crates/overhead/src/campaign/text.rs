//! The text of a campaign file, and what is checked of it.
//!
//! The shape is what serde reads, with unknown keys refused. What serde cannot know, ranges and
//! keys that belong to another backend, is checked here against the line where the value stands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::{
    Application, Backend, Campaign, Contamination, Doing, Mpi, MpiFamily, Network, OnFailure,
    Reading, Scheduling, SimulatedMachine, Take, digest,
};
use crate::LabError;
use tidings_experiment::statistics;

/// More runs than this are a mistake of the file, not a campaign.
const MOST_RUNS: u64 = 1_000_000;
/// More ranks than this no backend starts.
const MOST_RANKS: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CampaignText {
    name: Spanned<String>,
    #[serde(default = "one")]
    seed: u64,
    repetitions: Spanned<u32>,
    #[serde(default = "one_lap")]
    warm_up: u32,
    limit_s: Spanned<f64>,
    #[serde(default)]
    on_failure: OnFailure,
    scheduling: Option<Spanned<String>>,
    baseline: Option<Spanned<String>>,
    #[serde(default)]
    controls: Vec<Spanned<String>>,
    world: WorldText,
    backend: BackendText,
    gossip: GossipText,
    #[serde(default)]
    contamination: Contamination,
    applications: Spanned<Vec<Spanned<ApplicationText>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorldText {
    nodes: Spanned<Vec<Spanned<u32>>>,
    ranks_per_node: Spanned<u32>,
    every: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackendText {
    kind: Spanned<String>,
    mpi: Option<Spanned<MpiFamily>>,
    shim: Option<Spanned<PathBuf>>,
    yielding: Option<Spanned<PathBuf>>,
    launcher: Option<Spanned<PathBuf>>,
    #[serde(default)]
    launcher_arguments: Vec<String>,
    platform: Option<Spanned<PathBuf>>,
    host_pattern: Option<Spanned<String>>,
    rate_mbit: Option<Spanned<f64>>,
    delay_us: Option<Spanned<f64>>,
    loss_percent: Option<Spanned<f64>>,
    srun_arguments: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GossipText {
    #[serde(default)]
    intervals_ms: Vec<Spanned<f64>>,
    #[serde(default)]
    windows: Vec<Spanned<String>>,
    #[serde(default)]
    entry_bytes: Vec<Spanned<u32>>,
    #[serde(default)]
    options: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplicationText {
    name: String,
    command: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, PathBuf>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
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
#[serde(untagged)]
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

fn one() -> u64 {
    1
}

fn one_lap() -> u32 {
    1
}

/// Where complaints about a text are made.
struct Place<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Place<'_> {
    fn at(&self, offset: usize, reason: impl Into<String>) -> LabError {
        let line = 1 + self.text[..offset.min(self.text.len())].matches('\n').count();
        LabError::Campaign { path: self.path.to_owned(), line, reason: reason.into() }
    }

    fn refuse<T>(&self, value: &Spanned<T>, reason: impl Into<String>) -> LabError {
        self.at(value.span().start, reason)
    }

    /// Refuses a value unless it lies in a range.
    fn within<T: PartialOrd + Copy + std::fmt::Display>(
        &self,
        name: &str,
        value: &Spanned<T>,
        least: T,
        most: T,
    ) -> Result<T, LabError> {
        let given = *value.get_ref();
        if given >= least && given <= most {
            return Ok(given);
        }
        Err(self.refuse(value, format!("{name} cannot be {given}: write {least} to {most}")))
    }
}

pub(super) fn campaign(text: &str, path: &Path) -> Result<Campaign, LabError> {
    let place = Place { path, text };
    let read: CampaignText = toml::from_str(text).map_err(|error| {
        place.at(error.span().map_or(0, |span| span.start), error.message().replace('\n', ", "))
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).to_owned();
    let (ranks_per_node, every, nodes) = world(&place, &read.world)?;
    let campaign = Campaign {
        name: named(&place, &read.name)?,
        seed: read.seed,
        repetitions: place.within("repetitions", &read.repetitions, 1, 1_000_000)?,
        warm_up: read.warm_up,
        limit_s: place.within("limit_s", &read.limit_s, 0.001, 1e7)?,
        on_failure: read.on_failure,
        scheduling: read.scheduling.as_ref().map_or(Ok(Scheduling::Normal), |given| {
            scheduling(given.get_ref()).ok_or_else(|| {
                let all = "normal, fifo:1 to fifo:99, rr:1 to rr:99, or nice:-20 to nice:19";
                place.refuse(given, format!("scheduling is {all}"))
            })
        })?,
        nodes,
        ranks_per_node,
        every,
        baseline: read
            .baseline
            .as_ref()
            .map_or(Ok(Doing::Asleep), |given| control(&place, given))?,
        arms: arms(&place, &read)?,
        gossip_options: read.gossip.options.clone(),
        contamination: read.contamination,
        applications: applications(&place, &read.applications, &folder)?,
        backend: backend(&place, &read.backend, &folder)?,
        folder,
        digest: digest(text),
        text: text.to_owned(),
    };
    enough(&place, &read, &campaign)?;
    Ok(campaign)
}

fn named(place: &Place<'_>, name: &Spanned<String>) -> Result<String, LabError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let given = name.get_ref();
    if !given.is_empty() && given.chars().all(plain) && !given.starts_with('.') {
        return Ok(given.clone());
    }
    Err(place.refuse(name, "a name is of letters, digits, `-`, `_` and `.`: it names files"))
}

/// Ranks on a node, every so manieth of which is hidden, and the numbers of nodes.
fn world(place: &Place<'_>, world: &WorldText) -> Result<(u32, u32, Vec<u32>), LabError> {
    let ranks = place.within("ranks_per_node", &world.ranks_per_node, 1, 4096)?;
    let every = world.every.as_ref().unwrap_or(&world.ranks_per_node);
    let hidden = *every.get_ref();
    if hidden < 2 {
        let reason = "every rank would be hidden: every (else ranks_per_node) is 2 or more";
        return Err(place.refuse(every, reason));
    }
    if world.nodes.get_ref().is_empty() {
        return Err(place.refuse(&world.nodes, "nodes is empty: name a number of nodes"));
    }
    let mut nodes = Vec::new();
    for count in world.nodes.get_ref() {
        let given = place.within("a number of nodes", count, 1, 1 << 20)?;
        let all = u64::from(given) * u64::from(ranks);
        if all > MOST_RANKS {
            return Err(place.refuse(count, format!("{all} ranks, at most {MOST_RANKS}")));
        }
        if u64::from(hidden) > all {
            let reason = format!(
                "every {hidden}th rank of {all}: none would be hidden; lower every, or run more \
                 nodes or ranks_per_node"
            );
            return Err(place.refuse(every, reason));
        }
        nodes.push(given);
    }
    Ok((ranks, hidden, nodes))
}

fn scheduling(text: &str) -> Option<Scheduling> {
    let real_time = |text: &str| text.parse().ok().filter(|priority| (1..=99).contains(priority));
    match text.split_once(':') {
        None => (text == "normal").then_some(Scheduling::Normal),
        Some(("fifo", priority)) => real_time(priority).map(Scheduling::Fifo),
        Some(("rr", priority)) => real_time(priority).map(Scheduling::RoundRobin),
        Some(("nice", niceness)) => {
            let niceness = niceness.parse().ok().filter(|niceness| (-20..=19).contains(niceness));
            niceness.map(Scheduling::Nice)
        }
        Some(_) => None,
    }
}

fn control(place: &Place<'_>, given: &Spanned<String>) -> Result<Doing, LabError> {
    match given.get_ref().as_str() {
        "none" => Ok(Doing::None),
        "asleep" => Ok(Doing::Asleep),
        "busy" => Ok(Doing::Busy),
        other => {
            let reason = format!("no control `{other}`: write none, asleep or busy");
            Err(place.refuse(given, reason))
        }
    }
}

/// The controls, then every combination of interval, window and size of entries.
fn arms(place: &Place<'_>, read: &CampaignText) -> Result<Vec<Doing>, LabError> {
    let mut arms = Vec::new();
    for given in &read.controls {
        let control = control(place, given)?;
        if arms.contains(&control) {
            return Err(place.refuse(given, "this control is named twice"));
        }
        arms.push(control);
    }
    let gossip = &read.gossip;
    for interval in &gossip.intervals_ms {
        let interval_ms = place.within("an interval in ms", interval, 0.1, 3_600_000.0)?;
        for window in &gossip.windows {
            let window = entries(place, window)?;
            for bytes in &gossip.entry_bytes {
                let entry_bytes = place.within("entry_bytes", bytes, 0, 1_024)?;
                arms.push(Doing::Gossip { interval_ms, window: window.clone(), entry_bytes });
            }
        }
    }
    Ok(arms)
}

fn entries(place: &Place<'_>, window: &Spanned<String>) -> Result<String, LabError> {
    let text = window.get_ref();
    let fits = match text.strip_suffix('%') {
        Some(share) => share.parse().is_ok_and(|share: f64| share > 0.0 && share <= 100.0),
        None => text.parse().is_ok_and(|entries: u32| (1..=1 << 20).contains(&entries)),
    };
    if fits {
        return Ok(text.clone());
    }
    Err(place.refuse(window, format!("no window `{text}`: write entries, or per cent as \"20%\"")))
}

fn applications(
    place: &Place<'_>,
    read: &Spanned<Vec<Spanned<ApplicationText>>>,
    folder: &Path,
) -> Result<Vec<Application>, LabError> {
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
    place: &Place<'_>,
    given: &Spanned<ApplicationText>,
    folder: &Path,
) -> Result<Application, LabError> {
    let text = given.get_ref();
    let inside = |name: &str| {
        let parts = Path::new(name).components();
        !name.is_empty()
            && parts.into_iter().all(|part| matches!(part, std::path::Component::Normal(_)))
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
        seconds: text.seconds.as_ref().map_or(Reading::Shim, reading),
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
            Reading::Wall | Reading::Shim => None,
        });
        files.chain(self.phases_object.iter().map(|(file, _)| file.as_str()))
    }
}

fn reading(text: &ReadingText) -> Reading {
    match text {
        ReadingText::Whole(WholeText::Wall) => Reading::Wall,
        ReadingText::Whole(WholeText::Shim) => Reading::Shim,
        ReadingText::Json(JsonText { file, json }) => {
            Reading::Json { file: file.clone(), key: json.clone() }
        }
        ReadingText::Text(AfterText { file, after, take }) => {
            Reading::Text { file: file.clone(), after: after.clone(), take: *take }
        }
    }
}

fn backend(place: &Place<'_>, text: &BackendText, folder: &Path) -> Result<Backend, LabError> {
    let kind = text.kind.get_ref().as_str();
    if !["local", "hosts", "slurm", "smpi"].contains(&kind) {
        let reason = format!("no backend `{kind}`: write local, hosts, slurm or smpi");
        return Err(place.refuse(&text.kind, reason));
    }
    strangers(place, text, kind)?;
    if kind == "smpi" {
        return simulated(place, text, folder).map(Backend::Smpi);
    }
    let mpi = Mpi {
        family: text.mpi.as_ref().map(|mpi| *mpi.get_ref()).ok_or_else(|| {
            place.refuse(&text.kind, format!("backend {kind} needs mpi: openmpi or mpich"))
        })?,
        shim: text.shim.as_ref().map(|shim| folder.join(shim.get_ref())).ok_or_else(|| {
            place.refuse(&text.kind, format!("backend {kind} needs shim: a file of `make mpi`"))
        })?,
        yielding: text.yielding.as_ref().map(|library| folder.join(library.get_ref())),
        launcher: text.launcher.as_ref().map(|launcher| launcher.get_ref().clone()),
        launcher_arguments: text.launcher_arguments.clone(),
    };
    Ok(match kind {
        "hosts" => Backend::Hosts(mpi, network(place, text)?),
        "slurm" => {
            let words = text.srun_arguments.as_ref().map(|words| words.get_ref().clone());
            Backend::Slurm(mpi, words.unwrap_or_default())
        }
        _ => Backend::Local(mpi),
    })
}

/// Refuses keys that belong to another backend.
fn strangers(place: &Place<'_>, text: &BackendText, kind: &str) -> Result<(), LabError> {
    let start = |key: Option<std::ops::Range<usize>>| key.map(|span| span.start);
    let keys = [
        ("mpi", start(text.mpi.as_ref().map(Spanned::span)), &["local", "hosts", "slurm"][..]),
        ("shim", start(text.shim.as_ref().map(Spanned::span)), &["local", "hosts", "slurm"]),
        (
            "yielding",
            start(text.yielding.as_ref().map(Spanned::span)),
            &["local", "hosts", "slurm"],
        ),
        ("launcher", start(text.launcher.as_ref().map(Spanned::span)), &["local", "hosts"]),
        ("platform", start(text.platform.as_ref().map(Spanned::span)), &["smpi"]),
        ("host_pattern", start(text.host_pattern.as_ref().map(Spanned::span)), &["smpi"]),
        ("rate_mbit", start(text.rate_mbit.as_ref().map(Spanned::span)), &["hosts"]),
        ("delay_us", start(text.delay_us.as_ref().map(Spanned::span)), &["hosts"]),
        ("loss_percent", start(text.loss_percent.as_ref().map(Spanned::span)), &["hosts"]),
        ("srun_arguments", start(text.srun_arguments.as_ref().map(Spanned::span)), &["slurm"]),
    ];
    for (key, at, kinds) in keys {
        if let (Some(at), false) = (at, kinds.contains(&kind)) {
            let reason = format!("{key} is no key of backend {kind}, but of {}", kinds.join(", "));
            return Err(place.at(at, reason));
        }
    }
    Ok(())
}

fn network(place: &Place<'_>, text: &BackendText) -> Result<Network, LabError> {
    let bounded = |name, value: &Option<Spanned<f64>>, least, most| {
        value.as_ref().map(|value| place.within(name, value, least, most)).transpose()
    };
    Ok(Network {
        rate_mbit: bounded("rate_mbit", &text.rate_mbit, 0.1, 100_000.0)?,
        delay_us: bounded("delay_us", &text.delay_us, 0.0, 1e6)?.unwrap_or_default(),
        loss_percent: bounded("loss_percent", &text.loss_percent, 0.0, 50.0)?.unwrap_or_default(),
    })
}

fn simulated(
    place: &Place<'_>,
    text: &BackendText,
    folder: &Path,
) -> Result<SimulatedMachine, LabError> {
    let Some(platform) = &text.platform else {
        let reason = "backend smpi needs platform: a platform file of SimGrid";
        return Err(place.refuse(&text.kind, reason));
    };
    let pattern = text.host_pattern.as_ref().map_or("n{}", |pattern| pattern.get_ref());
    if pattern.matches("{}").count() != 1 {
        let given = text.host_pattern.as_ref().expect("the default has one");
        return Err(place.refuse(given, "host_pattern has one `{}`, where the number stands"));
    }
    Ok(SimulatedMachine {
        platform: folder.join(platform.get_ref()),
        host_pattern: pattern.to_owned(),
        launcher_arguments: text.launcher_arguments.clone(),
    })
}

/// Refuses a campaign that could show nothing, or would never end.
fn enough(place: &Place<'_>, read: &CampaignText, campaign: &Campaign) -> Result<(), LabError> {
    let groups = campaign.applications.len() * campaign.nodes.len();
    let tests = groups * campaign.arms.len();
    if campaign.arms.contains(&campaign.baseline) {
        let reason = format!("the baseline, {}, is also a control: take it out", campaign.baseline);
        return Err(place.at(0, reason));
    }
    if tests == 0 {
        let reason = "nothing to compare: name controls, or intervals_ms, windows and entry_bytes";
        return Err(place.at(0, reason));
    }
    let rule = &campaign.contamination;
    let bounds = [rule.others_share, rule.steal_share, rule.pressure_share];
    if bounds.iter().flatten().any(|bound| !(0.0..=1.0).contains(bound)) {
        return Err(place.at(0, "a bound of contamination is a share: write 0 to 1"));
    }
    if matches!(campaign.backend, Backend::Slurm(..))
        && campaign.contamination != Contamination::default()
    {
        let reason = "contamination is that of this machine, but with backend slurm runs are on others: \
                      take the bounds out";
        return Err(place.at(0, reason));
    }
    let laps = u64::from(campaign.repetitions) + u64::from(campaign.warm_up);
    let runs = laps * (groups * (campaign.arms.len() + 2)) as u64;
    if runs > MOST_RUNS {
        return Err(place.refuse(&read.repetitions, format!("{runs} runs, at most {MOST_RUNS}")));
    }
    if campaign.is_virtual() {
        return Ok(()); // no noise: one run of each is enough
    }
    let least = (1..64).find(|&laps| {
        statistics::aligned_ranks_least(laps) * tests as f64 <= 1.0 - statistics::CONFIDENCE
    });
    let least = least.expect("p falls by two thirds with each lap, and comparisons are bounded");
    if campaign.repetitions < least {
        let reason = format!(
            "{} repetitions can show nothing: with {tests} comparisons it takes {least} at least, \
             and some hundreds for half a per cent",
            campaign.repetitions
        );
        return Err(place.refuse(&read.repetitions, reason));
    }
    Ok(())
}
