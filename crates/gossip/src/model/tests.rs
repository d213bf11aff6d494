//! What the model says, where it is known otherwise, and that its inverse is one.

use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

use super::*;

fn budget(window_entries: usize, payload: usize) -> Budget {
    let entry_bytes = 12 + payload;
    let datagram_entries = (1_402 / entry_bytes).max(1);
    Budget { entry_bytes, frame_bytes: 50, datagram_entries, window_entries, changes: None }
}

fn age(strategy: Strategy, members: usize, window: usize, loss: f64) -> f64 {
    let forecast = forecast(strategy, members, &budget(window, 64), loss);
    forecast.age_avg_units
}

/// Ages of an independent simulation of the paper's algorithm: nodes, window, average.
#[test]
fn the_papers_algorithm_is_as_old_as_it_was_simulated_to_be() {
    for (nodes, window, expected) in [
        (128, 12, 12.6),
        (128, 128, 4.9),
        (1024, 102, 14.2),
        (1024, 204, 9.8),
        (1024, 409, 7.9),
        (1024, 1024, 7.05),
        (8192, 1638, 11.9),
    ] {
        let age = age(Strategy::Uniform, nodes, window, 0.0);
        assert!((age / expected - 1.0).abs() < 0.05, "{nodes} {window}: {age} {expected}");
    }
}

/// A grid of 1,024 nodes at 20 %: half a unit for the push, and half of the layout's pull period.
#[test]
fn a_grid_without_loss_is_as_old_as_its_layout_says() {
    let layout = crate::dissemination::layout::Layout::of(1024, &budget(204, 64));
    let age = age(Strategy::Grid, 1024, 204, 0.0);
    assert!((age / layout.age_units() - 1.0).abs() < 0.03, "{age} {layout:?}");
}

#[test]
fn ages_are_in_order_and_loss_makes_them_greater() {
    for strategy in Strategy::ALL {
        let of = |loss| forecast(strategy, 512, &budget(102, 64), loss);
        let (clean, lossy) = (of(0.0), of(0.1));
        assert!(clean.age_avg_units < lossy.age_avg_units, "{strategy}");
        assert!(clean.quantile_units(0.5) < clean.quantile_units(0.9), "{strategy}");
        assert!(clean.quantile_units(0.9) < clean.quantile_units(0.99), "{strategy}");
        assert!(clean.quantile_units(0.9) < clean.oldest_units(), "{strategy}");
    }
}

/// Odd budgets too: entries larger than a datagram, one entry a window, two members.
#[test]
fn every_budget_has_finite_ages() {
    for strategy in Strategy::ALL {
        let played = matches!(strategy, Strategy::PushPull | Strategy::Staggered);
        for members in [0, 1, 2, 3, 33, if played { 100 } else { 5_000 }] {
            for window in [0, 1, members.max(1)] {
                for (payload, loss) in [(0, 0.0), (1024, 0.5), (64, 1.0)] {
                    let budget = budget(window, payload);
                    let of = forecast(strategy, members, &budget, loss);
                    let ages = [of.age_avg_units, of.quantile_units(0.99), of.oldest_units()];
                    let good = ages.iter().all(|age| age.is_finite() && *age >= 0.0);
                    assert!(good, "{strategy} {members} {window} {payload} {loss} {ages:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_least_window_reaches_the_goal_and_a_smaller_one_does_not(
        members in 4usize..600, goal in 2.0f64..40.0, by_quantile in any::<bool>(),
    ) {
        for strategy in [Strategy::Uniform, Strategy::Grid] {
            let goal = Goal { age_units: goal, quantile: by_quantile.then_some(0.9) };
            let reached = |window: usize| {
                let forecast = forecast(strategy, members, &budget(window, 64), 0.0);
                forecast.age_units(goal.quantile) <= goal.age_units
            };
            match least_window(strategy, members, &budget(1, 64), 0.0, goal) {
                Some(window) => {
                    prop_assert!(reached(window));
                    prop_assert!(window == 1 || !reached(window - 1));
                }
                None => prop_assert!(!reached(members)),
            }
        }
    }
}
