//! Traces of random programs: few bytes a steal, and the same schedule again on another machine.

use proptest::prelude::*;
use tidings_steal::trace::{File, FileError, Stamped, Statistics, Tree};
use tidings_steal::{Config, Ending, Selection, config};
use tidings_steal_sim::programs::Program;
use tidings_steal_sim::programs::finishes::Random;
use tidings_steal_sim::programs::listed::{Listed, like_scf};
use tidings_steal_sim::{Iteration, Setting, run};

const PROGRAM: u64 = 7;

fn file_of(iteration: &Iteration) -> Vec<u8> {
    File { program: PROGRAM, traces: iteration.traces.clone() }.encode()
}

fn once(setting: &Setting, program: &mut impl Program) -> Iteration {
    run(&Setting { orders: true, ..setting.clone() }, program).swap_remove(0)
}

/// What happened, without the times.
fn events(iteration: &Iteration) -> Vec<Vec<Stamped>> {
    let (_, mut events) = File::decode(&file_of(iteration)).expect("it was just written");
    events.iter_mut().flatten().for_each(|event| event.at_us = 0);
    events
}

fn statistics(iteration: &Iteration) -> Statistics {
    let (_, events) = File::decode(&file_of(iteration)).expect("it was just written");
    Tree::of(&events).expect("the phase was complete").statistics
}

/// Runs again what an iteration did, on a machine with other speeds.
fn again(setting: &Setting, program: &mut impl Program, of: &Iteration) -> Iteration {
    let scripts = File::scripts(&file_of(of), PROGRAM, setting.workers).expect("it is whole");
    let usual = setting.clone();
    let (latency_ns, jitter_ns, slow_one_in) = (90_000, 300_000, 3);
    once(&Setting { scripts, latency_ns, jitter_ns, slow_one_in, ..usual }, program)
}

fn selection() -> impl Strategy<Value = Selection> {
    prop_oneof![Just(config::random(20)), Just(config::lifelines()), Just(config::known(20))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Both policies: each task of these programs chooses one.
    #[test]
    fn a_schedule_is_the_same_again_task_by_task(
        seed: u64,
        workers in 1u32..16,
        depth in 1u8..8,
        jitter_ns in prop_oneof![Just(0), 0i64..400_000],
        selection in selection(),
        retain: bool,
    ) {
        let mut config = Config::new(selection, 20);
        config.sharing.keep_ns = 0;
        config.retain = retain;
        let usual = Setting::new(workers, config, seed);
        let setting = Setting { jitter_ns, unit_ns: 20_000, most_ns: 100_000_000_000, ..usual };
        let first = once(&setting, &mut Random::new(seed, depth));
        let steals = first.counters.steals + first.counters.pushed;
        // Of two gifts at a time one is counted, and both are traced.
        prop_assert!(statistics(&first).steals >= steals);
        let second = again(&setting, &mut Random::new(seed, depth), &first);
        prop_assert_eq!(second.diverged, None);
        prop_assert!(second.is_complete());
        prop_assert_eq!(&second.orders, &first.orders);
        prop_assert_eq!(events(&second), events(&first));
    }

    #[test]
    fn another_program_diverges_and_never_hangs(seed: u64, workers in 2u32..16, depth in 3u8..8) {
        let mut config = Config::new(config::lifelines(), 20);
        config.sharing.keep_ns = 0;
        let setting = Setting { most_ns: 100_000_000_000, ..Setting::new(workers, config, seed) };
        let first = once(&setting, &mut Random::new(seed, depth));
        let other = again(&setting, &mut Random::new(seed ^ 1, depth), &first);
        // Another program may be as this one as far as it is stolen from.
        let is_same = other.diverged.is_none() && other.endings.contains(&Ending::Complete);
        prop_assert!(other.diverged.is_some() || is_same);
    }
}

fn like(workers: u32, seed: u64) -> Listed {
    Listed::in_blocks(like_scf(workers, 200, 4_400_000, seed), workers)
}

#[test]
fn a_steal_takes_sixteen_bytes_at_most_by_each_policy() {
    for selection in [config::random(22), config::lifelines(), config::known(22)] {
        let unit_ns = 10_000_000;
        let setting = Setting { unit_ns, ..Setting::new(256, Config::new(selection, 22), 1) };
        let iteration = once(&setting, &mut like(256, 1));
        let bytes: usize = iteration.traces.iter().map(|trace| trace.bytes().len()).sum();
        let steals = statistics(&iteration).steals;
        assert!(bytes as u64 <= 16 * steals, "{bytes} bytes of {steals} steals: {selection:?}");
        let longest = iteration.traces.iter().map(|trace| trace.bytes().len()).max();
        assert!(longest.is_some_and(|bytes| bytes < 1024), "{longest:?}");
    }
}

#[test]
fn a_list_is_stolen_again_as_it_was() {
    let setting = Setting::new(32, Config::new(config::known(22), 22), 3);
    let setting = Setting { unit_ns: 10_000_000, ..setting };
    let first = once(&setting, &mut like(32, 3));
    let second = again(&setting, &mut like(32, 3), &first);
    assert_eq!((second.diverged, &second.orders), (None, &first.orders));
    assert_eq!((second.once, second.never, second.twice), (32 * 200, 0, 0));
    // Other predictions are another input: half of the work would be other tasks.
    let other = again(&setting, &mut like(32, 4), &first);
    let said = other.diverged.expect("the tasks are others").to_string();
    assert!(said.contains("another input"), "{said}");
}

#[test]
fn fewer_workers_cannot_do_it_again() {
    let setting = Setting::new(8, Config::new(config::lifelines(), 22), 3);
    let first = once(&setting, &mut like(8, 3));
    let refused = File::scripts(&file_of(&first), PROGRAM, 7).unwrap_err();
    assert_eq!(refused, FileError::Workers { traced: 8, here: 7 });
    assert!(refused.to_string().contains("start as many"));
}
