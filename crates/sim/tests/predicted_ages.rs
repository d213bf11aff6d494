//! The model of the core against the simulation: ages, bytes and datagrams.
//!
//! Averages, the 99 % quantile and the oldest entry are within 5 %, at every point of
//! studies/freshness-model/model.csv and figure2.csv and at some that are simulated here. The
//! table is read; what the model says is computed again but where that would take long.

use std::ops::ControlFlow;

use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::model::forecast;
use tidings_sim::Strategy;
use tidings_sim::predicted::{Figures, Point, points};

const MODEL_CSV: &str = include_str!("../../../studies/freshness-model/model.csv");
const FIGURE2_CSV: &str = include_str!("../../../studies/figure-2/figure2.csv");

/// By how many per cent the model may be off: average, 99 %, oldest, bytes, datagrams.
const BOUNDS_PERCENT: [f64; 5] = [5.0, 5.0, 5.0, 1.0, 5.0];

fn compare(point: &Point, measured: &Figures) {
    let predicted = point.predicted();
    let deviations = predicted.deviations_percent(measured);
    for (deviation, bound) in deviations.iter().zip(BOUNDS_PERCENT) {
        assert!(deviation.abs() <= bound, "{point:?}: {predicted:?} {measured:?} {deviations:.1?}");
    }
}

/// A line of the table as its point, what was measured there, and by how much the model was off.
fn read(line: &str) -> (Point, Figures, [f64; 5]) {
    let cells: Vec<&str> = line.split(',').collect();
    let number = |at: usize| cells[at].parse::<f64>().expect("a number");
    let point = Point {
        strategy: cells[0].parse().expect("a strategy"),
        nodes: number(1) as u32,
        window_percent: number(2) as u32,
        payload_bytes: number(3) as u16,
        loss_percent: number(4) as u32,
    };
    let measured = Figures {
        age_avg_units: number(5),
        age_p99_units: number(6),
        age_max_units: number(7),
        bytes: number(8),
        datagrams: number(9),
    };
    (point, measured, [10, 11, 12, 13, 14].map(number))
}

/// Whether the model of a point is played for so long that a test leaves it to
/// `studies/freshness-model/run`.
fn takes_long(point: &Point) -> bool {
    let sampled = matches!(point.strategy, Strategy::PushPull | Strategy::Staggered);
    sampled && (point.nodes > 128 || point.window_percent < 20)
}

#[test]
fn the_model_agrees_with_every_simulation_of_the_table() {
    let table: Vec<_> = MODEL_CSV.lines().skip(1).map(read).collect();
    let there: Vec<Point> = table.iter().map(|(point, ..)| *point).collect();
    assert!(
        there == points(8192),
        "points are missing: `studies/freshness-model/run` makes them anew"
    );
    for (point, measured, noted) in &table {
        for (deviation, bound) in noted.iter().zip(BOUNDS_PERCENT) {
            assert!(deviation.abs() <= bound, "{point:?}: {noted:?}");
        }
        if takes_long(point) {
            continue;
        }
        compare(point, measured);
        let now = point.predicted().deviations_percent(measured);
        for (now, noted) in now.iter().zip(noted) {
            assert!(
                (now - noted).abs() < 0.2,
                "`studies/freshness-model/run` makes the table anew: {point:?} {now}"
            );
        }
    }
}

/// Source: studies/figure-2/figure2.csv, the paper's Figure 2 as simulated, 128 to 8,192 nodes.
#[test]
fn the_model_agrees_with_figure_2() {
    for line in FIGURE2_CSV.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().expect("a number");
        let nodes = number(0) as usize;
        let window_entries = (nodes as f64 * number(1) / 100.0 + 1e-9) as usize;
        let budget = Budget {
            entry_bytes: 76,
            frame_bytes: 50,
            datagram_entries: 861,
            window_entries,
            changes: None,
        };
        let predicted = forecast(Strategy::Uniform, nodes, &budget, 0.0);
        // Its runs warm up for 60 units: what is older is not that of the steady state yet.
        let oldest_bound = if predicted.oldest_units() > 60.0 { 15.0 } else { 5.0 };
        for (predicted, measured, bound) in [
            (predicted.age_avg_units, number(3), 5.0),
            (predicted.oldest_units(), number(6), oldest_bound),
            (predicted.quantile_units(0.99), number(8), 5.0),
        ] {
            let off = 100.0 * (predicted / measured - 1.0);
            assert!(off.abs() <= bound, "{line}: {predicted} is {off:.1} % off");
        }
    }
}

/// Simulated here and now, with another seed than the table's.
#[test]
fn the_model_agrees_with_simulations_of_today() {
    let few = |point: &Point| {
        let small = point.nodes == 128 && [20, 40, 100].contains(&point.window_percent);
        let large = point.nodes == 512 && point.window_percent == 20 && !takes_long(point);
        (small || large) && point.payload_bytes == 64 && point.loss_percent != 1
    };
    let some: Vec<Point> = points(512).into_iter().filter(few).collect();
    assert_eq!(some.len(), 36);
    for point in some {
        let run = tidings_sim::run(&point.scenario(77), &mut |_, _| ControlFlow::Continue(()));
        let measured = Figures::measured(&run.expect("possible")).expect("there are samples");
        compare(&point, &measured);
    }
}
