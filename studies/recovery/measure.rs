//! How much is run again when workers die in a phase? Three schemes and checkpoint-restart.
//!
//! Each row is a run of `tidings_steal_sim::recovery`, a function of its arguments: the same on any
//! machine.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use tidings_recovery::Scheme;
use tidings_steal::{Config, config};
use tidings_steal_sim::programs::listed::Listed;
use tidings_steal_sim::recovery::{Checkpoints, Faults, Report, Work, run};
use tidings_steal_sim::{Death, Setting};
use tidings_studies::table::{self, Made};

/// A request and its answer, with what handling them takes.
const ROUND_TRIP_US: u64 = 22;

/// What a checkpoint takes, and reading it.
const CHECKPOINT_NS: i64 = 10_000_000;

/// What a run is.
#[derive(Clone, Copy)]
struct Case {
    part: &'static str,
    program: &'static str,
    workers: u32,
    seed: u64,
    /// Workers that die at once.
    deaths: u32,
    /// When, in per cent of the time without deaths.
    at_percent: i64,
    /// Tasks of a worker, and what one takes on average, of random tasks.
    tasks: usize,
    mean_us: u64,
}

const USUAL: Case = Case {
    part: "failures",
    program: "scf-line",
    workers: 64,
    seed: 1,
    deaths: 1,
    at_percent: 50,
    tasks: 100,
    mean_us: 1000,
};

const PROGRAMS: [&str; 3] = ["scf-line", "scf-box", "tce"];

fn main() -> ExitCode {
    table::make("recovery", "studies/recovery/run", Some(1), |is_measured| {
        let cases = if is_measured { cases() } else { tiny() };
        let rows =
            "part,program,scheme,copies,workers,seed,deaths,at_percent,tasks,mean_us,executed,\
                    started,again,lost,makespan_ms,without_ms,begun_again_ms,messages,bytes\n"
                .to_owned();
        let rows = rows + &all(&cases);
        Ok::<Made, Infallible>((rows, Map::<String, Value>::new()))
    })
}

fn tiny() -> Vec<Case> {
    let failed = Case { workers: 8, program: "random", tasks: 20, ..USUAL };
    vec![failed, Case { part: "overhead", deaths: 0, ..failed }]
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 1..=3 {
        for program in PROGRAMS {
            for at_percent in [5, 50, 95] {
                for deaths in [1, 2] {
                    cases.push(Case { program, seed, deaths, at_percent, ..USUAL });
                }
            }
        }
        for (tasks, mean_us) in [(30, 1000), (100, 1000), (1000, 1000), (1000, 100), (100, 10_000)]
        {
            let (part, program, deaths) = ("overhead", "random", 0);
            cases.push(Case { part, program, seed, deaths, tasks, mean_us, ..USUAL });
        }
    }
    cases
}

/// Runs all of them, on two threads, and returns their rows in order.
fn all(cases: &[Case]) -> String {
    let done = Mutex::new(vec![String::new(); cases.len()]);
    let next = Mutex::new(0..cases.len());
    let work = || loop {
        let at = next.lock().expect("no thread panics with it").next();
        let Some(at) = at else { return };
        let rows = rows(cases[at]);
        done.lock().expect("no thread panics with it")[at] = rows;
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    done.into_inner().expect("no thread panicked").concat()
}

fn work(case: Case) -> Work {
    match case.program {
        "scf-line" => Work::scf([16, 1, 1]).scaled(10.0),
        "scf-box" => Work::scf([4, 2, 2]).scaled(3.0),
        "tce" => Work::tce(14, 8, case.seed).scaled(0.05),
        _ => {
            let tasks = case.tasks * case.workers as usize;
            let blocks = 8 * case.workers;
            Work::random(tasks, blocks, 1000.0 * case.mean_us as f64, case.seed)
        }
    }
}

fn setting(case: Case) -> Setting {
    let config = Config::new(config::lifelines(), ROUND_TRIP_US);
    Setting::new(case.workers, config, case.seed)
}

/// The same with deaths, of workers that are not neighbours.
fn with_deaths(case: Case, makespan_ns: i64) -> Setting {
    let death = |number: u32| Death {
        worker: (7 * case.seed as u32 + number * case.workers / 2) % case.workers,
        at_ns: case.at_percent * makespan_ns / 100,
    };
    Setting { deaths: (0..case.deaths).map(death).collect(), ..setting(case) }
}

fn rows(case: Case) -> String {
    let work = Arc::new(work(case));
    let began = std::time::Instant::now();
    let mut rows = String::new();
    if case.part == "overhead" {
        overhead(&mut rows, case, &work);
    } else {
        failures(&mut rows, case, &work);
    }
    eprintln!(
        "{} {} {}: {:.1} s",
        case.part,
        case.program,
        case.seed,
        began.elapsed().as_secs_f64()
    );
    rows
}

/// A row of a run, or of what stands for one.
fn row(rows: &mut String, case: Case, scheme: (&str, u32), report: &Report, without_ns: i64) {
    let Case { part, program, workers, seed, deaths, at_percent, tasks, mean_us } = case;
    let (scheme, copies) = scheme;
    let milliseconds = |ns: i64| ns as f64 / 1e6;
    let begun_again =
        report.recovered_ns.map_or(String::new(), |ns| format!("{:.3}", milliseconds(ns)));
    let _ = writeln!(
        rows,
        "{part},{program},{scheme},{copies},{workers},{seed},{deaths},{at_percent},{tasks},{mean_us},\
         {},{},{},{},{:.3},{:.3},{begun_again},{},{}",
        report.executed,
        report.counters.again,
        report.again,
        report.lost,
        milliseconds(report.makespan_ns),
        milliseconds(without_ns),
        report.messages,
        report.bytes,
    );
}

/// A failure by each scheme, and with checkpoints: one when the phase begins, or ten in it.
fn failures(rows: &mut String, case: Case, work: &Arc<Work>) {
    for scheme in Scheme::ALL {
        for (copied, copies) in [(true, 1), (false, 0)] {
            let faults = Faults { copied, ..Faults::new(scheme) };
            let without = run(&setting(case), &faults, work);
            let report = run(&with_deaths(case, without.makespan_ns), &faults, work);
            assert!(report.is_complete() && report.wrong.is_empty(), "{}: not exact", case.program);
            row(rows, case, (scheme.name(), copies), &report, without.makespan_ns);
        }
    }
    let without = Faults { copied: false, ..Faults::new(Scheme::Lazy) };
    let last = run(&setting(case), &without, work);
    let makespan_ns = last.makespan_ns;
    for (name, parts) in [("checkpoint-at-begin", 1), ("checkpoints-10", 10)] {
        let checkpoints = Checkpoints {
            interval_ns: makespan_ns / parts + 1,
            write_ns: CHECKPOINT_NS,
            detection_ns: 750_000,
        };
        let at_ns = case.at_percent * makespan_ns / 100;
        let failed = checkpoints.failure(&last.ended_ns, makespan_ns, at_ns);
        let again_ns =
            failed.lost_ns * i64::from(case.workers) / i64::from(case.workers - case.deaths);
        let report = Report {
            executed: last.executed + failed.again,
            again: failed.again,
            lost: failed.again,
            makespan_ns: makespan_ns + failed.written_ns + again_ns,
            ..Report::default()
        };
        row(rows, case, (name, 0), &report, makespan_ns);
    }
}

/// Without failures: each scheme, beside stealing alone and beside owners without copies.
fn overhead(rows: &mut String, case: Case, work: &Arc<Work>) {
    let mut list = Listed::in_blocks(work.costs_ns().to_vec(), case.workers);
    let alone = tidings_steal_sim::run(&setting(case), &mut list).remove(0);
    let without_ns = alone.makespan_ns;
    let counted = |makespan_ns, messages, bytes| Report {
        executed: list.costs_ns().len() as u64,
        makespan_ns,
        messages,
        bytes,
        ..Report::default()
    };
    let report = counted(without_ns, alone.messages, alone.bytes);
    row(rows, case, ("stealing-alone", 0), &report, without_ns);
    let owners = Faults { copied: false, ..Faults::new(Scheme::Lazy) };
    let report = run(&setting(case), &owners, work);
    row(rows, case, ("owners-alone", 0), &report, without_ns);
    for scheme in Scheme::ALL {
        let report = run(&setting(case), &Faults::new(scheme), work);
        assert!(report.is_complete() && report.again == 0, "{}: not exact", case.program);
        row(rows, case, (scheme.name(), 1), &report, without_ns);
    }
}
