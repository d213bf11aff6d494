//! `tidings sim failures`: ages under loss and dead nodes, and when a dead node is detected.

use std::path::PathBuf;

use clap::Args;
use serde_json::Map;
use tidings_sim::ages::runs_of;
use tidings_sim::failures::{Case, Measured, cases, csv};
use tidings_sim::summary::seeded;
use tidings_sim::{Scenario, Strategy};

use super::failure::SimulationError;
use super::parallel;
use super::table::{place_of, print_or_write};
use super::watch::Stop;
use crate::Failure;

/// Options of `tidings sim failures`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Write failures.csv and failures.manifest.json into this folder instead of standard output
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Numbers of nodes
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1024])]
    nodes: Vec<u32>,
    /// How a node spreads its window: one name or several
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "uniform")]
    strategy: Vec<Strategy>,
    /// The random seed of each case's first run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Simulates each case of each strategy and number of nodes, and writes the table.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    let sizes = |&strategy| options.nodes.iter().map(move |&nodes| cases(strategy, nodes));
    let groups: Vec<Vec<Case>> = options.strategy.iter().flat_map(sizes).collect();
    let of = |case: &Case| seeded(&case.scenario(options.seed), runs_of(case.nodes));
    let scenarios: Vec<Vec<Scenario>> = groups.iter().flatten().map(of).collect();
    parallel::check_all(&scenarios)?;
    let place = place_of(options.output.as_deref(), "failures", options.seed)?;
    super::watch::say(&format!("seed {}", options.seed));
    let mut reports = parallel::run_groups(&scenarios, &stop)?.into_iter();
    let measured: Vec<Vec<Measured>> = groups
        .iter()
        .map(|group| {
            let of_case = group.iter().zip(reports.by_ref());
            of_case.map(|(&case, reports)| Measured::of(case, &reports)).collect()
        })
        .collect();
    print_or_write(place, &csv(&measured), &Map::new())
}
