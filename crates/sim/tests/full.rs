//! Full simulations: repeatable to the last byte, true to the algorithm, clean under every fault.

use std::ops::ControlFlow;

use tidings_sim::{Fault, Report, Scenario, Window, run};

fn report(scenario: &Scenario) -> Report {
    run(scenario, &mut |_, _| ControlFlow::Continue(())).expect("the scenario is possible")
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text).expect("the scenario is well formed")
}

const SCENARIOS: [(&str, &str); 5] = [
    ("loss", include_str!("../scenarios/loss.toml")),
    ("partition", include_str!("../scenarios/partition.toml")),
    ("pause", include_str!("../scenarios/pause.toml")),
    ("churn", include_str!("../scenarios/churn.toml")),
    ("skew", include_str!("../scenarios/skew.toml")),
];

#[test]
fn one_seed_gives_one_run_and_another_another() {
    for (name, text) in SCENARIOS {
        let mut scenario = scenario(text);
        let (one, again) = (report(&scenario), report(&scenario));
        assert_eq!(one, again, "{name}");
        scenario.seed += 1;
        assert_ne!(report(&scenario).trace_hash, one.trace_hash, "{name}");
    }
}

#[test]
fn nothing_contradicts_the_truth_whatever_happens() {
    for (name, text) in SCENARIOS {
        for seed in 1..=4 {
            let mut scenario = scenario(text);
            scenario.seed = seed;
            let report = report(&scenario);
            let checks = report.checks.expect("the full mode has checkers");
            assert!(checks.is_clean(), "{name}, seed {seed}: {checks:?}");
            assert!(checks.pairs_checked > 50_000, "{name}, seed {seed}: {checks:?}");
            assert_eq!(report.never_heard_pairs, 0, "{name}, seed {seed}");
            assert!(report.first_full_view_units.is_some(), "{name}, seed {seed}");
        }
    }
}

#[test]
fn without_travel_no_age_is_understated_by_a_microsecond() {
    let checks = report(&scenario("[cluster]\nnodes = 40")).checks.expect("there are checkers");
    assert_eq!(checks.understated_max_us, 0);
}

#[test]
fn every_unit_every_node_sends_one_window() {
    let report = report(&scenario("units = 50\n[cluster]\nnodes = 100\nwindow = \"20%\""));
    assert_eq!(report.messages, 50 * 100);
    assert_eq!(report.datagrams, 50 * 100);
    assert_eq!(report.entries_sent, 50 * 100 * 20);
    assert_eq!(report.entries_received, report.entries_sent);
    assert!(report.complete && report.nodes_up == 100);
}

#[test]
fn faults_show_in_what_they_do() {
    let partition = report(&scenario(SCENARIOS[1].1));
    let churn = report(&scenario(SCENARIOS[3].1));
    let pause = report(&scenario(SCENARIOS[2].1));
    let loss = report(&scenario(SCENARIOS[0].1));
    let fates = |report: &Report| report.network.expect("the full mode counts fates");
    assert!(fates(&partition).cut > 0 && fates(&partition).lost == 0);
    assert!(fates(&churn).nobody_there > 0);
    assert!(churn.nodes_up < 48 && churn.nodes_up > 30, "{}", churn.nodes_up);
    assert_eq!(pause.nodes_up, 40);
    let share = fates(&loss).lost as f64 / fates(&loss).sent as f64;
    assert!((share - 0.1).abs() < 0.02, "{share}");
    // While cut off, nodes age: 20 units without news from the other side, at the least.
    assert!(partition.age_highest_units > Some(20.0), "{:?}", partition.age_highest_units);
    assert!(fates(&loss).too_large == 0 && fates(&loss).duplicated > 0);
}

#[test]
fn small_datagrams_carry_the_same_windows() {
    let mut small = scenario("[cluster]\nnodes = 100\nwindow = \"50%\"");
    let whole = report(&small);
    small.network.mtu_bytes = 1500;
    let pieces = report(&small);
    assert_eq!(pieces.messages, whole.messages);
    assert_eq!(pieces.entries_sent, whole.entries_sent);
    // 50 entries of 76 bytes are three datagrams of at most 1,472 bytes.
    assert_eq!(pieces.datagrams, 3 * whole.datagrams);
    assert_eq!(pieces.age_avg_units, whole.age_avg_units);
}

#[test]
fn a_run_that_is_broken_off_reports_what_it_measured() {
    let scenario = scenario("units = 30\nwarmup_units = 10\n[cluster]\nnodes = 20");
    let report = run(&scenario, &mut |unit, all| {
        assert_eq!(all, 40);
        if unit == 15 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = report.expect("possible");
    assert!(!report.complete && report.units_measured == 5);
    assert_eq!(report.messages, 5 * 20);
}

/// Null value: 4.9 units, from an independent simulation, for full windows among 128 nodes. The
/// sample is 100 units over 16,256 pairs; over seeds the mean has a standard deviation below 0.4 %,
/// the seed is fixed, and 2 % are allowed.
#[test]
fn full_windows_among_128_nodes_keep_4_9_units() {
    let mut full = Scenario::default();
    full.cluster.window = Window::Percent(100.0);
    let average = report(&full).age_avg_units.expect("there are samples");
    println!("{average:.3} units on average, 4.9 expected");
    assert!((average / 4.9 - 1.0).abs() < 0.02, "{average}");
}

/// A cluster that doubles again and again keeps the age it was told, with lost datagrams too; and
/// its windows are no larger than that takes, a quarter and the model's error aside.
#[test]
fn a_growing_cluster_keeps_its_age() {
    for (strategy, loss, doublings) in [("grid", 0.1, 0), ("grid", 0.1, 3), ("uniform", 0.0, 2)] {
        let nodes = 16 << doublings;
        let text = format!(
            "units = 50\nwarmup_units = 400\n[cluster]\nnodes = {nodes}\nstrategy = \
             \"{strategy}\"\nage_target = \"1500ms\"\n[network]\nloss = {loss}\nmtu_bytes = 1480\n"
        );
        let mut scenario = scenario(&text);
        scenario.faults = (0..doublings)
            .map(|step| Fault::Grow {
                at: f64::from(50 * (step + 1)),
                nodes: Window::Entries(16 << step),
            })
            .collect();
        let report = report(&scenario);
        assert_eq!((report.nodes_up, report.never_heard_pairs), (nodes, 0));
        let age_ms = 256.0 * report.age_avg_units.expect("there are samples");
        let entries = report.entries_sent as f64 / f64::from(50 * nodes);
        println!("{strategy}, loss {loss}, {nodes} nodes: {age_ms:.0} ms, {entries:.1} entries");
        assert!((1_125.0..=1_500.0).contains(&age_ms), "{strategy}, {nodes} nodes: {age_ms:.0} ms");
    }
}
