//! A day of 64 nodes with crashes, pauses and a bad network: memory does not grow with time.
//!
//! All memory is counted where it is taken, by the allocator: that of the nodes and of the
//! simulator around them, datagrams in flight included. How many of those there are at one moment
//! is chance, so two sums are taken of each hour: the least held at the end of a unit, which only
//! a leak can raise, and the most held at any moment. Without a word of how long, an hour is
//! simulated and looked at in thirds; the whole day, with a line an hour, by
//!
//! `TIDINGS_SOAK_HOURS=24 cargo test --release -p tidings-sim --test soak -- --nocapture`

mod counting;

use std::ops::ControlFlow;

use counting::{HELD, MOST};
use tidings_sim::{Fault, Scenario, run};

const DAY: &str = include_str!("../scenarios/day.toml");
/// Units of 256 ms in an hour, rounded down to thirds.
const HOUR_UNITS: u32 = 14_061;
/// By how much the least held in a later period may exceed that of the first.
const LEAST_GROWTH: f64 = 0.02;
/// The same of the most held.
const MOST_GROWTH: f64 = 0.05;

/// Bytes held in a part of the run.
#[derive(Debug)]
struct Period {
    least: i64,
    most: i64,
}

/// The hours asked for, else one.
#[expect(clippy::disallowed_methods, reason = "a test may be told how long to last")]
fn hours() -> u32 {
    let asked = std::env::var("TIDINGS_SOAK_HOURS").ok();
    let hours = asked.map(|text| text.parse().expect("TIDINGS_SOAK_HOURS is a number of hours"));
    hours.unwrap_or(1)
}

/// The first hours of the day.
fn scenario(hours: u32) -> Scenario {
    let mut scenario = Scenario::parse(DAY).expect("the scenario is well formed");
    scenario.units = (hours * HOUR_UNITS).min(scenario.units);
    let churn_units = f64::from(scenario.units) - 200.0;
    for fault in &mut scenario.faults {
        if let Fault::Churn { units, .. } = fault {
            *units = units.min(churn_units);
        }
    }
    scenario
}

#[test]
fn memory_is_flat_from_the_first_hour_to_the_last() {
    let hours = hours();
    let scenario = scenario(hours);
    let (period_units, what) = match hours {
        1 => (HOUR_UNITS / 3, "third of an hour"),
        _ => (HOUR_UNITS, "hour"),
    };
    let before = HELD.get();
    let (mut least, mut periods): (i64, Vec<Period>) = (i64::MAX, Vec::new());
    println!("| {what} | least held, bytes | most held, bytes |");
    let report = run(&scenario, &mut |unit, _| {
        let held = HELD.get() - before;
        least = least.min(held);
        if unit == scenario.warmup_units {
            least = held;
            MOST.set(HELD.get());
        } else if unit > scenario.warmup_units && (unit - scenario.warmup_units) % period_units == 0
        {
            let period = Period { least, most: MOST.get() - before };
            println!("| {} | {} | {} |", periods.len() + 1, period.least, period.most);
            periods.push(period);
            least = held;
            MOST.set(HELD.get());
        }
        ControlFlow::Continue(())
    });
    let report = report.expect("the scenario is possible");
    let checks = report.checks.expect("the full mode has checkers");
    let deaths = report.deaths.expect("nodes are declared dead");
    println!("{deaths:?}\n{checks:?}");
    println!("age {:?} units, oldest {:?}", report.age_avg_units, report.age_highest_units);
    assert!(checks.is_clean(), "{checks:?}");
    assert!(deaths.crashes > 60 * hours && deaths.mistaken == 0, "{deaths:?}");
    assert!(periods.len() >= 3.min(hours as usize), "{periods:?}");
    for later in &periods[1..] {
        let first = &periods[0];
        let flat = |now: i64, then: i64, growth: f64| now as f64 <= then as f64 * (1.0 + growth);
        assert!(flat(later.least, first.least, LEAST_GROWTH), "{periods:?}");
        assert!(flat(later.most, first.most, MOST_GROWTH), "{periods:?}");
    }
}
