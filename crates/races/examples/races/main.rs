//! What a checked run costs, how far it climbs, and what it says of a program with a race.
//!
//! `cargo run --release -p tidings-races --example races -- [fib|nqueens|cholesky|scf] [race]
//! [threads=N] [times=N] [way=labels]`
//!
//! With `race` the program has one, and the first is printed. Without, a table as CSV: in each
//! repetition the program is run plainly, and checked with each way to find common ancestors.

#![allow(clippy::disallowed_methods, reason = "it measures")]

mod cholesky;
mod programs;
mod scf;

use std::process::ExitCode;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use tidings_fork_join::Pool;
use tidings_races::{Climb, check, check_by};

use cholesky::Cholesky;
use programs::{Fib, Program, Queens};
use scf::Scf;

const PROGRAMS: [(&str, &dyn Program); 4] =
    [("fib", &Fib), ("nqueens", &Queens), ("cholesky", &Cholesky), ("scf", &Scf)];

const COLUMNS: &str = "program,threads,repetition,way,plain_ms,plain_processors_ms,checked_ms,\
                       checked_processors_ms,pairs,climbed,nodes,phases";

/// What is asked for.
struct Asked {
    name: Option<String>,
    is_raced: bool,
    threads: usize,
    times: u32,
    ways: Vec<Climb>,
}

impl Asked {
    fn read(words: impl Iterator<Item = String>) -> Option<Self> {
        let mut asked =
            Self { name: None, is_raced: false, threads: 2, times: 9, ways: Climb::ALL.into() };
        for word in words {
            match word.split_once('=') {
                Some(("threads", number)) => asked.threads = number.parse().ok()?,
                Some(("times", number)) => asked.times = number.parse().ok()?,
                Some(("way", "labels")) => asked.ways = vec![Climb::Labels],
                None if word == "race" => asked.is_raced = true,
                None if PROGRAMS.iter().any(|(name, _)| *name == word) => asked.name = Some(word),
                _ => return None,
            }
        }
        Some(asked)
    }
}

fn main() -> ExitCode {
    let Some(asked) = Asked::read(std::env::args().skip(1)) else {
        eprintln!(
            "usage: races [fib|nqueens|cholesky|scf] [race] [threads=N] [times=N] [way=labels]"
        );
        return ExitCode::from(2);
    };
    let pool = Pool::new(asked.threads).expect("these threads can be had");
    if !asked.is_raced {
        println!("{COLUMNS}");
    }
    let is_wanted = |name: &str| asked.name.as_deref().is_none_or(|wanted| wanted == name);
    for (name, program) in PROGRAMS.into_iter().filter(|(name, _)| is_wanted(name)) {
        if asked.is_raced {
            let ((), report) = check(&pool, || program.run(true));
            println!("{name}: {} places with a race; the first:", report.counts.races);
            report.races.iter().take(1).for_each(|race| println!("{race}"));
        } else {
            pool.install(|| program.run(false)); // caches and tables are filled
            for repetition in 1..=asked.times {
                let head = format!("{name},{},{repetition}", asked.threads);
                repeat(&head, &asked.ways, &pool, program);
            }
        }
    }
    ExitCode::SUCCESS
}

/// One repetition: a row for each way.
fn repeat(head: &str, ways: &[Climb], pool: &Pool, program: &dyn Program) {
    for &climb in ways {
        let (plain, ()) = time(|| pool.install(|| program.run(false)));
        let (checked, ((), report)) = time(|| check_by(pool, climb, || program.run(false)));
        assert_eq!(report.races, [], "{head} has no race");
        let counts = report.counts;
        println!(
            "{head},{climb:?},{plain},{checked},{},{},{},{}",
            counts.meetings, counts.climbed, counts.nodes, counts.phases
        );
    }
}

/// What work takes by a clock and of all processors, in milliseconds, as two cells.
fn time<R>(work: impl FnOnce() -> R) -> (String, R) {
    let (begin, spent) = (Instant::now(), processors_ms());
    let result = work();
    let wall_ms = begin.elapsed().as_secs_f64() * 1e3;
    (format!("{wall_ms:.3},{:.3}", processors_ms() - spent), result)
}

fn processors_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
