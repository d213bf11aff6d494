//! Random programs, random delays, all selections: each task runs once, no finish ends early, and
//! the phase ends.

use proptest::prelude::*;
use tidings_steal::{Config, Selection, config};
use tidings_steal_sim::programs::divided::{Divided, Order};
use tidings_steal_sim::programs::finishes::Random;
use tidings_steal_sim::programs::listed::like_scf;
use tidings_steal_sim::{Setting, run};

fn selection() -> impl Strategy<Value = Selection> {
    prop_oneof![
        Just(config::random(20)),
        Just(config::lifelines()),
        Just(config::known(20)),
        Just(Selection::Nearest(tidings_steal::victims::BackOff { first_us: 20, most_us: 200 })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn each_task_runs_once_and_no_finish_ends_early(
        seed: u64,
        workers in 1u32..24,
        depth in 1u8..8,
        jitter_ns in prop_oneof![Just(0), 0i64..400_000],
        unit_ns in prop_oneof![Just(0), Just(20_000i64)],
        keep in any::<bool>(),
        selection in selection(),
    ) {
        let mut config = Config::new(selection, 20);
        if !keep {
            config.sharing.keep_ns = 0;
        }
        let most_ns = 10_000_000_000;
        let usual = Setting::new(workers, config, seed);
        let setting = Setting { jitter_ns, unit_ns, most_ns, ..usual };
        let mut program = Random::new(seed, depth);
        let expected = program.expected();
        let iterations = run(&setting, &mut program);
        prop_assert!(iterations[0].is_complete());
        prop_assert_eq!(iterations[0].endings.len(), workers as usize);
        prop_assert_eq!(program.ran.len() as u64, expected.tasks);
        prop_assert!(program.ran.values().all(|times| *times == 1));
        prop_assert_eq!((program.ended, program.early), (expected.finishes, 0));
        prop_assert_eq!(iterations[0].counters.ignored, 0);
    }
}

/// A finish's home slept when the last end of a task reached it. What it counted had changed, but
/// as no task came of it nobody was told, and the phase did not end.
#[test]
fn the_end_of_a_task_that_reaches_a_sleeper_is_counted() {
    let mut config = Config::new(config::lifelines(), 20);
    config.sharing.keep_ns = 0;
    let setting = Setting::new(14, config, 18_346_178_813_082_624_906);
    let iterations = run(&setting, &mut Random::new(setting.seed, 7));
    assert!(iterations[0].is_complete());
}

#[test]
fn each_entry_of_a_divided_list_runs_once_by_either_policy() {
    let costs = like_scf(8, 50, 100_000, 3);
    for order in [Order::HelpFirst, Order::WorkFirst] {
        let setting = Setting::new(8, Config::new(config::lifelines(), 20), 3);
        let iterations = run(&setting, &mut Divided::new(&costs, 8, order));
        let iteration = &iterations[0];
        assert!(iteration.is_complete());
        assert_eq!((iteration.once, iteration.never, iteration.twice), (400, 0, 0), "{order:?}");
        assert!(iteration.counters.steals > 0, "{order:?}");
    }
}
