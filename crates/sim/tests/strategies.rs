//! What each strategy promises at 1,024 nodes with windows of 20 %, in datagrams of 1,400 bytes.
//!
//! The reference is `uniform` in the same run; an independent simulation gave it 9.8 units on
//! average and 39.9 for a node's oldest entry. Seeds are fixed; what a bound leaves over what is
//! measured is far more than the spread over seeds, which is below 0.5 % for averages.

use std::ops::ControlFlow;

use tidings_sim::{Mode, Report, Scenario, Strategy, Window, run};

fn report(strategy: Strategy, change: impl FnOnce(&mut Scenario)) -> Report {
    let mut scenario = Scenario { mode: Mode::Compact, ..Scenario::default() };
    (scenario.warmup_units, scenario.units) = (60, 100);
    scenario.cluster.nodes = 1024;
    scenario.cluster.strategy = strategy;
    scenario.network.mtu_bytes = 1_428;
    change(&mut scenario);
    run(&scenario, &mut |_, _| ControlFlow::Continue(())).expect("the scenario is possible")
}

fn average(report: &Report) -> f64 {
    report.age_avg_units.expect("there are samples")
}

fn lossy(scenario: &mut Scenario) {
    scenario.network.loss = 0.1;
}

fn unsynchronised(scenario: &mut Scenario) {
    scenario.clocks.offset = "3600s".parse().expect("a span of time");
}

#[test]
fn staggered_brings_news_on_at_once_where_clocks_agree_and_is_uniform_where_not() {
    let uniform = report(Strategy::Uniform, |_| ());
    let plain = report(Strategy::Staggered, |_| ());
    assert!(average(&plain) <= 5.5, "{plain:?}");
    assert!(plain.age_max_units <= uniform.age_max_units, "{plain:?}");
    assert_eq!(plain.messages, uniform.messages);
    // In rows of births, ties at the edge of a window all go: a few entries in ten million.
    assert!(plain.bytes.abs_diff(uniform.bytes) * 10_000 <= uniform.bytes);
    assert!(average(&report(Strategy::Staggered, lossy)) <= 7.1);
    let full = |scenario: &mut Scenario| scenario.cluster.window = Window::Percent(100.0);
    assert!(average(&report(Strategy::Staggered, full)) <= 2.4);
    let blind = report(Strategy::Staggered, unsynchronised);
    assert!(average(&blind) <= 1.02 * average(&uniform), "{blind:?}");
}

#[test]
fn grid_is_fresher_on_average_and_in_the_tail_for_no_more_bytes() {
    let uniform = report(Strategy::Uniform, |_| ());
    let plain = report(Strategy::Grid, |_| ());
    assert!(average(&plain) <= 4.5, "{plain:?}");
    assert!(plain.age_p99_units.is_some_and(|age| age <= 12.0), "{plain:?}");
    assert!(plain.age_highest_units.is_some_and(|age| age <= 20.0), "{plain:?}");
    assert!(plain.bytes <= uniform.bytes, "{plain:?}");
    let loss = report(Strategy::Grid, lossy);
    assert!(average(&loss) <= 1.1 * average(&plain), "{loss:?}");
    assert!(loss.bytes <= uniform.bytes, "{loss:?}");
    // Without common rounds an entry is half a unit older when it is pulled.
    let blind = report(Strategy::Grid, unsynchronised);
    assert!(average(&blind) <= average(&plain) + 0.6 && blind.bytes <= uniform.bytes);
}

#[test]
fn spread_and_push_pull_are_fresher_than_uniform() {
    let uniform = average(&report(Strategy::Uniform, |_| ()));
    assert!(average(&report(Strategy::Spread, |_| ())) < 0.6 * uniform);
    assert!(average(&report(Strategy::PushPull, |_| ())) < 0.93 * uniform);
}
