//! Deaths: of the root, of an inner worker of the tree, of a thief with tasks, of two at once. The
//! phase ends at all who live, says so, and no task runs twice.

use proptest::prelude::*;
use tidings_steal::{Config, Ending, config};
use tidings_steal_sim::programs::finishes::Random;
use tidings_steal_sim::programs::listed::{Listed, like_scf};
use tidings_steal_sim::{Death, Iteration, Setting, run};

const WORKERS: u32 = 80;

fn with_deaths(deaths: &[(u32, i64)], seed: u64, jitter_ns: i64) -> Iteration {
    let config = Config::new(config::lifelines(), 20);
    let deaths = deaths.iter().map(|(worker, at_ns)| Death { worker: *worker, at_ns: *at_ns });
    let setting = Setting {
        deaths: deaths.collect(),
        jitter_ns,
        most_ns: 60_000_000_000,
        ..Setting::new(WORKERS, config, seed)
    };
    let mut listed = Listed::in_blocks(like_scf(WORKERS, 20, 100_000, seed), WORKERS);
    run(&setting, &mut listed).remove(0)
}

/// All who live say the same, and name the dead.
fn says_what_is_lost(iteration: &Iteration, dead: &[u32]) {
    assert_eq!(iteration.endings.len(), WORKERS as usize - dead.len());
    for ending in &iteration.endings {
        let Ending::Lost(lost) = ending else { panic!("{ending:?}, and {dead:?} died") };
        assert_eq!(lost.workers, dead);
        assert_eq!(ending, &iteration.endings[0]);
    }
    assert_eq!(iteration.twice, 0);
}

#[test]
fn the_root_an_inner_worker_a_thief_and_two_at_once() {
    for (dead, at_ns) in [(0, 500_000), (3, 500_000), (79, 1_500_000), (0, 0), (0, 1_900_000)] {
        says_what_is_lost(&with_deaths(&[(dead, at_ns)], 5, 0), &[dead]);
    }
    says_what_is_lost(&with_deaths(&[(0, 300_000), (1, 300_000)], 5, 0), &[0, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn whoever_dies_whenever_the_phase_ends_at_the_others(
        seed: u64,
        deaths in prop::collection::btree_map(0..WORKERS, 0i64..4_000_000, 1..6),
        jitter_ns in prop_oneof![Just(0), 0i64..300_000],
    ) {
        let deaths: Vec<(u32, i64)> = deaths.into_iter().collect();
        let iteration = with_deaths(&deaths, seed, jitter_ns);
        prop_assert_eq!(iteration.twice, 0);
        prop_assert!(iteration.endings.iter().all(|ending| *ending != Ending::Expelled));
    }

    #[test]
    fn a_finish_whose_tasks_are_lost_does_not_hold_the_phase(
        seed: u64,
        worker in 0u32..8,
        at_ns in 0i64..400_000,
        jitter_ns in 0i64..100_000,
    ) {
        let mut config = Config::new(config::lifelines(), 20);
        config.sharing.keep_ns = 0;
        let setting = Setting {
            deaths: vec![Death { worker, at_ns }],
            jitter_ns,
            detection_ns: 50_000,
            most_ns: 60_000_000_000,
            ..Setting::new(8, config, seed)
        };
        let mut program = Random::new(seed, 7);
        let iteration = run(&setting, &mut program).remove(0);
        prop_assert!(iteration.endings.len() >= 7);
        prop_assert!(program.ran.values().all(|times| *times == 1));
        prop_assert_eq!(program.early, 0);
    }
}
