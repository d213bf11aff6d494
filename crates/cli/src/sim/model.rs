//! `tidings sim model`: the model of the core compared with simulations, point by point.

use serde_json::{Map, Value};
use tidings_sim::Scenario;
use tidings_sim::predicted::{Figures, Point, csv, points};

use super::failure::SimulationError;
use super::parallel;
use super::table::{TableOptions, place_of, print_or_write};
use super::watch::Stop;
use crate::Failure;

/// Simulates all points and writes the table.
pub(super) fn run(options: &TableOptions) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    let all = points(options.nodes_max);
    let scenarios: Vec<Vec<Scenario>> =
        all.iter().map(|point| vec![point.scenario(options.seed)]).collect();
    parallel::check_all(&scenarios)?;
    let place = place_of(options.output.as_deref(), "model", options.seed)?;
    super::watch::say(&format!("seed {}", options.seed));
    let reports = parallel::run_groups(&scenarios, &stop)?;
    let measured = reports.iter().flatten().map(|report| {
        Figures::measured(report).expect("a whole run among two nodes or more has samples")
    });
    let table: Vec<(Point, Figures)> = all.into_iter().zip(measured).collect();
    print_or_write(place, &csv(&table), &worst(&table))
}

/// The largest deviation of the model's ages, as a fact of the manifest.
fn worst(table: &[(Point, Figures)]) -> Map<String, Value> {
    let deviations = table.iter().map(|(point, measured)| {
        let [average, quantile, oldest, ..] = point.predicted().deviations_percent(measured);
        average.abs().max(quantile.abs()).max(oldest.abs())
    });
    let largest = deviations.fold(0.0, f64::max);
    Map::from_iter([("largest_deviation_percent".to_owned(), Value::from(largest))])
}
