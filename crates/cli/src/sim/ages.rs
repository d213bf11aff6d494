//! `tidings sim ages`: the slides' age table, ages in seconds by number of nodes and interval.

use std::path::PathBuf;

use clap::Args;
use serde_json::Map;
use tidings_sim::ages::{Measured, SIZES, csv, runs_of, scenario};
use tidings_sim::summary::seeded;
use tidings_sim::{Scenario, Strategy};

use super::failure::SimulationError;
use super::parallel;
use super::table::{place_of, print_or_write};
use super::watch::Stop;
use crate::Failure;

/// Options of `tidings sim ages`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Write ages.csv and ages.manifest.json into this folder instead of standard output
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Numbers of nodes
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = SIZES)]
    nodes: Vec<u32>,
    /// How a node spreads its window
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    strategy: Strategy,
    /// The random seed of each size's first run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Simulates each number of nodes and writes the table.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    let Options { strategy, seed, .. } = *options;
    let of = |&nodes: &u32| seeded(&scenario(strategy, nodes, seed), runs_of(nodes));
    let groups: Vec<Vec<Scenario>> = options.nodes.iter().map(of).collect();
    parallel::check_all(&groups)?;
    let place = place_of(options.output.as_deref(), "ages", options.seed)?;
    super::watch::say(&format!("seed {seed}"));
    let reports = parallel::run_groups(&groups, &stop)?;
    let measured = reports.iter().map(|reports| {
        Measured::of(reports).expect("a whole run among two nodes or more has samples")
    });
    print_or_write(place, &csv(&measured.collect::<Vec<_>>()), &Map::new())
}
