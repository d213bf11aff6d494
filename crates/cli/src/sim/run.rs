//! `tidings sim run`: one cluster, once or in independent runs.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::{Map, Value};
use tidings_experiment::manifest::{Seed, Table, command_line};
use tidings_sim::summary::{self, Summary};
use tidings_sim::{Latency, Mode, Plan, Report, Scenario, Span, Strategy, Window};

use super::failure::SimulationError;
use super::overrule::{mode, set};
use super::parallel;
use super::watch::{self, Stop, Watch};
use crate::{Failure, output};

/// Options of `tidings sim run`: each overrides the scenario file.
#[derive(Debug, Default, Args)]
pub(super) struct Run {
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

impl Run {
    /// Runs it and prints what it gives.
    pub(super) fn run(&self) -> Result<(), Failure> {
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
