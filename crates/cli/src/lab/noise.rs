//! `tidings lab noise`: what the system takes from cores, and who takes it.
//!
//! The method is a crate of its own (`tidings-noise`). This module turns options into its settings,
//! shows progress, and prints and keeps what came out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Map, json};
use tidings_cores::{CoreSet, enter, journal};
use tidings_experiment::manifest::Table;
use tidings_noise::NoiseError;
use tidings_noise::comparison::{self, Difference, Measure};
use tidings_noise::machine;
use tidings_noise::measure::measure;
use tidings_noise::result::{FILE, Outcome, Probe, Taken};
use tidings_noise::settings::{Attribution, Method, Settings, Way};

use super::screen::Screen;
use super::verdict;
use crate::table::{Align, render};
use crate::{Failure, output};

/// Sources that the table has of each probe; the result has all.
const MOST_SOURCES: usize = 12;
/// What a probe may spend on itself before it is reported.
const OWN_SHARE: f64 = 0.001;

/// Options of `tidings lab noise`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The cores to measure, all at once, as in 0,2-5 [default: all that may be used]
    #[arg(long, value_name = "LIST")]
    cores: Option<CoreSet>,
    /// Take the cores of a role, as tidings cores run does; the thread that keeps samples does not
    #[arg(long, value_name = "ROLE")]
    role: Option<Named>,
    /// Let the kernel move the probes, one for each core, among these cores
    #[arg(long)]
    unpinned: bool,
    /// How long, from 1 s to an hour
    #[arg(long = "for", value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = humantime::parse_duration)]
    duration: Duration,
    /// What a quantum is: fixed time (ftq), fixed work (fwq), or fixed time without work (gaps)
    #[arg(long, value_name = "METHOD", default_value = "ftq")]
    method: Quanta,
    /// The length of a quantum of fixed time
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    #[arg(value_parser = humantime::parse_duration)]
    quantum: Duration,
    /// Units of work, of some 100 ns, in a quantum of fixed work
    #[arg(long, value_name = "UNITS", default_value_t = 10_000)]
    work: u64,
    /// What a gap takes at least, besides the work in it
    #[arg(long, value_name = "TIME", default_value = "500ns")]
    #[arg(value_parser = humantime::parse_duration)]
    threshold: Duration,
    /// Who names the gaps: the kernel's tracer osnoise, its tracepoints (both: root), what /proc
    /// counts, or the best there is
    #[arg(long, value_name = "BY", default_value = "auto")]
    attribution: By,
    /// The folder for the result and the raw samples
    #[arg(long, value_name = "DIR", default_value = "noise")]
    output: PathBuf,
    /// Print the result as one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// A role by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Named {
    Application,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Quanta {
    Ftq,
    Fwq,
    Gaps,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Auto,
    Osnoise,
    Tracepoints,
    Proc,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let (way, allowed) = match options.role {
        None => (Way::Affinity, machine::allowed()?),
        Some(Named::Application) => {
            let folder = PathBuf::from(journal::FOLDER);
            let cores = enter::cores(&folder, enter::Role::Application)?;
            (Way::Application(folder), cores)
        }
    };
    let settings = Settings {
        method: match options.method {
            Quanta::Ftq => Method::Ftq,
            Quanta::Fwq => Method::Fwq,
            Quanta::Gaps => Method::Gaps,
        },
        duration: options.duration,
        quantum: options.quantum,
        work_units: options.work,
        threshold: options.threshold,
        cores: machine::chosen(options.cores.as_ref(), allowed)?,
        is_pinned: !options.unpinned,
        attribution: match options.attribution {
            By::Auto => Attribution::Auto,
            By::Osnoise => Attribution::Osnoise,
            By::Tracepoints => Attribution::Tracepoints,
            By::Proc => Attribution::Proc,
        },
        way,
    };
    settings.check()?;
    let table = Table::at(&options.output.join(FILE), &again(options), None);
    let table = table.map_err(NoiseError::from)?;
    let mut screen = Screen::begin("s").map_err(Failure::Output)?;
    let outcome = measure(&settings, &options.output, &mut screen);
    screen.end();
    let outcome = outcome?;
    let mut text = serde_json::to_string_pretty(&outcome).map_err(std::io::Error::from)?;
    text.push('\n');
    table.write(&text, &facts(&outcome)).map_err(NoiseError::from)?;
    show(&outcome, options.json)?;
    match outcome.signal {
        Some(signal) => {
            let (done_s, all_s) = (outcome.measured_s, outcome.asked_s);
            Err(NoiseError::Stopped { done_s, all_s, signal }.into())
        }
        None => Ok(()),
    }
}

/// The command that measures the same again.
fn again(options: &Options) -> String {
    let time = |time: Duration| humantime::format_duration(time).to_string().replace(' ', "");
    let word = |value: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
        value().map_or_else(String::new, |value| value.get_name().to_owned())
    };
    let mut words = vec!["tidings lab noise".to_owned()];
    words.extend(options.cores.as_ref().map(|own| format!("--cores {own}")));
    words.extend(options.role.map(|_| "--role application".to_owned()));
    words.extend(options.unpinned.then(|| "--unpinned".to_owned()));
    words.push(format!("--for {}", time(options.duration)));
    words.push(format!("--method {}", word(&|| options.method.to_possible_value())));
    words.push(format!("--quantum {} --work {}", time(options.quantum), options.work));
    words.push(format!("--threshold {}", time(options.threshold)));
    words.push(format!("--attribution {}", word(&|| options.attribution.to_possible_value())));
    words.push(format!("--output {}", options.output.display()));
    words.join(" ")
}

/// The facts of the manifest besides those of all manifests.
fn facts(outcome: &Outcome) -> Map<String, serde_json::Value> {
    Map::from_iter([
        ("probes".to_owned(), json!(outcome.probes.len())),
        ("measured_s".to_owned(), json!(outcome.measured_s)),
        ("signal".to_owned(), json!(outcome.signal)),
        ("attribution".to_owned(), json!(outcome.attribution.by)),
    ])
}

/// Whether a folder has a result of this command.
pub(super) fn is_result(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// Prints the result in a folder.
pub(super) fn table(folder: &Path, json: bool) -> Result<(), Failure> {
    show(&Outcome::read(folder)?, json)
}

fn show(outcome: &Outcome, json: bool) -> Result<(), Failure> {
    if json {
        return output::print_json(outcome);
    }
    for notice in notices(outcome) {
        output::complain(&notice);
    }
    output::print(&format!("{}\n{}", probes(outcome), sources(outcome)))
}

/// What a reader of the tables must know.
fn notices(outcome: &Outcome) -> Vec<String> {
    let mut notices = Vec::new();
    let attributed = &outcome.attribution;
    if let Some(reason) = &attributed.reason {
        let by = &attributed.by;
        notices.push(format!("sources are named by {by} ({reason}); of /proc they are estimates"));
    }
    if attributed.missed > 0 {
        let missed = attributed.missed;
        notices.push(format!(
            "the kernel's events came too fast {missed} times: some gaps have no name"
        ));
    }
    if outcome.keeper_cores.is_none() {
        let notice = "all cores that may be used are measured, so the thread that keeps samples \
                      disturbs them: it is named as `tidings`";
        notices.push(notice.to_owned());
    }
    for probe in &outcome.probes {
        let place = place(probe);
        if probe.own.dropped > 0 {
            let dropped = probe.own.dropped;
            notices.push(format!(
                "core {place}: {dropped} samples were not kept: the disk or this \
                                  process was too slow"
            ));
        }
        if probe.own.share > OWN_SHARE {
            let share = percent(probe.own.share);
            notices.push(format!("core {place}: the probe spent {share} % of the time on samples"));
        }
    }
    notices
}

fn place(probe: &Probe) -> String {
    probe.core.map_or_else(|| "any".to_owned(), |core| core.to_string())
}

fn percent(share: f64) -> String {
    format!("{:.3}", 100.0 * share)
}

fn micros(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns as f64 / 1e3))
}

fn probes(outcome: &Outcome) -> String {
    let quanta = if outcome.method == "fwq" { "time cv, %" } else { "work cv, %" };
    let headings = [
        ("core", Align::Left),
        ("s", Align::Right),
        ("lost, %", Align::Right),
        ("gaps/s", Align::Right),
        ("median, us", Align::Right),
        ("p99, us", Align::Right),
        ("longest, us", Align::Right),
        (quanta, Align::Right),
        ("speed", Align::Right),
        ("speed cv, %", Align::Right),
        ("named, %", Align::Right),
    ];
    let row = |probe: &Probe| {
        vec![
            place(probe),
            format!("{:.1}", probe.measured_s),
            percent(probe.lost_share),
            format!("{:.1}", probe.gaps.per_s),
            micros(probe.gaps.median_ns),
            micros(probe.gaps.p99_ns),
            micros(Some(probe.gaps.longest_ns)),
            format!("{:.1}", 100.0 * probe.quanta.variation),
            format!("{:.2}", probe.speed.mean),
            format!("{:.1}", 100.0 * probe.speed.variation),
            format!("{:.1}", 100.0 * probe.named_share),
        ]
    };
    render(&headings, &outcome.probes.iter().map(row).collect::<Vec<_>>())
}

fn sources(outcome: &Outcome) -> String {
    let headings = [
        ("core", Align::Left),
        ("source", Align::Left),
        ("which", Align::Left),
        ("of lost, %", Align::Right),
        ("of time, %", Align::Right),
        ("gaps", Align::Right),
        ("longest, us", Align::Right),
    ];
    let row = |probe: &Probe, taken: &Taken| {
        let count =
            |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |own| own.to_string());
        vec![
            place(probe),
            taken.kind.word().to_owned(),
            taken.name.clone(),
            format!("{:.2}", 100.0 * taken.share),
            percent(taken.share * probe.lost_share),
            count(taken.gaps),
            micros(taken.longest_ns),
        ]
    };
    let rows: Vec<Vec<String>> = outcome
        .probes
        .iter()
        .flat_map(|probe| {
            let most = probe.sources.iter().take(MOST_SOURCES);
            most.map(move |taken| row(probe, taken)).collect::<Vec<_>>()
        })
        .collect();
    render(&headings, &rows)
}

/// Compares two results.
pub(super) fn compare(first: &Path, second: &Path, json: bool) -> Result<(), Failure> {
    let (first, second) = (Outcome::read(first)?, Outcome::read(second)?);
    let differences = comparison::compare(&first, &second)?;
    if json {
        output::print_json(&differences)?;
    } else {
        output::print(&compared(&differences))?;
    }
    match differences.iter().filter(|difference| difference.differs).count() {
        0 => Ok(()),
        count => Err(Failure::Differs { what: "measures", count, all: differences.len() }),
    }
}

fn compared(differences: &[Difference]) -> String {
    let value = |measure: Measure, value: f64| match measure {
        Measure::LostShare => percent(value) + " %",
        Measure::Speed => format!("{value:.3}"),
    };
    let row = |own: &Difference| {
        let end = |end| value(own.measure, end);
        let [change, p, verdict] = verdict::cells(own.change, end, (own.p_holm, own.differs));
        vec![
            own.core.map_or_else(|| "any".to_owned(), |core| core.to_string()),
            own.measure.word().to_owned(),
            value(own.measure, own.values[0]),
            value(own.measure, own.values[1]),
            change,
            p,
            verdict,
        ]
    };
    let headings = [
        ("core", Align::Left),
        ("measure", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("change", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ];
    render(&headings, &differences.iter().map(row).collect::<Vec<_>>())
}
