//! `tidings lab`: what gossip costs an application that runs with it, what the system takes from a
//! core, and what an MPI machine does under load, with advice about where to place ranks there.
//!
//! The method is a crate of its own (`tidings-overhead`). This module is its driver: it shows
//! progress, turns the first signal into an end that leaves nothing running, and writes tables
//! next to the campaign's journal.

mod advise;
mod characterize;
mod fluid;
mod links;
mod modelled;
mod network;
mod noise;
mod screen;
mod series;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tidings_experiment::ExperimentError;
use tidings_experiment::manifest::{Seed, Table};
use tidings_experiment::quiet::{self, Quiet};
use tidings_experiment::{journal, throttle};
use tidings_overhead::analysis::{Analysis, analyse};
use tidings_overhead::comparison::{Difference, Quantity, compare};
use tidings_overhead::record::{Record, SCHEMA};
use tidings_overhead::{Campaign, measure, page, picture, report, schedule};

use self::screen::Screen;
use crate::output::Agent;
use crate::table::{Align, render};
use crate::{Failure, output};

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings lab overhead examples/lab/first.toml --check
  tidings lab overhead examples/lab/first.toml --output results
  tidings lab table results
  tidings lab compare results-before results-after
  tidings lab series studies/overhead-simulated/torus-64.toml --only interval=4
  tidings lab noise --cores 1 --for 30s --output noise-before
  tidings lab characterize --quick
  tidings lab fluid torus --shape 32,32,32 --cores 4 --test hops
  tidings lab advise characterize --grid 8x4 --sizes 64KiB --output places
  tidings lab compare noise-before noise-after
docs/guides/first-campaign.md leads through a first campaign; docs/reference/lab.md describes the
campaign file, the journal and the tables, docs/reference/noise.md the noise of a system,
docs/reference/characterize.md what an MPI machine does under load.

Codes of `tidings lab` besides those below:
  5    `compare` found a difference
  130  Ctrl-C ended the campaign; the same command continues it (143: SIGTERM, 129: SIGHUP)",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings lab`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run a campaign, or continue it, and print its results
    #[command(after_help = AFTER_HELP)]
    Overhead(Overhead),
    /// Print the results of a campaign so far, or of a measurement of noise
    #[command(after_help = AFTER_HELP)]
    Table(Of),
    /// Test whether arms cost more in one campaign than in another, or whether noise differs
    #[command(after_help = AFTER_HELP)]
    Compare(Compare),
    /// Run programs that print rows over machines, nodes and settings, or go on with it
    #[command(after_help = AFTER_HELP)]
    Series(series::Options),
    /// Measure what the system takes from cores, and name who takes it
    #[command(after_help = AFTER_HELP)]
    Noise(noise::Options),
    /// Measure what an MPI machine does under load, and draw it
    #[command(after_help = AFTER_HELP)]
    Characterize(characterize::Options),
    /// Print what a machine would do under load, by a model of flows on its links
    #[command(after_help = AFTER_HELP)]
    Fluid(fluid::Options),
    /// Advise where to place the ranks of an application, from what was characterized
    #[command(after_help = AFTER_HELP)]
    Advise(advise::Options),
}

#[derive(Debug, Args)]
struct Overhead {
    /// The campaign file
    #[arg(value_name = "FILE")]
    campaign: PathBuf,
    /// The folder for journal and tables [default: the campaign's name]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Check that everything is there, print what would run, and run nothing
    #[arg(long)]
    check: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Of {
    /// The folder of the campaign, or of the measurement
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Compare {
    /// The folder of the campaign, or of the measurement, to compare with
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The folder of the campaign, or of the measurement, to compare
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Compare times, not slowdowns: for two campaigns on one machine
    #[arg(long)]
    seconds: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs `tidings lab`.
///
/// # Errors
/// [`Failure`].
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    match &options.action {
        Action::Overhead(options) => overhead(options),
        Action::Table(options) if noise::is_result(&options.folder) => {
            noise::table(&options.folder, options.json)
        }
        Action::Table(options) if characterize::is_result(&options.folder) => {
            characterize::table(&options.folder, options.json)
        }
        Action::Table(options) => {
            let (_, analysis) = analysis_of(&options.folder)?;
            show(&analysis, options.json)
        }
        Action::Compare(options) if noise::is_result(&options.first) => {
            noise::compare(&options.first, &options.second, options.json)
        }
        Action::Compare(options) if characterize::is_result(&options.first) => {
            characterize::compare(&options.first, &options.second, options.json)
        }
        Action::Compare(options) => comparison(options),
        Action::Series(options) => series::run(options),
        Action::Noise(options) => noise::run(options),
        Action::Characterize(options) => characterize::run(options),
        Action::Fluid(options) => fluid::run(options),
        Action::Advise(options) => advise::run(agent, options),
    }
}

fn overhead(options: &Overhead) -> Result<(), Failure> {
    let campaign = Campaign::read(&options.campaign)?;
    let folder = options.output.clone().unwrap_or_else(|| PathBuf::from(&campaign.name));
    if options.check {
        tidings_overhead::stage::Stage::prepare(&campaign)?;
        let machine = machine(&campaign)
            .map_or(String::new(), |(seen, fits)| format!("this machine: {seen}: {fits}\n"));
        return output::print(&(announced(&campaign, &folder) + &machine));
    }
    if let Some((seen, BUSY)) = machine(&campaign) {
        output::complain(&format!("{seen}: {BUSY}"));
    }
    for notice in throttle::notices(&campaign.backend, campaign.scheduling) {
        output::complain(&notice);
    }
    let mut screen = Screen::begin("runs").map_err(Failure::Output)?;
    let table =
        Table::in_folder(&folder, "results", &again(options), Some(Seed::One(campaign.seed)));
    let table = table.map_err(ExperimentError::from)?;
    let records = measure::run(&campaign, &folder, &mut screen);
    screen.end();
    let records = records?;
    let analysis = analyse(&campaign, &records);
    table
        .write(&report::results_csv(&analysis), &facts(&campaign, &records))
        .map_err(ExperimentError::from)?;
    for (name, text) in [
        ("phases.csv", report::phases_csv(&analysis)),
        ("figures.csv", report::figures_csv(&analysis)),
        ("results.md", page::markdown(&campaign, &analysis, "results.svg")),
        ("results.svg", picture::svg(&campaign.name, &analysis)),
    ] {
        let path = folder.join(name);
        if text.lines().count() > 1 {
            std::fs::write(&path, text).map_err(|source| Failure::File { path, source })?;
        }
    }
    show(&analysis, options.json)
}

/// A machine on which most pairs would be dropped, and another.
const BUSY: &str = "busy: the rule would drop such runs; stop what else runs here";
const QUIET: &str = "quiet enough for the rule";

/// What else this machine does at the moment, if runs are on it, and whether the rule allows it.
fn machine(campaign: &Campaign) -> Option<(Quiet, &'static str)> {
    let seen = campaign.backend.is_here().then(|| Quiet::watch(quiet::WATCH))?;
    Some((seen, if seen.is_passed(&campaign.contamination) { BUSY } else { QUIET }))
}

/// The command that makes the tables again.
fn again(options: &Overhead) -> String {
    let output = options.output.as_ref();
    let output = output.map_or(String::new(), |path| format!(" --output {}", path.display()));
    format!("tidings lab overhead {}{output}", options.campaign.display())
}

/// The facts of the manifest besides those of all manifests.
fn facts(campaign: &Campaign, records: &[Record]) -> Map<String, Value> {
    let measured_s: f64 = records.iter().map(|record| record.wall_s).sum();
    let mut facts = Map::new();
    facts.insert("campaign".to_owned(), json!(campaign.name));
    facts.insert("campaign_sha256".to_owned(), json!(campaign.digest));
    facts.insert("runs".to_owned(), json!(records.len()));
    facts.insert("measured_s".to_owned(), json!(measured_s.round()));
    facts.insert("first".to_owned(), json!(records.first().map(|record| &record.started)));
    facts.insert("last".to_owned(), json!(records.last().map(|record| &record.started)));
    facts
}

/// What a campaign would run.
fn announced(campaign: &Campaign, folder: &Path) -> String {
    let plan = schedule::plan(campaign);
    let arms: Vec<String> = campaign.arms.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = campaign.applications.iter().map(|own| own.name.as_str()).collect();
    let limit_s = campaign.limit_s * plan.len() as f64;
    format!(
        "{}: {} runs into {}\napplications: {}\nnodes: {:?}\nbaseline: {}\narms: {}\n\
         at most {}\n",
        campaign.name,
        plan.len(),
        folder.display(),
        names.join(", "),
        campaign.nodes,
        campaign.baseline,
        arms.join(", "),
        humantime::format_duration(Duration::from_secs(limit_s as u64)),
    )
}

/// A campaign by its folder, and the results in its journal.
fn analysis_of(folder: &Path) -> Result<(Campaign, Analysis), Failure> {
    let campaign = Campaign::read(&folder.join(journal::CAMPAIGN))?;
    let (_, records) = journal::read::<Record>(folder, SCHEMA)?;
    let analysis = analyse(&campaign, &records);
    Ok((campaign, analysis))
}

fn show(analysis: &Analysis, json: bool) -> Result<(), Failure> {
    if json {
        return output::print_json(analysis);
    }
    for warning in report::warnings(analysis) {
        output::complain(&warning);
    }
    let left = ["application", "arm", "verdict"];
    let headings = report::HEADINGS
        .map(|heading| (heading, if left.contains(&heading) { Align::Left } else { Align::Right }));
    output::print(&render(&headings, &report::lines(analysis)))
}

fn comparison(options: &Compare) -> Result<(), Failure> {
    let quantity = if options.seconds { Quantity::Seconds } else { Quantity::Slowdown };
    let (first, second) = (analysis_of(&options.first)?.1, analysis_of(&options.second)?.1);
    let differences = compare(&first, &second, quantity)?;
    if options.json {
        output::print_json(&differences)?;
    } else {
        output::print(&compared(&differences, quantity))?;
    }
    match differences.iter().filter(|difference| difference.differs).count() {
        0 => Ok(()),
        count => Err(Failure::Differs { what: "arms", count, all: differences.len() }),
    }
}

fn compared(differences: &[Difference], quantity: Quantity) -> String {
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let value = |value: f64| match quantity {
        Quantity::Slowdown => percent(value) + " %",
        Quantity::Seconds => format!("{value:.4} s"),
    };
    let rows: Vec<Vec<String>> = differences
        .iter()
        .map(|own| {
            let judged = (own.p_holm, own.differs);
            let [change, p, verdict] = verdict::cells(own.change, percent, judged);
            vec![
                own.application.clone(),
                own.nodes.to_string(),
                own.doing.to_string(),
                value(own.values[0]),
                value(own.values[1]),
                change,
                p,
                verdict,
            ]
        })
        .collect();
    let headings = [
        ("application", Align::Left),
        ("nodes", Align::Right),
        ("arm", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("change, %", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ];
    render(&headings, &rows)
}
