//! What policies have to reach, at a small size: traffic of thieves, and retention.

use tidings_steal::{Config, Seeding, Selection, config};
use tidings_steal_sim::programs::listed::{Listed, like_scf};
use tidings_steal_sim::{Iteration, Setting, run};

const WORKERS: u32 = 256;

fn of(selection: Selection, change: impl FnOnce(Setting) -> Setting) -> Vec<Iteration> {
    let setting = change(Setting::new(WORKERS, Config::new(selection, 22), 3));
    let costs = like_scf(WORKERS, 500, 4_400_000, 3);
    let iterations = run(&setting, &mut Listed::in_blocks(costs, WORKERS).changing(0.1, 0.01));
    assert!(iterations.iter().all(|one| one.is_complete() && one.never + one.twice == 0));
    iterations
}

#[test]
fn knowledge_saves_attempts_and_steals_at_no_less_efficiency() {
    let random = of(config::random(22), |setting| setting).remove(0);
    let known =
        of(config::known(22), |setting| Setting { unit_ns: 5_000_000, ..setting }).remove(0);
    let steals = |one: &Iteration| one.counters.steals + one.counters.pushed;
    assert!(10 * known.counters.attempts <= random.counters.attempts);
    assert!(5 * steals(&known) <= 3 * steals(&random));
    assert!(5 * known.counters.tasks_in <= 3 * random.counters.tasks_in);
    assert!(known.efficiency + 0.005 >= random.efficiency);
}

#[test]
fn retention_leaves_little_to_steal() {
    let iterations = of(config::known(22), |mut setting| {
        setting.config.retain = true;
        Setting { unit_ns: 5_000_000, iterations: 5, ..setting }
    });
    assert_eq!(iterations[0].seeding, Some(Seeding::First));
    assert_eq!(iterations[4].seeding, Some(Seeding::Retained));
    let steals = |one: &Iteration| one.counters.steals + one.counters.pushed;
    assert!(5 * steals(&iterations[4]) <= steals(&iterations[0]));
    assert!(3 * iterations[4].counters.tasks_in <= iterations[0].counters.tasks_in);
    assert!(iterations[4].efficiency >= 0.985);
    assert!(iterations[4].retained > 0.9);
}
