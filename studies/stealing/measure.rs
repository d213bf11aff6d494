//! What is it worth to know who has work? Ways to select victims on simulated workers.
//!
//! With `breadth` the table is another one: iterations by each way, and a hundred thousand workers.
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

/// With what iterations begin.
#[derive(Clone, Copy, PartialEq)]
enum Beginning {
    /// What the program gives.
    Given,
    /// What each worker ran before.
    Retained,
    /// What the balancer makes of the costs of the last iteration.
    Balanced,
}

/// What a run is.
#[derive(Clone, Copy)]
struct Case {
    part: &'static str,
    program: &'static str,
    /// With `-count` a thief gets half of the number of tasks.
    policy: &'static str,
    beginning: Beginning,
    workers: u32,
    /// Of a worker, where the program is `like`.
    tasks: u32,
    seed: u64,
    unit_ms: u32,
    iterations: u32,
    slow_one_in: u32,
}

const USUAL: Case = Case {
    part: "scale",
    program: "like",
    policy: "known",
    beginning: Beginning::Given,
    workers: 1024,
    tasks: 1000,
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
    let is_broad = std::env::args().any(|word| word == "breadth");
    let (name, command) = if is_broad {
        ("breadth", "studies/stealing/run breadth")
    } else {
        ("stealing", "studies/stealing/run simulated")
    };
    table::make(name, command, Some(1), |is_measured| {
        let cases = match (is_measured, is_broad) {
            (false, _) => tiny(),
            (true, false) => cases(),
            (true, true) => breadth(),
        };
        let rows = "part,program,policy,workers,seed,unit_ms,iteration,efficiency,attempts,steals,\
                    moved,messages,bytes,waiting_s,searching_s,terminating_s,retained,balanced,herd\n"
            .to_owned();
        let rows = rows + &all(&cases);
        Ok::<Made, Infallible>((rows, Map::<String, Value>::new()))
    })
}

fn tiny() -> Vec<Case> {
    let usual = Case { workers: 16, iterations: 2, ..USUAL };
    let policies = ["random", "nearest-count", "lifelines", "known"];
    let mut cases = policies.map(|policy| Case { policy, ..usual }).to_vec();
    let beginnings = [Beginning::Retained, Beginning::Balanced];
    cases.extend(beginnings.map(|beginning| Case { beginning, ..usual }));
    cases
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for policy in POLICIES {
        for workers in [4096, 1024, 256, 64, 16] {
            let seeds = if workers > 1024 { 1 } else { 3 };
            cases.extend((1..=seeds).map(|seed| Case { policy, workers, seed, ..USUAL }));
        }
        cases.push(Case { part: "slow", policy, slow_one_in: 4, ..USUAL });
        let beginning = Beginning::Retained;
        cases.push(Case { part: "retain", policy, beginning, iterations: 5, ..USUAL });
        for program in ["scf-line", "scf-box", "tce"] {
            let workers = 64;
            cases.push(Case { part: "applications", program, policy, workers, ..USUAL });
        }
        cases.push(Case { part: "applications", program: "T1", policy, unit_ms: 1, ..USUAL });
    }
    for policy in ["nearest", "random-count", "known-count"] {
        cases.push(Case { part: "ways", policy, ..USUAL });
    }
    let beginning = Beginning::Balanced;
    cases.push(Case { part: "retain", beginning, iterations: 5, ..USUAL });
    let units = [1, 64, 256, 1024];
    cases.extend(units.map(|unit_ms| Case { part: "unit", unit_ms, ..USUAL }));
    cases
}

/// The most expensive first.
fn breadth() -> Vec<Case> {
    let large = Case { part: "large", workers: 100_000, tasks: 100, ..USUAL };
    let mut cases = POLICIES.map(|policy| Case { policy, ..large }).to_vec();
    for (program, most) in [("like", 4096), ("tce", 1024)] {
        for workers in [4096, 1024, 256, 64, 16].into_iter().filter(|workers| *workers <= most) {
            let usual = Case { part: "iterated", program, workers, iterations: 5, ..USUAL };
            cases.extend(POLICIES.map(|policy| Case { policy, ..usual }));
            cases.extend(["random", "known"].map(|policy| Case {
                policy,
                beginning: Beginning::Retained,
                ..usual
            }));
            cases.push(Case { beginning: Beginning::Balanced, ..usual });
        }
    }
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
    case.policy.starts_with("known")
}

fn setting(case: Case) -> Setting {
    let mut config = Config::new(selection(case.policy), ROUND_TRIP_US);
    config.retain = case.beginning == Beginning::Retained;
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
        "like" => like_scf(case.workers, case.tasks, 4_400_000, case.seed),
        "scf-line" => scf([16, 1, 1]),
        "scf-box" => scf([4, 2, 2]),
        "tce" => tce(24, 12, case.seed),
        tree => {
            let tree = named(tree).expect("a tree of the benchmark").tree;
            return plain(run(&setting, &mut Search::new(tree, 20_000)));
        }
    };
    let mut list = Listed::in_blocks(costs, case.workers).changing(0.1, 0.01);
    if case.beginning == Beginning::Balanced {
        let all = persistence::iterations(&setting, list).into_iter();
        return all.map(|(iteration, balanced)| Row { iteration, balanced }).collect();
    }
    plain(run(&setting, &mut list))
}

fn rows(case: Case) -> String {
    let Case { part, program, workers, seed, .. } = case;
    let policy = match case.beginning {
        Beginning::Given => case.policy.to_owned(),
        Beginning::Retained if part == "retain" => case.policy.to_owned(),
        Beginning::Retained => format!("{}-retained", case.policy),
        Beginning::Balanced => "persistence".to_owned(),
    };
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
