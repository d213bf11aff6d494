//! `tidings sim`: a cluster simulated in virtual time, its figures printed or drawn.
//!
//! The simulator is a crate of its own without clock, file or thread (`tidings-sim`). This module
//! is its driver: it reads scenario files, lets options override them, prints the parameters on
//! standard error before a run, shows the progress on a terminal, measures the time, and stops at
//! Ctrl-C between two units of time. Independent runs of a figure share the processors.

mod ages;
mod colonies;
mod deaths;
mod failures;
mod figure2;
mod model;
mod parallel;
mod strategies;
pub(crate) mod watch;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use tidings_experiment::manifest::{Seed, Table, TableError, command_line};
use tidings_sim::summary::{self, Summary};
use tidings_sim::{Latency, Mode, Plan, Report, Scenario, ScenarioError, Span, Strategy, Window};

use crate::{Failure, output};
use watch::{Stop, Watch};

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings sim run --nodes 1024 --mode compact
  tidings sim run --nodes 128 --loss 0.1 --latency exponential:100us --seed 7 --json
  tidings sim run --scenario crates/sim/scenarios/churn.toml --json
  tidings sim run --nodes 1024 --mode compact --runs 8 --csv runs.csv --json
  tidings sim figure2 --output results
  tidings sim colonies --nodes 1000000 --units 50 --seed 7 --json
  tidings sim failures --nodes 1024 --strategy uniform,grid
  tidings sim strategies --nodes-max 1024
docs/reference/sim.md describes scenarios and the object that --json prints.",
    "\n\n",
    crate::arguments::exit_codes!()
);

/// Options of `tidings sim`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

/// Options of the commands that simulate a fixed set of points.
#[derive(Debug, Args)]
struct TableOptions {
    /// Write NAME.csv and NAME.manifest.json, by the command's name, into this folder instead of
    /// standard output
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Omit larger clusters
    #[arg(long, value_name = "N", default_value_t = 8192)]
    nodes_max: u32,
    /// The random seed of each point's first run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Simulate one cluster and print its ages, traffic and checks
    #[command(after_help = AFTER_HELP)]
    Run(Box<Run>),
    /// Redraw Figure 2 of the paper: average age against window, 128 to 8,192 nodes
    #[command(after_help = AFTER_HELP)]
    Figure2(TableOptions),
    /// Simulate up to a million nodes in colonies that know each other by aggregates
    #[command(after_help = AFTER_HELP)]
    Colonies(Box<colonies::Options>),
    /// The slides' age table: ages in seconds by number of nodes and interval
    #[command(after_help = AFTER_HELP)]
    Ages(ages::Options),
    /// Ages under loss and dead nodes, and the time until all nodes have detected a dead node
    #[command(after_help = AFTER_HELP)]
    Failures(failures::Options),
    /// How soon the death of a killed process is detected: 48 nodes, with and without loss
    #[command(after_help = AFTER_HELP)]
    Deaths(deaths::Options),
    /// All strategies compared: nodes, windows, loss, dead nodes, wrong clocks
    #[command(after_help = AFTER_HELP)]
    Strategies(TableOptions),
    /// The model behind `tidings plan` compared with simulations: 64 to 8,192 nodes
    #[command(after_help = AFTER_HELP)]
    Model(TableOptions),
}

/// Options of `tidings sim run`: each overrides the scenario file.
#[derive(Debug, Default, Args)]
struct Run {
    /// Start from the scenario of this TOML file
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// full: every node runs the core; compact: a table of creation times [default: full]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<Mode>,
    /// How many nodes [default: 128]
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Entries sent per unit: per cent of the nodes, or a number [default: 20%]
    #[arg(long, value_name = "SHARE")]
    window: Option<Window>,
    /// Units of time that are measured [default: 100]
    #[arg(long, value_name = "N")]
    units: Option<u32>,
    /// Units of time before the first sample [default: 60]
    #[arg(long, value_name = "N")]
    warmup: Option<u32>,
    /// How a node spreads its window [default: uniform]
    #[arg(long, value_name = "NAME")]
    strategy: Option<Strategy>,
    /// The unit of time [default: 256ms]
    #[arg(long, value_name = "TIME")]
    interval: Option<Span>,
    /// Travel time: 100us, uniform:50us..150us, exponential:100us or lognormal:100us,0.5
    /// [default: 0]
    #[arg(long, value_name = "TIMES")]
    latency: Option<Latency>,
    /// Probability that a datagram is lost [default: 0]
    #[arg(long, value_name = "P")]
    loss: Option<f64>,
    /// Largest IP packet that passes, in bytes [default: 65535]
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u32>,
    /// Bytes of payload in an entry [default: 64]
    #[arg(long, value_name = "BYTES")]
    payload_bytes: Option<u16>,
    /// The random seed of everything random [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Independent runs with this random seed and the following ones, on all processors; prints the
    /// means and their standard errors [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Write one line per run into this file, and a manifest next to it
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

/// Why a simulation gives no figures, or not all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The scenario is impossible. Nothing was simulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The scenario file has a mistake. Nothing was simulated.
    #[error("{}: {source}", file.display())]
    InFile {
        /// The file.
        file: PathBuf,
        /// The mistake.
        source: ScenarioError,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It was stopped before its end.
    #[error("stopped; {measured} of {units} units were measured")]
    Stopped {
        /// Units measured.
        measured: u32,
        /// Units asked for.
        units: u32,
    },
    /// It was stopped before its end.
    #[error("stopped; {measured} of {colonies} colonies were simulated")]
    StoppedColonies {
        /// Colonies simulated.
        measured: u32,
        /// Colonies there are.
        colonies: u32,
    },
    /// It was stopped before all of its runs were done.
    #[error("stopped; {done} of {all} runs were done")]
    Unfinished {
        /// Runs done.
        done: u32,
        /// Runs asked for.
        all: u32,
    },
    /// Signals cannot be caught.
    #[error("no handler for signals can be set ({0}): is this process restricted?")]
    Signals(io::Error),
}

impl SimulationError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Scenario(_) | Self::InFile { .. } => 2,
            Self::File { .. }
            | Self::Table(_)
            | Self::Stopped { .. }
            | Self::StoppedColonies { .. }
            | Self::Unfinished { .. }
            | Self::Signals(_) => 1,
        }
    }
}

fn mode(text: &str) -> Result<Mode, &'static str> {
    match text {
        "full" => Ok(Mode::Full),
        "compact" => Ok(Mode::Compact),
        _ => Err("the mode is full or compact"),
    }
}

/// Runs a simulation and prints what it gives.
///
/// # Errors
/// [`Failure::Simulation`], or a failure to print.
pub fn run(options: &Options) -> Result<(), Failure> {
    match &options.action {
        Action::Run(run) => run.run(),
        Action::Figure2(options) => figure2::run(options),
        Action::Colonies(options) => colonies::run(options),
        Action::Ages(options) => ages::run(options),
        Action::Failures(options) => failures::run(options),
        Action::Deaths(options) => deaths::run(options),
        Action::Strategies(options) => strategies::run(options),
        Action::Model(options) => model::run(options),
    }
}

impl Run {
    fn run(&self) -> Result<(), Failure> {
        let scenario = self.scenario()?;
        scenario.check().map_err(SimulationError::from)?;
        let place = self
            .csv
            .as_deref()
            .map(|file| Table::at(file, &command_line("tidings"), Some(Seed::One(scenario.seed))));
        let place = place.transpose().map_err(SimulationError::from)?;
        let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
        match self.runs {
            None | Some(1) => self.run_once(&scenario, place, &stop),
            Some(runs) => self.run_often(&summary::seeded(&scenario, runs), place, &stop),
        }
    }

    fn run_once(
        &self,
        scenario: &Scenario,
        place: Option<Table>,
        stop: &Stop,
    ) -> Result<(), Failure> {
        announce(scenario);
        let mut watch = Watch::of(stop);
        let start = Instant::now();
        let report = tidings_sim::run(scenario, &mut |unit, all| watch.unit(unit, all));
        watch.end();
        let mut report = report.map_err(SimulationError::from)?;
        report.wall_s = Some(start.elapsed().as_secs_f64());
        if self.json {
            output::print_json(&report)?;
        } else {
            output::print(&table(&report))?;
        }
        write_runs(place, std::slice::from_ref(&report), 1)?;
        if report.complete {
            return Ok(());
        }
        let (measured, units) = (report.units_measured, scenario.units);
        Err(SimulationError::Stopped { measured, units }.into())
    }

    /// Independent runs: complete ones are summarised, even if the others were stopped.
    fn run_often(
        &self,
        scenarios: &[Scenario],
        place: Option<Table>,
        stop: &Stop,
    ) -> Result<(), Failure> {
        announce_runs(scenarios);
        let reports = parallel::run_all(scenarios, stop).map_err(SimulationError::from)?;
        let reports: Vec<Report> = reports.into_iter().flatten().collect();
        let (done, all) = (reports.len() as u32, scenarios.len() as u32);
        if done > 0 {
            let summary = Summary::of(&reports, all);
            if self.json {
                output::print_json(&summary)?;
            } else {
                output::print(&summary_table(&summary))?;
            }
            write_runs(place, &reports, all)?;
        }
        if done < all {
            return Err(SimulationError::Unfinished { done, all }.into());
        }
        Ok(())
    }

    /// The scenario of the file, or the default one, overridden by the options.
    fn scenario(&self) -> Result<Scenario, SimulationError> {
        let mut scenario = match &self.scenario {
            None => Scenario::default(),
            Some(file) => {
                let text = fs::read_to_string(file);
                let text =
                    text.map_err(|source| SimulationError::File { file: file.clone(), source })?;
                Scenario::parse(&text)
                    .map_err(|source| SimulationError::InFile { file: file.clone(), source })?
            }
        };
        let (cluster, network) = (&mut scenario.cluster, &mut scenario.network);
        set(&mut scenario.mode, self.mode);
        set(&mut scenario.seed, self.seed);
        set(&mut scenario.units, self.units);
        set(&mut scenario.warmup_units, self.warmup);
        set(&mut cluster.nodes, self.nodes);
        set(&mut cluster.window, self.window);
        set(&mut cluster.strategy, self.strategy);
        set(&mut cluster.interval, self.interval);
        set(&mut cluster.payload_bytes, self.payload_bytes);
        set(&mut network.latency, self.latency);
        set(&mut network.loss, self.loss);
        set(&mut network.mtu_bytes, self.mtu);
        Ok(scenario)
    }
}

fn set<T: Copy>(parameter: &mut T, option: Option<T>) {
    if let Some(value) = option {
        *parameter = value;
    }
}

/// Prints what will run: the random seed, the parameters, and all random draws.
fn announce(scenario: &Scenario) {
    let mib = tidings_sim::memory::estimate_bytes(scenario).div_ceil(1 << 20);
    let parameters = serde_json::to_string(scenario).unwrap_or_default();
    let plan = Plan::draw(scenario);
    watch::say(&format!(
        "seed {}\nparameters {parameters}\nmemory about {mib} MiB\n{plan}",
        scenario.seed
    ));
}

/// Prints which runs will begin, and the random draws of each.
fn announce_runs(scenarios: &[Scenario]) {
    let Some((first, last)) = scenarios.first().zip(scenarios.last()) else { return };
    let mib = tidings_sim::memory::estimate_bytes(first).div_ceil(1 << 20);
    let parameters = serde_json::to_string(first).unwrap_or_default();
    let at_a_time = parallel::at_a_time(scenarios);
    watch::say(&format!(
        "seeds {} to {}\nparameters {parameters}\nmemory about {mib} MiB a run, {at_a_time} at a \
         time",
        first.seed, last.seed
    ));
    for scenario in scenarios {
        let plan = Plan::draw(scenario).to_string();
        if !plan.is_empty() {
            watch::say(&format!("seed {}\n{plan}", scenario.seed));
        }
    }
}

/// Writes one line per run into the requested file, if any.
fn write_runs(place: Option<Table>, reports: &[Report], runs: u32) -> Result<(), SimulationError> {
    let Some((place, first)) = place.zip(reports.first()) else { return Ok(()) };
    let complete = reports.len() == runs as usize && reports.iter().all(|report| report.complete);
    let parameters = serde_json::to_value(&first.parameters).unwrap_or_default();
    let facts = Map::from_iter([
        ("runs".to_owned(), Value::from(reports.len())),
        ("complete".to_owned(), Value::from(complete)),
        ("parameters".to_owned(), parameters),
    ]);
    Ok(place.write(&summary::csv(reports), &facts)?)
}

/// The path of a table of this name, if a folder was named: checked before the run.
fn place_of(
    folder: Option<&Path>,
    name: &str,
    seed: u64,
) -> Result<Option<Table>, SimulationError> {
    let command = command_line("tidings");
    let seed = Some(Seed::One(seed));
    let place = folder.map(|folder| Table::in_folder(folder, name, &command, seed));
    Ok(place.transpose()?)
}

/// Prints a table, or writes it with its manifest where a folder was named.
fn print_or_write(
    place: Option<Table>,
    table: &str,
    facts: &Map<String, Value>,
) -> Result<(), Failure> {
    match place {
        Some(place) => Ok(place.write(table, facts).map_err(SimulationError::from)?),
        None => output::print(table),
    }
}

/// The runs for people: one line per figure, its mean and the standard error of that.
fn summary_table(summary: &Summary) -> String {
    let mut text = format!("{:<24}{:>16}  standard error\n", "mean of runs", summary.runs);
    for (name, mean) in summary.means.iter() {
        let Some(mean) = mean else { continue };
        let error = summary.standard_errors.get(name);
        let error = error.map_or("-".to_owned(), |error| format!("{error:.3}"));
        let _ = writeln!(text, "{name:<24}{mean:>16.3}  {error:>14}");
    }
    if let Some(violation) = &summary.first_violation {
        let _ = writeln!(text, "first violation: {violation}");
    }
    text
}

/// The report for people: one line per figure.
fn table(report: &Report) -> String {
    let units = |figure: Option<f64>| {
        figure.map_or("-".to_owned(), |figure| format!("{figure:.3} units of time"))
    };
    let share = |figure: Option<f64>| {
        figure.map_or("-".to_owned(), |figure| format!("{:.1} %", 100.0 * figure))
    };
    let checks = report.checks.as_ref().map_or("none in compact mode".to_owned(), |checks| {
        let violation = checks.first_violation.as_deref().unwrap_or("no violation");
        format!("{} pairs looked at, {violation}", checks.pairs_checked)
    });
    let lines = [
        ("average age", units(report.age_avg_units)),
        ("oldest entry of a node", units(report.age_max_units)),
        ("age, median", units(report.age_p50_units)),
        ("age, 90 %", units(report.age_p90_units)),
        ("age, 99 %", units(report.age_p99_units)),
        ("age, greatest", units(report.age_highest_units)),
        ("pairs never heard of", report.never_heard_pairs.to_string()),
        ("nodes up at the end", report.nodes_up.to_string()),
        ("messages", report.messages.to_string()),
        ("datagrams", report.datagrams.to_string()),
        ("bytes", report.bytes.to_string()),
        ("entries sent", report.entries_sent.to_string()),
        ("share that is news", share(report.news_share)),
        ("checks", checks),
        ("trace hash", report.trace_hash.clone()),
        ("took", format!("{:.2} s", report.wall_s.unwrap_or_default())),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        let _ = writeln!(text, "{name:<24}{value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_override_the_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("loss.toml");
        fs::write(&file, "seed = 3\n[network]\nloss = 0.5\n").expect("the file is ours");
        let run = Run { scenario: Some(file), loss: Some(0.25), ..Run::default() };
        let scenario = run.scenario().expect("a scenario");
        assert_eq!((scenario.seed, scenario.units), (3, 100));
        assert!((scenario.network.loss - 0.25).abs() < f64::EPSILON);
    }

    #[test]
    fn a_mistake_in_a_file_names_the_file_and_exits_with_2() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("odd.toml");
        fs::write(&file, "unit = 3\n").expect("the file is ours");
        let run = |file: PathBuf| Run { scenario: Some(file), ..Run::default() }.scenario();
        let error = run(file).expect_err("an unknown key");
        assert!(error.to_string().contains("odd.toml: "), "{error}");
        assert_eq!(error.exit_code(), 2);
        let error = run(directory.path().join("none.toml")).expect_err("no such file");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn every_figure_has_its_line() {
        let mut scenario = Scenario::default();
        (scenario.units, scenario.warmup_units, scenario.cluster.nodes) = (3, 1, 4);
        let report = tidings_sim::run(&scenario, &mut |_, _| std::ops::ControlFlow::Continue(()));
        let text = table(&report.expect("possible"));
        assert_eq!(text.lines().count(), 16);
        assert!(text.contains("no violation"), "{text}");
    }
}
