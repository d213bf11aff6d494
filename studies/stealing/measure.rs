//! What is it worth to know who has work? Ways to select victims on simulated workers.
//!
//! Each row is an iteration of a run of `tidings-steal-sim`, a function of its arguments: the same
//! on any machine.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;

use serde_json::{Map, Value};
use tidings_applications::uts::trees::named;
use tidings_steal::queue::Half;
use tidings_steal::victims::BackOff;
use tidings_steal::{Config, Selection, config};
use tidings_steal_sim::programs::listed::{Listed, like_scf, scf, tce};
use tidings_steal_sim::programs::trees::Search;
use tidings_steal_sim::{Iteration, Setting, persistence, run};
use tidings_studies::table::{self, Made};

/// A request and its answer, with what handling them takes.
const ROUND_TRIP_US: u64 = 22;

const POLICIES: [&str; 3] = ["random", "lifelines", "known"];

/// What a run is.
#[derive(Clone, Copy)]
struct Case {
    part: &'static str,
    program: &'static str,
    /// With `-count` a thief gets half of the number of tasks; `persistence` is `known` with a
    /// balancer before each iteration.
    policy: &'static str,
    workers: u32,
    seed: u64,
    unit_ms: u32,
    iterations: u32,
    slow_one_in: u32,
}

const USUAL: Case = Case {
    part: "scale",
    program: "like",
    policy: "known",
    workers: 1024,
    seed: 1,
    unit_ms: 10,
    iterations: 1,
    slow_one_in: 0,
};

/// One iteration, and how many tasks the balancer moved before it.
struct Row {
    iteration: Iteration,
    balanced: usize,
}

fn main() -> ExitCode {
    table::make("stealing", "studies/stealing/run", Some(1), |is_measured| {
        let cases = if is_measured { cases() } else { tiny() };
        let rows = "part,program,policy,workers,seed,unit_ms,iteration,efficiency,attempts,steals,\
                    moved,messages,bytes,waiting_s,searching_s,terminating_s,retained,balanced,herd\n"
            .to_owned();
        let rows = rows + &all(&cases);
        Ok::<Made, Infallible>((rows, Map::<String, Value>::new()))
    })
}

fn tiny() -> Vec<Case> {
    let policies = ["random", "nearest-count", "lifelines", "known", "persistence"];
    policies.map(|policy| Case { policy, workers: 16, iterations: 2, ..USUAL }).to_vec()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for policy in POLICIES {
        for workers in [4096, 1024, 256, 64, 16] {
            let seeds = if workers > 1024 { 1 } else { 3 };
            cases.extend((1..=seeds).map(|seed| Case { policy, workers, seed, ..USUAL }));
        }
        cases.push(Case { part: "slow", policy, slow_one_in: 4, ..USUAL });
        cases.push(Case { part: "retain", policy, iterations: 5, ..USUAL });
        for program in ["scf-line", "scf-box", "tce"] {
            let workers = 64;
            cases.push(Case { part: "applications", program, policy, workers, ..USUAL });
        }
        cases.push(Case { part: "applications", program: "T1", policy, unit_ms: 1, ..USUAL });
    }
    for policy in ["nearest", "random-count", "known-count"] {
        cases.push(Case { part: "ways", policy, ..USUAL });
    }
    cases.push(Case { part: "retain", policy: "persistence", iterations: 5, ..USUAL });
    let units = [1, 64, 256, 1024];
    cases.extend(units.map(|unit_ms| Case { part: "unit", unit_ms, ..USUAL }));
    cases
}

/// Runs all of them, on two threads, and returns their rows in order.
fn all(cases: &[Case]) -> String {
    let (next, done) = (Mutex::new(0..cases.len()), Mutex::new(vec![String::new(); cases.len()]));
    let work = || {
        while let Some(at) = { next.lock().expect("no thread panics with it").next() } {
            let rows = rows(cases[at]);
            done.lock().expect("no thread panics with it")[at] = rows;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    done.into_inner().expect("no thread panicked").concat()
}

fn selection(policy: &str) -> Selection {
    let back_off = BackOff { first_us: ROUND_TRIP_US, most_us: 16 * ROUND_TRIP_US };
    match policy.trim_end_matches("-count") {
        "random" => config::random(ROUND_TRIP_US),
        "nearest" => Selection::Nearest(back_off),
        "lifelines" => config::lifelines(),
        _ => config::known(ROUND_TRIP_US),
    }
}

fn has_board(case: Case) -> bool {
    case.policy.starts_with("known") || case.policy == "persistence"
}

fn setting(case: Case) -> Setting {
    let mut config = Config::new(selection(case.policy), ROUND_TRIP_US);
    config.retain = case.iterations > 1 && case.policy != "persistence";
    if case.policy.ends_with("-count") {
        config.sharing.half = Half::Count;
    }
    let unit_ns = if has_board(case) { 1_000_000 * i64::from(case.unit_ms) } else { 0 };
    let (iterations, slow_one_in) = (case.iterations, case.slow_one_in);
    Setting { iterations, unit_ns, slow_one_in, ..Setting::new(case.workers, config, case.seed) }
}

fn simulate(case: Case) -> Vec<Row> {
    let setting = setting(case);
    let plain = |iterations: Vec<Iteration>| {
        iterations.into_iter().map(|iteration| Row { iteration, balanced: 0 }).collect()
    };
    let costs = match case.program {
        "like" => like_scf(case.workers, 1000, 4_400_000, case.seed),
        "scf-line" => scf([16, 1, 1]),
        "scf-box" => scf([4, 2, 2]),
        "tce" => tce(24, 12, case.seed),
        tree => {
            let tree = named(tree).expect("a tree of the benchmark").tree;
            return plain(run(&setting, &mut Search::new(tree, 20_000)));
        }
    };
    let mut list = Listed::in_blocks(costs, case.workers).changing(0.1, 0.01);
    if case.policy == "persistence" {
        let all = persistence::iterations(&setting, list).into_iter();
        return all.map(|(iteration, balanced)| Row { iteration, balanced }).collect();
    }
    plain(run(&setting, &mut list))
}

fn rows(case: Case) -> String {
    let Case { part, program, policy, workers, seed, .. } = case;
    let unit_ms = if has_board(case) { case.unit_ms.to_string() } else { String::new() };
    let began = std::time::Instant::now();
    let mut rows = String::new();
    for (number, Row { iteration, balanced }) in (1..).zip(simulate(case)) {
        assert!(iteration.is_complete(), "{part} {program} {policy} {workers}: tasks are missing");
        let counters = &iteration.counters;
        let seconds = |ns: i64| ns as f64 / 1e9;
        let _ = writeln!(
            rows,
            "{part},{program},{policy},{workers},{seed},{unit_ms},{number},{:.4},{},{},{},{},{},\
             {:.3},{:.3},{:.3},{:.4},{balanced},{}",
            iteration.efficiency,
            counters.attempts,
            counters.steals + counters.pushed,
            counters.tasks_in,
            iteration.messages,
            iteration.bytes,
            seconds(iteration.waiting_ns),
            seconds(iteration.searching_ns),
            seconds(iteration.terminating_ns),
            iteration.retained,
            iteration.thieves_at_once,
        );
    }
    eprintln!("{part} {program} {policy} {workers}: {:.0} s", began.elapsed().as_secs_f64());
    rows
}
