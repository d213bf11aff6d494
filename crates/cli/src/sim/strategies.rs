//! `tidings sim strategies`: all strategies compared, at equal messages and bytes.

use serde_json::Map;
use tidings_sim::Scenario;
use tidings_sim::strategies::{Case, cases, csv};
use tidings_sim::summary::seeded;

use super::failure::SimulationError;
use super::parallel;
use super::table::{TableOptions, place_of, print_or_write};
use super::watch::Stop;
use crate::Failure;

/// Simulates all cases and writes the table.
pub(super) fn run(options: &TableOptions) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    let place = place_of(options.output.as_deref(), "strategies", options.seed)?;
    super::watch::say(&format!("seed {}", options.seed));
    let all = cases(options.nodes_max);
    let of = |case: &Case| seeded(&case.scenario(options.seed), case.runs());
    let scenarios: Vec<Vec<Scenario>> = all.iter().map(of).collect();
    let reports = parallel::run_groups(&scenarios, &stop)?;
    let table: Vec<_> = all.into_iter().zip(reports).collect();
    print_or_write(place, &csv(&table), &Map::new())
}
