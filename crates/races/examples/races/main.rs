//! What a checked run costs, how far it climbs, and what it says of a program with a race.
//!
//! `cargo run --release -p tidings-races --example races -- [fib|nqueens|cholesky] [race]`
//!
//! With `race` the program has one. Without, it is run plainly and checked in turns, and one line
//! says how much longer the checked run takes; others, how many nodes were climbed for one pair of
//! steps with each way up.

#![allow(clippy::disallowed_methods, reason = "it measures")]

mod programs;

use std::time::{Duration, Instant};

use tidings_fork_join::Pool;
use tidings_races::{Climb, check, check_by};

use programs::{Cholesky, Fib, Program, Queens};

/// Times that each is run.
const TIMES: usize = 9;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_raced = words.iter().any(|word| word == "race");
    let pool = Pool::new(2).expect("two threads can be had");
    let all: [(&str, &dyn Program); 3] =
        [("fib", &Fib), ("nqueens", &Queens), ("cholesky", &Cholesky)];
    let wanted = |name: &str| words.iter().all(|word| word == "race" || word == name);
    for (name, program) in all.into_iter().filter(|(name, _)| wanted(name)) {
        if is_raced {
            let ((), report) = check(&pool, || program.run(true));
            println!("{name}: {} places with a race; the first:", report.counts.races);
            report.races.iter().take(1).for_each(|race| println!("{race}"));
        } else {
            compare(name, &pool, program);
        }
    }
}

fn compare(name: &str, pool: &Pool, program: &dyn Program) {
    let (mut plainly, mut checked) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        plainly.push(time(|| pool.install(|| program.run(false))));
        checked.push(time(|| {
            let ((), report) = check(pool, || program.run(false));
            assert_eq!(report.races, [], "{name} has no race");
        }));
    }
    let (plainly, checked) = (middle(plainly), middle(checked));
    let times = checked.as_secs_f64() / plainly.as_secs_f64();
    println!("{name}: plain {plainly:.1?}, checked {checked:.1?}, {times:.2} times");
    for (by_phases, by_jumps) in [(false, false), (true, false), (false, true), (true, true)] {
        let climb = Climb { by_phases, by_jumps };
        let ((), report) = check_by(pool, climb, || program.run(false));
        let counts = report.counts;
        let each = counts.climbed as f64 / counts.meetings.max(1) as f64;
        println!(
            "  {climb:?}: {each:.2} nodes a pair; {} pairs, {} nodes, {} phases",
            counts.meetings, counts.nodes, counts.phases
        );
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
