//! Recovery: whoever dies whenever, each block is exact or named as lost, and nobody waits for
//! ever.

use std::sync::Arc;

use proptest::prelude::*;
use tidings_recovery::{Ending, Loss, Scheme};
use tidings_steal::{Config, config};
use tidings_steal_sim::recovery::{Faults, Report, Work, run};
use tidings_steal_sim::{Death, Setting};

fn setting(workers: u32, seed: u64, deaths: &[(u32, i64)]) -> Setting {
    let mut config = Config::new(config::lifelines(), 20);
    config.sharing.keep_ns = 0;
    let deaths = deaths.iter().map(|(worker, at_ns)| Death { worker: *worker, at_ns: *at_ns });
    Setting {
        deaths: deaths.collect(),
        detection_ns: 50_000,
        most_ns: 60_000_000_000,
        ..Setting::new(workers, config, seed)
    }
}

fn is_exact(report: &Report) {
    assert_eq!(report.wrong, [] as [u32; 0]);
    assert!(report.is_complete(), "{:?}", report.endings);
    assert_eq!(report.refused, [] as [u32; 0]);
}

#[test]
fn without_deaths_each_task_runs_once() {
    for scheme in Scheme::ALL {
        let work = Arc::new(Work::random(400, 30, 50_000.0, 1));
        let report = run(&setting(8, 1, &[]), &Faults::new(scheme), &work);
        is_exact(&report);
        assert_eq!((report.executed, report.again, report.lost), (400, 0, 0));
        assert_eq!(report.counters.rounds, 8);
        assert_eq!(report.counters.dropped, 0);
    }
}

#[test]
fn one_death_is_recovered_by_each_scheme() {
    for scheme in Scheme::ALL {
        for (dead, at_ns) in [(0, 500_000), (3, 500_000), (7, 1_500_000), (0, 0), (5, 2_300_000)] {
            let work = Arc::new(Work::random(400, 30, 50_000.0, 1));
            let report = run(&setting(8, 1, &[(dead, at_ns)]), &Faults::new(scheme), &work);
            is_exact(&report);
        }
    }
}

/// One of the programs: a Fock matrix of few atoms, a small contraction, or a random list.
fn program(kind: u8, seed: u64) -> Work {
    match kind % 3 {
        0 => Work::scf([4, 1, 1]).scaled(0.1),
        1 => Work::tce(4, 3, seed).scaled(0.5),
        _ => Work::random(200, 20, 50_000.0, seed),
    }
}

/// What a run is.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    kind: u8,
    workers: u32,
    /// Who dies, and when as a part of the time that the work takes without deaths.
    deaths: Vec<(u32, f64)>,
    jitter_ns: i64,
    lost: f64,
    copied: bool,
    loss: Loss,
    phases: u32,
    zeroed: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let machine = (any::<u64>(), any::<u8>(), 2u32..12, prop_oneof![Just(0), 0i64..200_000]);
    let deaths = prop::collection::vec((0u32..12, 0.0..1.3f64), 0..5);
    let what = prop_oneof![3 => Just(Loss::Recompute), 1 => Just(Loss::Refuse)];
    let faults = (0.0..1.0f64, prop::bool::weighted(0.8), what, 1u32..3, any::<bool>());
    (machine, deaths, faults).prop_map(|(machine, deaths, faults)| {
        let (seed, kind, workers, jitter_ns) = machine;
        let (share, copied, loss, phases, zeroed) = faults;
        let deaths = deaths.into_iter().map(|(worker, at)| (worker % workers, at)).collect();
        Case { seed, kind, workers, deaths, jitter_ns, lost: share, copied, loss, phases, zeroed }
    })
}

fn runs(case: &Case, scheme: Scheme) -> Report {
    let work = Arc::new(program(case.kind, case.seed % 16));
    let span_ns = (work.all_ns() * i64::from(case.phases) / i64::from(case.workers)) as f64;
    let deaths: Vec<(u32, i64)> =
        case.deaths.iter().map(|(worker, at)| (*worker, (at * span_ns) as i64)).collect();
    // One who is left alone does all of it, and some of it once more for each death.
    let times = i64::from(case.phases) * (2 + case.deaths.len() as i64);
    let most_ns = times * work.all_ns() + 1_000_000_000;
    let usual = setting(case.workers, case.seed, &deaths);
    let setting = Setting { jitter_ns: case.jitter_ns, most_ns, ..usual };
    let Case { lost, copied, loss, phases, zeroed, .. } = *case;
    let faults = Faults { lost, copied, loss, phases, zeroed, ..Faults::new(scheme) };
    run(&setting, &faults, &work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn each_block_is_exact_or_named_and_nobody_waits_for_ever(case in case()) {
        for scheme in Scheme::ALL {
            let report = runs(&case, scheme);
            prop_assert_eq!(&report.wrong, &[] as &[u32], "{}", scheme);
            let is_named = report.endings.iter().any(|ending| *ending != Ending::Complete);
            let is_late = report.died_ns.is_some_and(|ns| ns + 1_000_000 > report.makespan_ns);
            prop_assert!(report.refused.is_empty() || is_named || is_late, "{}", scheme);
            if case.phases == 1 {
                let gift = if scheme == Scheme::NonCollective { report.largest_gift } else { 0 };
                let most = report.lost + report.lost / 5 + gift;
                prop_assert!(report.again <= most, "{scheme}: {} of {most}", report.again);
            }
        }
    }
}
