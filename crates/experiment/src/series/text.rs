//! The text of a series' file, and what is checked of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::beside::{BesideText, SETTING, doubled};
use super::kinds::{Cell, Machine, Series, word};
use crate::ExperimentError;
use crate::backend::{Backend, BackendText};
use crate::conduct::OnFailure;
use crate::journal::digest;
use crate::text::Source;

/// What a machine's programs can be started by.
const BACKENDS: &str = "local, hosts, slurm, smpi or plain";
/// More runs than this are a mistake of the file, not a series.
const MOST_RUNS: usize = 1_000_000;
const MOST_ROUNDS: u32 = 100_000;
/// The setting that counts repetitions.
const RUN: &str = "run";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeriesText {
    name: Spanned<String>,
    limit_s: Spanned<f64>,
    #[serde(default)]
    on_failure: OnFailure,
    scheduling: Option<Spanned<String>>,
    /// How often all runs are made, one round after the other.
    rounds: Option<Spanned<u32>>,
    machines: Vec<MachineText>,
    programs: Spanned<Vec<Spanned<ProgramText>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineText {
    name: Spanned<String>,
    ranks_per_node: Option<Spanned<u32>>,
    backend: BackendText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramText {
    name: String,
    machines: Vec<Spanned<String>>,
    nodes: Spanned<Vec<Spanned<u32>>>,
    command: Vec<String>,
    #[serde(default)]
    launcher_arguments: Vec<String>,
    /// Each is a grid: every combination of the values of its keys.
    #[serde(default)]
    grids: Vec<BTreeMap<String, Vec<Value>>>,
    rows: Option<String>,
    report: Option<String>,
    /// Hidden ranks, once asleep and once gossiping.
    gossip: Option<BesideText>,
}

pub(super) fn series(text: &str, path: &Path) -> Result<Series, ExperimentError> {
    let place = Source { path, text };
    let read: SeriesText = place.read()?;
    let machines = read.machines.iter().map(|text| machine(&place, text));
    let machines = machines.collect::<Result<Vec<_>, _>>()?;
    let rounds = read.rounds.as_ref();
    let rounds = rounds.map(|own| place.within("rounds", own, 1, MOST_ROUNDS)).transpose()?;
    let mut cells = Vec::new();
    // Without rounds all runs are made once, and have no number.
    for round in rounds.map_or(vec![None], |rounds| (1..=rounds).map(Some).collect()) {
        for program in read.programs.get_ref() {
            let own = cells_of(&place, program, &machines, round)?;
            let first = round.map_or(0, |round| round as usize - 1);
            cells.extend(match &program.get_ref().gossip {
                Some(gossip) => doubled(&place, gossip, &machines, (own, first))?,
                None => own,
            });
        }
        if cells.len() > MOST_RUNS {
            break;
        }
    }
    if cells.is_empty() || cells.len() > MOST_RUNS {
        let reason = format!("{} runs: name 1 to {MOST_RUNS} of programs", cells.len());
        return Err(place.refuse(&read.programs, reason));
    }
    Ok(Series {
        name: place.named(&read.name)?,
        limit_s: place.within("limit_s", &read.limit_s, 0.001, 1e7)?,
        on_failure: read.on_failure,
        scheduling: place.scheduling(read.scheduling.as_ref())?,
        machines,
        cells,
        folder: place.folder().to_owned(),
        digest: digest(text),
        text: text.to_owned(),
    })
}

fn machine(place: &Source<'_>, text: &MachineText) -> Result<Machine, ExperimentError> {
    let ranks = text.ranks_per_node.as_ref();
    let ranks = ranks.map(|ranks| place.within("ranks_per_node", ranks, 1, 4_096)).transpose()?;
    Ok(Machine {
        name: text.name.get_ref().clone(),
        ranks_per_node: ranks.unwrap_or(1),
        backend: text.backend.backend(place, BACKENDS)?,
    })
}

/// The runs of a program: machine by machine, grid by grid, on all numbers of nodes.
fn cells_of(
    place: &Source<'_>,
    given: &Spanned<ProgramText>,
    machines: &[Machine],
    round: Option<u32>,
) -> Result<Vec<Cell>, ExperimentError> {
    let text = given.get_ref();
    if round.is_some() && text.grids.iter().any(|grid| grid.contains_key(RUN)) {
        let reason =
            format!("`{RUN}` counts the rounds: take it out of the grids, or `rounds` out");
        return Err(place.refuse(given, reason));
    }
    let rows = text.rows.clone().unwrap_or_else(|| "stdout".to_owned());
    for file in [Some(&rows), text.report.as_ref()].into_iter().flatten() {
        let mut parts = Path::new(file).components();
        if file.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            let reason =
                format!("`{file}` is no file of the run's directory: name one without `..`");
            return Err(place.refuse(given, reason));
        }
    }
    let mut cells = Vec::new();
    for name in &text.machines {
        let found = machines.iter().position(|machine| machine.name == *name.get_ref());
        let machine = found.ok_or_else(|| {
            place.refuse(name, format!("no machine `{}`: add it to machines", name.get_ref()))
        })?;
        for mut settings in text.grids.iter().flat_map(combinations).chain(bare(&text.grids)) {
            settings.extend(round.map(|round| (RUN.to_owned(), Value::from(round))));
            for count in text.nodes.get_ref() {
                let nodes = place.within("a number of nodes", count, 1, 1 << 20)?;
                let on = &machines[machine];
                let ranks = nodes * on.ranks_per_node;
                if on.backend == Backend::Plain && (ranks, text.launcher_arguments.len()) != (1, 0)
                {
                    let reason = "backend plain starts one process, without a launcher: \
                                  write nodes = [1] and no launcher_arguments";
                    return Err(place.refuse(count, reason));
                }
                let (command, launcher_arguments) = filled(place, given, &settings, nodes, ranks)?;
                cells.push(Cell {
                    program: text.name.clone(),
                    machine,
                    nodes,
                    command,
                    launcher_arguments,
                    settings: settings.clone(),
                    rows: rows.clone(),
                    report: text.report.clone(),
                    hidden: None,
                });
            }
        }
    }
    Ok(cells)
}

/// A program without grids runs once, without settings.
fn bare(grids: &[BTreeMap<String, Vec<Value>>]) -> Option<BTreeMap<String, Value>> {
    grids.is_empty().then(BTreeMap::new)
}

/// Every combination of the values of a grid's keys, the last key's values changing fastest.
fn combinations(grid: &BTreeMap<String, Vec<Value>>) -> Vec<BTreeMap<String, Value>> {
    let mut all = vec![BTreeMap::new()];
    for (key, values) in grid {
        let longer = |one: &BTreeMap<String, Value>| {
            let mut each = Vec::new();
            for value in values {
                let mut with = one.clone();
                with.insert(key.clone(), value.clone());
                each.push(with);
            }
            each
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// The command and the launcher's further arguments, with settings in place of their names in
/// braces.
fn filled(
    place: &Source<'_>,
    given: &Spanned<ProgramText>,
    settings: &BTreeMap<String, Value>,
    nodes: u32,
    ranks: u32,
) -> Result<(Vec<String>, Vec<String>), ExperimentError> {
    let (text, folder) = (given.get_ref(), place.folder().display().to_string());
    let own = [("nodes", nodes.to_string()), ("ranks", ranks.to_string()), ("folder", folder)];
    let mut named: BTreeMap<&str, String> =
        settings.iter().map(|(key, value)| (key.as_str(), word(value))).collect();
    let taken = own.iter().map(|(name, _)| *name).chain(text.gossip.as_ref().map(|_| SETTING));
    if let Some(name) = taken.into_iter().find(|name| named.contains_key(name)) {
        let reason = format!("`{name}` cannot be a setting: it is replaced by the series itself");
        return Err(place.refuse(given, reason));
    }
    named.extend(own);
    let mut used = BTreeSet::from(["nodes", "ranks", "folder"]);
    let mut words = Vec::new();
    for word in text.command.iter().chain(&text.launcher_arguments) {
        let mut filled = word.clone();
        for (name, value) in &named {
            let braced = format!("{{{name}}}");
            if filled.contains(&braced) {
                used.insert(name);
                filled = filled.replace(&braced, value);
            }
        }
        words.push(filled);
    }
    if text.command.is_empty() {
        return Err(place.refuse(given, format!("the command of {} is empty", text.name)));
    }
    if let Some(idle) = named.keys().find(|name| !used.contains(*name) && **name != RUN) {
        let reason =
            format!("the command of {} has no {{{idle}}}: its runs would be alike", text.name);
        return Err(place.refuse(given, reason));
    }
    let launcher_arguments = words.split_off(text.command.len());
    Ok((words, launcher_arguments))
}
