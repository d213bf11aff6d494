//! Deaths in full simulations, within the bounds that the project sets itself for 48 nodes and a
//! unit of 256 ms: a kill is known to half of the nodes in 1.5 s and to all in 2.5 s (medians of
//! 20), to all in 5 s at worst, in 4 s with a tenth of the datagrams lost; whoever merely stands
//! still for two seconds is never taken for dead.

use std::ops::ControlFlow;

use tidings_sim::deaths::Deaths;
use tidings_sim::{Scenario, run};

const KILLS: &str = include_str!("../scenarios/deaths.toml");
const PAUSES: &str = include_str!("../scenarios/hour.toml");

fn deaths(scenario: &Scenario) -> Deaths {
    let report = run(scenario, &mut |_, _| ControlFlow::Continue(()));
    let report = report.expect("the scenario is possible");
    let checks = report.checks.expect("the full mode has checkers");
    assert!(checks.is_clean(), "{checks:?}");
    report.deaths.expect("nodes are declared dead")
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text).expect("the scenario is well formed")
}

/// Kills with this much loss: half and all (medians), and the worst, in seconds.
fn kills(strategy: &str, loss: f64, refuses: bool) -> [f64; 3] {
    let mut scenario = scenario(KILLS);
    scenario.cluster.strategy = strategy.parse().expect("a strategy");
    (scenario.network.loss, scenario.network.refuses) = (loss, refuses);
    let deaths = deaths(&scenario);
    println!("{strategy}, loss {loss}, refuses {refuses}: {deaths:?}");
    assert_eq!((deaths.crashes, deaths.known_to_all, deaths.mistaken), (20, 20, 0), "{deaths:?}");
    let times = [deaths.half_ms, deaths.all_ms, deaths.all_worst_ms];
    times.map(|ms| ms.expect("all deaths are known") / 1e3)
}

#[test]
fn a_kill_is_known_soon() {
    for strategy in ["grid", "uniform"] {
        let [half, all, worst] = kills(strategy, 0.0, true);
        assert!(half <= 1.5 && all <= 2.5 && worst <= 5.0, "{strategy}: {half} {all} {worst}");
        let [_, all, worst] = kills(strategy, 0.1, true);
        assert!(all <= 2.5 && worst <= 4.0, "{strategy}, loss: {all} {worst}");
    }
}

/// With `grid` the mates of its row miss its next push: `death_after` later all know.
#[test]
fn a_host_that_is_gone_is_missed_by_its_row() {
    let [half, all, worst] = kills("grid", 0.0, false);
    assert!(half >= 2.5 && all <= 2.9 && worst <= 3.0, "{half} {all} {worst}");
    let [half, all, worst] = kills("grid", 0.1, false);
    assert!(half >= 2.5 && all <= 2.8 && worst <= 3.1, "loss: {half} {all} {worst}");
}

/// A node that died before is missed as soon as any other: with these seeds some die twice.
#[test]
fn who_dies_again_is_missed_as_soon() {
    for seed in [2, 11, 25] {
        let scenario = KILLS.replace("seed = 3\n", &format!("seed = {seed}\n"));
        let mut scenario = self::scenario(&scenario);
        (scenario.network.loss, scenario.network.refuses) = (0.1, false);
        let worst = deaths(&scenario).all_worst_ms.expect("all deaths are known");
        assert!(worst <= 3_100.0, "seed {seed}: {worst} ms");
    }
}

/// At latest 2 · `death_after` until the doubt, `death_after` from then on, and a unit or two.
#[test]
fn a_host_that_is_gone_is_known_to_be_dead_in_bounded_time() {
    let [half, all, worst] = kills("uniform", 0.1, false);
    assert!(half >= 2.5 && all <= 6.0 && worst <= 9.0, "{half} {all} {worst}");
}

#[test]
fn a_node_paused_for_two_seconds_is_not_dead() {
    for strategy in ["grid", "uniform"] {
        let mut scenario = scenario(PAUSES);
        (scenario.cluster.nodes, scenario.units) = (64, 400);
        scenario.cluster.strategy = strategy.parse().expect("a strategy");
        let deaths = deaths(&scenario);
        assert_eq!(deaths.mistaken, 0, "{strategy}: {deaths:?}");
        assert!(deaths.suspicions > 20, "pauses are noticed: {deaths:?}");
    }
}

/// Pauses far longer than `death_after` are taken for deaths: the count of false ones can fail.
#[test]
fn false_deaths_are_counted() {
    let text = PAUSES.replace("units = 8\n", "units = 40\n").replace("every = 16", "every = 60");
    let mut scenario = scenario(&text);
    (scenario.cluster.nodes, scenario.units) = (64, 200);
    let deaths = deaths(&scenario);
    assert!(deaths.mistaken > 0, "{deaths:?}");
}
