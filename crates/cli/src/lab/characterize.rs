//! `tidings lab characterize`: what an MPI machine does under load.
//!
//! Runs are those of a series; what is made of them is a crate of its own
//! (`tidings-characterize`). This module writes the series for this machine, shows progress, and
//! keeps table, figures and pages beside the journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use tidings_characterize::comparison::{self, Difference, Sessions};
use tidings_characterize::figure::{Figure, figures};
use tidings_characterize::plan::{self, Gossip, Here};
use tidings_characterize::point::{Characterisation, characterisation};
use tidings_characterize::{beside, growth, orders, page, table};
use tidings_cores::topology::Topology;
use tidings_experiment::ExperimentError;
use tidings_experiment::allowance::Allowance;
use tidings_experiment::journal;
use tidings_experiment::manifest::Table;
use tidings_experiment::pressure::Contamination;
use tidings_experiment::quiet::{self, Quiet};
use tidings_experiment::series::{Prepared, Record, SCHEMA, Series, lines};

use super::links::{self, Links};
use super::screen::Screen;
use super::verdict;
use crate::table::{Align, render};
use crate::{Failure, output};

/// The table of points, by which a folder is known.
const TABLE: &str = "points.csv";

/// What `--quick` promises.
const QUICK: Duration = Duration::from_secs(120);
/// What of the time of all runs is for what follows them: an end of the last one, if it takes
/// longer than was expected, and the pages.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// Options of `tidings lab characterize`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// A series that runs tidings-mpi-characterize [default: one for this machine]
    #[arg(value_name = "FILE.toml", conflicts_with_all = ["quick", "mpi", "program", "gossip"])]
    series: Option<PathBuf>,
    /// Measure for two minutes at most
    #[arg(long)]
    quick: bool,
    /// Measure for so long at most: what is left then is not run, and the same command goes on with
    /// it [default: no bound, with --quick 2m]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    /// The MPI of this machine to measure [default: the first whose program is there]
    #[arg(long, value_name = "MPI")]
    mpi: Option<Family>,
    /// tidings-mpi-characterize, if it is neither beside this command nor in PATH
    #[arg(long, value_name = "FILE", requires = "mpi")]
    program: Option<PathBuf>,
    /// Measure each test with hidden ranks that sleep and with such that gossip, in turn; the
    /// options are those of tidings-mpi-gossip
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "--interval 256 --window 20%")]
    gossip: Option<String>,
    /// The folder for journal, table and pages [default: the series' name]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Make runs that failed again, as after a host has died
    #[arg(long)]
    retry: bool,
    /// Check that everything is there, print what would run, and run nothing
    #[arg(long)]
    check: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Family {
    #[value(name = "openmpi")]
    OpenMpi,
    Mpich,
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
        }
    }
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let begun = Instant::now();
    let series = match &options.series {
        Some(file) => Series::read(file)?,
        None => Series::from_text(&plan::text(&here(options)?), Path::new("characterize.toml"))?,
    };
    let folder = options.output.clone().unwrap_or_else(|| PathBuf::from(&series.name));
    let mut prepared = Prepared::new(&series, &[])?;
    if options.retry {
        prepared.repeat_failed();
    }
    if let Some(time) = within(options) {
        prepared.allow(Allowance::since(begun, time.saturating_sub(AFTERWARDS)));
    }
    let links = links::gauged(&prepared)?;
    let is_here = series.machines.iter().any(|machine| machine.backend.is_here());
    let seen = is_here.then(|| Quiet::watch(quiet::WATCH));
    let busy = seen.filter(|seen| seen.is_passed(&Contamination::default().or_default()));
    if options.check {
        let machine = seen.map_or(String::new(), |seen| format!("this machine: {seen}\n"));
        let (count, folder) = (prepared.count(), folder.display());
        let links = links.iter().map(Links::said).collect::<String>();
        let time = within(options).map(humantime::format_duration);
        let most = time.map_or(String::new(), |time| format!(", within {time}"));
        let runs = format!("{}: {count} runs into {folder}{most}\n", series.name);
        return output::print(&(runs + &machine + &links));
    }
    if let Some(seen) = busy {
        output::complain(&format!("{seen}: runs during which that lasts are left out"));
    }
    let mut screen = Screen::begin("runs").map_err(Failure::Output)?;
    let table = Table::at(&folder.join(TABLE), &again(options), None);
    let table = table.map_err(ExperimentError::from)?;
    let records = prepared.run(&folder, &mut screen);
    screen.end();
    let records = records?;
    let mut all = characterisation(&series, &records);
    if let Some(time) = within(options) {
        let time = humantime::format_duration(time);
        let reason = format!("{time} did not suffice for it: the same command goes on with it");
        all.say_why_left_out(&reason);
    }
    table.write(&table::csv(&all), &facts(&series, &records)).map_err(ExperimentError::from)?;
    keep(&folder, &series, &records, &all)?;
    links::keep(&folder, &links)?;
    say(&folder, &all, records.len())
}

/// How long the command may take, if that is bounded.
fn within(options: &Options) -> Option<Duration> {
    options.within.or(options.quick.then_some(QUICK))
}

/// Says what came out of so many runs.
fn say(folder: &Path, all: &Characterisation, runs: usize) -> Result<(), Failure> {
    for warning in page::warnings(all) {
        output::complain(&warning);
    }
    if let Some(Ok(effects)) = beside::effects(all) {
        output::print(&format!("{}\n", beside::sentence(&effects)))?;
    }
    let page = folder.join("characterize.html");
    let points = all.points.len();
    output::print(&format!("{points} points of {runs} runs; figures in {}\n", page.display()))
}

/// The files besides the table: raw rows, pages, figures, and what grows.
fn keep(
    folder: &Path,
    series: &Series,
    records: &[Record],
    all: &Characterisation,
) -> Result<(), Failure> {
    let figures = figures(all);
    let pictures = figures.iter().filter_map(|own| Some((own.file.clone(), own.svg.clone()?)));
    let mut files: BTreeMap<String, String> = pictures.collect();
    let left_out = all.left_out.iter().map(|own| json!(own.skipped).to_string() + "\n");
    for (name, text) in [
        ("samples.jsonl", lines(records) + &left_out.collect::<String>()),
        ("characterize.md", page::markdown(&series.name, all, &figures)),
        ("characterize.html", page::html(&series.name, all, &figures)),
        ("growth.jsonl", growth::rows(&all.points)),
        ("growth.toml", growth::limits(&all.points)),
    ] {
        files.insert(name.to_owned(), text);
    }
    files.extend(orders::csv(all).map(|text| ("orders.csv".to_owned(), text)));
    if let Some(Ok(effects)) = beside::effects(all) {
        files.insert("gossip.csv".to_owned(), beside::csv(&effects));
    }
    files.into_iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|source| Failure::File { path, source })
    })
}

/// This machine, with the program that measures it.
fn here(options: &Options) -> Result<Here, Failure> {
    let families = options.mpi.map_or(vec![Family::OpenMpi, Family::Mpich], |one| vec![one]);
    let named = |family: &Family| match &options.program {
        Some(path) => std::path::absolute(path).ok().filter(|path| path.is_file()),
        None => near(&format!("tidings-mpi-characterize.{}", family.name())),
    };
    let found = families.iter().find_map(|family| Some((*family, named(family)?)));
    let Some((family, program)) = found else {
        let name = format!("tidings-mpi-characterize.{}", families[0].name());
        let reason = format!(
            "no program {name}, neither beside this command nor in PATH: build it with \
             `mpi/characterize/build mpicc.{} target/mpi`, or name it with --mpi and --program",
            families[0].name()
        );
        return Err(ExperimentError::Program(reason).into());
    };
    let yielding = program.with_file_name("libtidings-yield.so");
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let processors = u32::try_from(processors).unwrap_or(u32::MAX);
    Ok(Here {
        mpi: family.name().to_owned(),
        program: program.display().to_string(),
        yielding: yielding.is_file().then(|| yielding.display().to_string()),
        cores: cores().unwrap_or(processors).min(processors),
        processors,
        quick: options.quick,
        gossip: options.gossip.as_ref().map(|own| gossip(own, family, &program)).transpose()?,
    })
}

/// How many cores this process may use, if this machine says which processors share one.
fn cores() -> Option<u32> {
    let topology = Topology::read(&tidings_cores::here::Here).ok()?;
    u32::try_from(topology.physical(&tidings_cores::here::allowed().ok()?)).ok()
}

/// The shim for gossip beside the tests: `make mpi` builds it beside their program.
fn gossip(options: &str, family: Family, program: &Path) -> Result<Gossip, Failure> {
    let name = format!("libtidings-shim.{}.so", family.name());
    let beside = program.with_file_name(&name);
    let found = Some(beside).filter(|file| file.is_file()).or_else(|| near(&name));
    let shim = found.ok_or_else(|| {
        let folder = program.parent().unwrap_or(Path::new(".")).display();
        ExperimentError::Program(format!(
            "no {name} for --gossip, neither in {folder} nor beside this command: `make mpi` builds it"
        ))
    })?;
    Ok(Gossip { shim: shim.display().to_string(), options: options.to_owned() })
}

/// A program beside this command, among what `make mpi` builds beside it, or in PATH.
fn near(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [folder.to_owned(), folder.join("../mpi")].into_iter();
    folders
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .and_then(|file| file.canonicalize().ok())
}

/// The command that measures the same again.
fn again(options: &Options) -> String {
    let mut words = vec!["tidings lab characterize".to_owned()];
    words.extend(options.series.iter().map(|file| file.display().to_string()));
    words.extend(options.quick.then(|| "--quick".to_owned()));
    words.extend(options.within.map(|time| {
        format!("--within {}", humantime::format_duration(time).to_string().replace(' ', ""))
    }));
    words.extend(options.mpi.iter().map(|family| format!("--mpi {}", family.name())));
    words.extend(options.program.iter().map(|file| format!("--program {}", file.display())));
    words.extend(options.gossip.iter().map(|own| format!("--gossip='{own}'")));
    words.extend(options.output.iter().map(|folder| format!("--output {}", folder.display())));
    words.join(" ")
}

/// The facts of the manifest besides those of all manifests.
fn facts(series: &Series, records: &[Record]) -> Map<String, Value> {
    let measured_s: f64 = records.iter().map(|record| record.wall_s).sum();
    Map::from_iter([
        ("series".to_owned(), json!(series.name)),
        ("series_sha256".to_owned(), json!(series.digest)),
        ("runs".to_owned(), json!(records.len())),
        ("measured_s".to_owned(), json!(measured_s.round())),
    ])
}

/// Whether a folder has a result of this command.
pub(super) fn is_result(folder: &Path) -> bool {
    folder.join(TABLE).is_file()
}

/// The series of a folder, and its runs.
pub(super) fn stored(folder: &Path) -> Result<(Series, Vec<Record>), Failure> {
    let file = folder.join(journal::CAMPAIGN);
    if !file.is_file() {
        let reason = "no characterisation is here: make one with `tidings lab characterize \
                      --output DIR`, or name another folder";
        let path = folder.to_owned();
        return Err(ExperimentError::Journal { path, reason: reason.to_owned() }.into());
    }
    let series = Series::read(&file)?;
    let (_, records) = journal::read::<Record>(folder, SCHEMA)?;
    Ok((series, records))
}

fn read(folder: &Path) -> Result<Characterisation, Failure> {
    let (series, records) = stored(folder)?;
    Ok(characterisation(&series, &records))
}

/// Prints what each figure says.
pub(super) fn table(folder: &Path, json: bool) -> Result<(), Failure> {
    let all = read(folder)?;
    if json {
        let points = all.points.iter().map(|own| json!(own));
        let skipped = all.not_measured().map(|own| json!(own));
        return output::print_json(&points.chain(skipped).collect::<Vec<Value>>());
    }
    let row =
        |figure: Figure| vec![figure.number.to_owned(), figure.title.to_owned(), figure.sentence];
    let rows: Vec<Vec<String>> = figures(&all).into_iter().map(row).collect();
    let headings = [("figure", Align::Left), ("of", Align::Left), ("says", Align::Left)];
    output::print(&render(&headings, &rows))
}

/// Compares two results.
pub(super) fn compare(first: &Path, second: &Path, json: bool) -> Result<(), Failure> {
    let [one, other] = [read(first)?, read(second)?];
    let differences = comparison::compare(&one.points, &other.points, Sessions::Apart)?;
    if json {
        output::print_json(&differences)?;
    } else {
        output::print(&compared(&differences))?;
    }
    match differences.iter().filter(|difference| difference.differs).count() {
        0 => Ok(()),
        count => Err(Failure::Differs { what: "tests", count, all: differences.len() }),
    }
}

fn compared(differences: &[Difference]) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let row = |own: &Difference| {
        let [change, p, verdict] = verdict::cells(own.change, percent, (own.p_holm, own.differs));
        vec![
            own.machine.clone(),
            own.ranks.to_string(),
            own.test.clone(),
            own.variant.clone(),
            format!("{}/{}", own.runs[0], own.runs[1]),
            change,
            percent(own.floor),
            p,
            verdict,
        ]
    };
    let headings = [
        ("machine", Align::Left),
        ("ranks", Align::Right),
        ("test", Align::Left),
        ("variant", Align::Left),
        ("runs", Align::Right),
        ("longer, %", Align::Right),
        ("floor, %", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ];
    render(&headings, &differences.iter().map(row).collect::<Vec<_>>())
}
