//! `tidings sim figure2`: the figure's points simulated, as a table with a manifest beside it.
//!
//! The points are independent, so the processors share them: the largest first, each taken by
//! whoever is free. The table depends on the random seed alone, not on who simulated what.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use tidings_sim::ScenarioError;
use tidings_sim::figure2::{Measured, Point, csv, points};

use super::SimulationError;
use super::watch::{Stop, Watch, say};
use crate::{Failure, output};

/// Options of `tidings sim figure2`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Write figure2.csv and figure2.manifest.json into this folder, not to standard output
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Leave out larger clusters
    #[arg(long, value_name = "N", default_value_t = 8192)]
    nodes_max: u32,
    /// The random seed of each point's first run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Where a table comes from.
#[derive(Debug, Serialize)]
struct Manifest {
    command: String,
    seed: u64,
    commit: String,
    version: &'static str,
    rustc: String,
    machine: String,
    processors: usize,
    wall_s: f64,
    largest_deviation_percent: f64,
}

/// Simulates all points and writes the table.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    say(&format!("seed {}", options.seed));
    let start = Instant::now();
    // Before the run: the sources may change while it lasts.
    let commit = said_by("git", &["describe", "--always", "--dirty", "--abbrev=40"]);
    let all = points(options.nodes_max);
    let measured = simulate(&all, options.seed, &stop).map_err(SimulationError::from)?;
    if measured.len() < all.len() {
        let (measured, units) = (measured.len() as u32, all.len() as u32);
        return Err(SimulationError::Stopped { measured, units }.into());
    }
    let table = csv(&measured);
    let Some(folder) = &options.output else { return output::print(&table) };
    let wall_s = start.elapsed().as_secs_f64();
    let manifest = Manifest::of(options, commit, wall_s, &measured);
    let manifest = serde_json::to_string_pretty(&manifest).map_err(io::Error::from)?;
    write(folder, "figure2.csv", &table)?;
    write(folder, "figure2.manifest.json", &(manifest + "\n"))?;
    Ok(())
}

pub(super) fn write(folder: &Path, name: &str, text: &str) -> Result<(), SimulationError> {
    let file = folder.join(name);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, text));
    written.map_err(|source| SimulationError::File { file, source })
}

/// Simulates the points on all processors; fewer come back, in their order, if it is stopped.
fn simulate(all: &[Point], seed: u64, stop: &Stop) -> Result<Vec<Measured>, ScenarioError> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Watch::of(stop), Vec::new()));
    let worker = || -> Result<(), ScenarioError> {
        // From the end: the largest clusters take longest.
        while let Some(at) = all.len().checked_sub(1 + next.fetch_add(1, Ordering::Relaxed)) {
            let Some(measured) = simulate_point(&all[at], seed, stop)? else { return Ok(()) };
            let mut done = done.lock().expect("no worker panics while it holds the lock");
            done.1.push((at, measured));
            let count = done.1.len() as u32;
            let _ = done.0.unit(count, all.len() as u32);
        }
        Ok(())
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        ends.collect::<Result<(), ScenarioError>>()
    })?;
    let (mut watch, mut measured) = done.into_inner().expect("no worker panics");
    watch.end();
    measured.sort_by_key(|&(at, _)| at);
    Ok(measured.into_iter().map(|(_, measured)| measured).collect())
}

/// The means over a point's runs; `None` if it was stopped.
fn simulate_point(
    point: &Point,
    seed: u64,
    stop: &Stop,
) -> Result<Option<Measured>, ScenarioError> {
    let mut reports = Vec::new();
    for run in 0..point.runs {
        let scenario = point.scenario(seed, run);
        // The bar counts points; a run only looks whether it is to stop.
        let go_on = &mut |_, _| stop.verdict();
        reports.push(tidings_sim::run(&scenario, go_on)?);
        if stop.is_set() {
            return Ok(None);
        }
    }
    Ok(point.measured(&reports))
}

impl Manifest {
    fn of(options: &Options, commit: String, wall_s: f64, measured: &[Measured]) -> Self {
        let Options { nodes_max, seed, .. } = options;
        let folder = options.output.as_deref().unwrap_or(Path::new("."));
        let largest = measured.iter().filter_map(Measured::deviation_percent).map(f64::abs);
        Self {
            command: format!(
                "tidings sim figure2 --seed {seed} --nodes-max {nodes_max} --output {}",
                folder.display()
            ),
            seed: *seed,
            commit,
            version: env!("CARGO_PKG_VERSION"),
            rustc: said_by("rustc", &["--version"]),
            machine: processor_name(),
            processors: thread::available_parallelism().map_or(1, usize::from),
            wall_s,
            largest_deviation_percent: largest.fold(0.0, f64::max),
        }
    }
}

/// What a program prints, or `unknown`.
pub(super) fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let said = output.ok().filter(|output| output.status.success());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    said.unwrap_or_else(|| "unknown".to_owned())
}

/// The name the kernel gives the processor, or `unknown`.
pub(super) fn processor_name() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown".to_owned(), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_depends_on_the_seed_alone() {
        let stop = Stop::at_signals().expect("signals can be caught");
        let mut some = points(128);
        for point in &mut some {
            point.runs = 1;
        }
        let table = |seed| simulate(&some, seed, &stop).map(|measured| csv(&measured));
        assert_eq!(table(1), table(1));
        assert_ne!(table(1), table(2));
        assert_eq!(table(1).expect("possible").lines().count(), 11);
    }
}
