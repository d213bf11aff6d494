//! `tidings sim deaths`: how soon the death of a killed process is detected.

use std::path::PathBuf;

use clap::Args;
use serde_json::Map;
use tidings_sim::Scenario;
use tidings_sim::kills::{Case, cases, csv};

use super::failure::SimulationError;
use super::parallel;
use super::table::{place_of, print_or_write};
use super::watch::Stop;
use crate::Failure;

/// Options of `tidings sim deaths`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Write deaths.csv and deaths.manifest.json into this folder instead of standard output
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The random seed of each case
    #[arg(long, value_name = "N", default_value_t = 3)]
    seed: u64,
    /// How many nodes are killed, one after the other, in each case
    #[arg(long, value_name = "N", default_value_t = 500)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
}

/// Simulates all cases and writes the table.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    let all = cases();
    let of =
        |case: &Case| case.scenario(options.seed, options.kills).map(|scenario| vec![scenario]);
    let scenarios: Result<Vec<Vec<Scenario>>, _> = all.iter().map(of).collect();
    let scenarios = scenarios.map_err(SimulationError::from)?;
    let place = place_of(options.output.as_deref(), "deaths", options.seed)?;
    super::watch::say(&format!("seed {}", options.seed));
    let reports = parallel::run_groups(&scenarios, &stop)?;
    let table: Vec<_> = all.into_iter().zip(reports.into_iter().flatten()).collect();
    print_or_write(place, &csv(&table), &Map::new())
}
