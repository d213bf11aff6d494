//! Clusters whose nodes write different versions of the datagrams' format, and nodes that keep to
//! their share of the others' work: both must not show in what nodes know.

use std::ops::ControlFlow;

use tidings_sim::{Report, Scenario, Strategy, run};

const STRATEGIES: [Strategy; 5] =
    [Strategy::Uniform, Strategy::Spread, Strategy::PushPull, Strategy::Staggered, Strategy::Grid];

fn report(text: &str, change: impl FnOnce(&mut Scenario)) -> Report {
    let mut scenario = Scenario::parse(text).expect("the scenario is well formed");
    change(&mut scenario);
    run(&scenario, &mut |_, _| ControlFlow::Continue(())).expect("the scenario is possible")
}

/// One node in ten datagrams is lost; windows take several datagrams of an Ethernet frame.
const LOSSY: &str = "units = 60\nwarmup_units = 40\n[cluster]\nnodes = 60\nwindow = \"40%\"\n\
                     catch_up = true\ndeath_after = \"5s\"\n\
                     [network]\nloss = 0.1\nlatency = \"200us\"\nmtu_bytes = 1500";

/// Mean age over some seeds, since that of one run differs by a few per cent from the next.
fn mean_age(versions: &[u8], strategy: Strategy) -> f64 {
    let ages = (1..=3).map(|seed| {
        let report = report(LOSSY, |scenario| {
            scenario.seed = seed;
            scenario.cluster.strategy = strategy;
            scenario.cluster.wire_versions = versions.to_vec();
        });
        let checks = report.checks.expect("the full mode has checkers");
        assert!(checks.is_clean(), "{versions:?} {strategy:?}: {checks:?}");
        assert_eq!(report.never_heard_pairs, 0, "{versions:?} {strategy:?}");
        assert_eq!(report.deaths.map(|deaths| deaths.mistaken), Some(0));
        report.age_avg_units.expect("there are samples")
    });
    ages.sum::<f64>() / 3.0
}

/// Half write one version and half the other, or all the later one: all know each other, and as
/// soon as where all write version 1. What a block of items takes of a datagram is no entry's
/// worth.
#[test]
fn mixed_clusters_are_as_fresh_as_others() {
    for strategy in STRATEGIES {
        let plain = mean_age(&[1], strategy);
        for versions in [&[1, 2][..], &[2]] {
            let age = mean_age(versions, strategy);
            assert!((age / plain - 1.0).abs() < 0.05, "{strategy:?} {versions:?}: {age}, {plain}");
        }
    }
}

/// Where some or all send changes by bases, all know each other as soon or sooner.
#[test]
fn clusters_with_changes_are_as_fresh_as_others() {
    let plain = mean_age(&[1], Strategy::Grid);
    for versions in [&[1, 2, 3][..], &[3]] {
        let age = mean_age(versions, Strategy::Grid);
        assert!(age < 1.05 * plain, "{versions:?}: {age}, {plain}");
    }
}

/// Whatever unit, window, strategy and size: who keeps to the protocol is never cut short.
#[test]
fn no_request_of_a_correct_node_is_in_excess() {
    let fault = "[[fault]]\nkind = \"crash\"\nat = 30\nnodes = \"20%\"\nrestart_after = 20";
    for (interval, death_after) in [("1ms", "20ms"), ("256ms", "2500ms"), ("1900s", "3600s")] {
        for (nodes, window) in [(2, "1"), (5, "100%"), (40, "1"), (40, "20%"), (40, "100%")] {
            for strategy in STRATEGIES {
                let cluster = format!(
                    "[cluster]\nnodes = {nodes}\nwindow = \"{window}\"\ninterval = \"{interval}\"\n\
                     catch_up = true\ndeath_after = \"{death_after}\"\n\
                     [network]\nloss = 0.2\nrefuses = true\nmtu_bytes = 1500\n{fault}"
                );
                let text = format!("units = 60\nwarmup_units = 10\n{cluster}");
                let report = report(&text, |scenario| scenario.cluster.strategy = strategy);
                let checks = report.checks.expect("the full mode has checkers");
                let what = format!("{strategy:?} {nodes} {window} {interval}");
                assert_eq!(checks.excess_requests, 0, "{what}");
            }
        }
    }
}
