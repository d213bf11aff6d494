//! The text of a campaign file, and what is checked of it.
//!
//! The shape is what serde reads, with unknown keys refused. What serde cannot know, ranges and
//! keys that belong to another backend, is checked here against the line where the value stands.

use std::path::Path;

use serde::Deserialize;
use tidings_experiment::backend::{Backend, BackendText};
use tidings_experiment::conduct::OnFailure;
use tidings_experiment::journal::digest;
use tidings_experiment::pressure::Contamination;
use tidings_experiment::text::Source;
use tidings_experiment::{ExperimentError, statistics};
use toml::Spanned;

use super::applications::{ApplicationText, applications};
use super::kinds::{Campaign, Doing};

/// More runs than this are a mistake of the file, not a campaign.
const MOST_RUNS: u64 = 1_000_000;
/// More ranks than this no backend starts.
const MOST_RANKS: u64 = 1 << 20;
/// The backends that start ranks, some of which can be hidden from an application.
const BACKENDS: &str = "local, hosts, slurm or smpi";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CampaignText {
    name: Spanned<String>,
    #[serde(default = "one")]
    seed: u64,
    repetitions: Spanned<u32>,
    #[serde(default = "one_repetition")]
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

fn one() -> u64 {
    1
}

fn one_repetition() -> u32 {
    1
}

pub(super) fn campaign(text: &str, path: &Path) -> Result<Campaign, ExperimentError> {
    let place = Source { path, text };
    let read: CampaignText = place.read()?;
    let folder = place.folder().to_owned();
    let (ranks_per_node, every, nodes) = world(&place, &read.world)?;
    let campaign = Campaign {
        name: place.named(&read.name)?,
        seed: read.seed,
        repetitions: place.within("repetitions", &read.repetitions, 1, 1_000_000)?,
        warm_up: read.warm_up,
        limit_s: place.within("limit_s", &read.limit_s, 0.001, 1e7)?,
        on_failure: read.on_failure,
        scheduling: place.scheduling(read.scheduling.as_ref())?,
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
        backend: backend(&place, &read.backend)?,
        folder,
        digest: digest(text),
        text: text.to_owned(),
    };
    enough(&place, &read, &campaign)?;
    // In virtual time nothing disturbs.
    let contamination =
        if campaign.is_virtual() { read.contamination } else { read.contamination.or_default() };
    Ok(Campaign { contamination, ..campaign })
}

/// Ranks on a node, every k-th of which is hidden, and the numbers of nodes.
fn world(place: &Source<'_>, world: &WorldText) -> Result<(u32, u32, Vec<u32>), ExperimentError> {
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

fn control(place: &Source<'_>, given: &Spanned<String>) -> Result<Doing, ExperimentError> {
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
fn arms(place: &Source<'_>, read: &CampaignText) -> Result<Vec<Doing>, ExperimentError> {
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

fn entries(place: &Source<'_>, window: &Spanned<String>) -> Result<String, ExperimentError> {
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

/// The backend, with a shim where it is no simulated machine.
fn backend(place: &Source<'_>, text: &BackendText) -> Result<Backend, ExperimentError> {
    let backend = text.backend(place, BACKENDS)?;
    match &backend {
        Backend::Local(mpi) | Backend::Hosts(mpi, _) | Backend::Slurm(mpi, _)
            if mpi.shim.is_none() =>
        {
            Err(text.refuse(place, "needs shim: a file of `make mpi`"))
        }
        Backend::Plain => Err(text.refuse(place, "starts no ranks to hide: it is for series")),
        _ => Ok(backend),
    }
}

/// Refuses a campaign that could show nothing, or would never end.
fn enough(
    place: &Source<'_>,
    read: &CampaignText,
    campaign: &Campaign,
) -> Result<(), ExperimentError> {
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
    let is_of_here = rule.pressure_share.or(rule.run_delay_share).is_some();
    if campaign.is_on_nodes() && is_of_here {
        let reason = "with backend slurm the nodes say others_share and steal_share alone: take \
                      the other bounds of contamination out";
        return Err(place.at(0, reason));
    }
    let repetitions = u64::from(campaign.repetitions) + u64::from(campaign.warm_up);
    let runs = repetitions * (groups * (campaign.arms.len() + 2)) as u64;
    if runs > MOST_RUNS {
        return Err(place.refuse(&read.repetitions, format!("{runs} runs, at most {MOST_RUNS}")));
    }
    if campaign.is_virtual() {
        return Ok(()); // no noise: one run of each is enough
    }
    let least = (1..64).find(|&repetitions| {
        statistics::aligned_ranks_least(repetitions) * tests as f64 <= 1.0 - statistics::CONFIDENCE
    });
    let least =
        least.expect("p falls by two thirds with each repetition, and comparisons are bounded");
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
