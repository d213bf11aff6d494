//! `tidings sim figure2`: the figure's points simulated, as a table with a manifest beside it.

use serde_json::{Map, Value};
use tidings_sim::figure2::{Measured, Point, csv, points};
use tidings_sim::{Report, Scenario};

use super::failure::SimulationError;
use super::parallel;
use super::table::{TableOptions, place_of, print_or_write};
use super::watch::Stop;
use crate::Failure;

/// Simulates all points and writes the table.
pub(super) fn run(options: &TableOptions) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    let place = place_of(options.output.as_deref(), "figure2", options.seed)?;
    super::watch::say(&format!("seed {}", options.seed));
    let all = points(options.nodes_max);
    let measured = simulate(&all, options.seed, &stop)?;
    let largest = measured.iter().filter_map(Measured::deviation_percent).map(f64::abs);
    let largest = largest.fold(0.0, f64::max);
    let facts = Map::from_iter([("largest_deviation_percent".to_owned(), Value::from(largest))]);
    print_or_write(place, &csv(&measured), &facts)
}

/// Simulates the runs of all points on all processors.
fn simulate(all: &[Point], seed: u64, stop: &Stop) -> Result<Vec<Measured>, SimulationError> {
    let of = |point: &Point| (0..point.runs).map(|run| point.scenario(seed, run)).collect();
    let scenarios: Vec<Vec<Scenario>> = all.iter().map(of).collect();
    let reports = parallel::run_groups(&scenarios, stop)?;
    let measured = |(point, reports): (&Point, Vec<Report>)| {
        point.measured(&reports).expect("a whole run among two nodes or more has samples")
    };
    Ok(all.iter().zip(reports).map(measured).collect())
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
        let table = |seed| csv(&simulate(&some, seed, &stop).expect("possible"));
        assert_eq!(table(1), table(1));
        assert_ne!(table(1), table(2));
        assert_eq!(table(1).lines().count(), 11);
    }
}
