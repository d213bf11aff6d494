//! What a fork costs, how much of two threads programs use and how soon a thread wakes, beside
//! rayon, beside themselves in order and beside the system.
//!
//! Each row runs two programs in turn, so that what else the machine does meets both, and reports
//! the median of the ratios of their times with its quartiles.
//!
//! `cargo bench -p tidings-fork-join`; with `cargo test` each program runs once.

mod compare;
mod peers;
mod wake;

use std::hint::black_box;

use compare::Runs;
use peers::programs::{Ours, count, fibonacci, placements, run};
use peers::{InOrder, Rayon, chili_fibonacci, with_rayon};
use tidings_applications::in_order;
use tidings_applications::queens::Queens;
use tidings_applications::uts::trees::named;
use tidings_fork_join::{Pool, for_each};

const THREADS: usize = 2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs = Runs::from_arguments();
    let pool = Pool::new(THREADS)?;
    println!("| what | ratio | compared with | median times |\n|---|---|---|---|");
    forks(&pool, &runs);
    // On its usual stacks rayon overflows in T3: a thread that waits runs any job on top.
    let rayon =
        rayon::ThreadPoolBuilder::new().num_threads(THREADS).stack_size(256 << 20).build()?;
    trees(&pool, &rayon, &runs);
    queens(&pool, &runs);
    loops(&pool, &rayon, &runs);
    wakes(&pool, &runs);
    Ok(())
}

/// Forks without any work.
fn forks(pool: &Pool, runs: &Runs) {
    let n = runs.size(30, 15);
    let ours = || black_box(pool.install(|| fibonacci(n, Ours)));
    let rayon = with_rayon(THREADS, move || black_box(fibonacci(n, Rayon)));
    runs.row("fib(30)", ours, "rayon", rayon);
    let mut chili = chili_fibonacci(THREADS, n);
    runs.row("fib(30)", ours, "chili", || black_box(chili()));
    runs.row("fib(30)", ours, "calls in order", || black_box(fibonacci(n, InOrder)));
}

/// Trees of which nobody knows where they are deep.
fn trees(pool: &Pool, rayon: &rayon::ThreadPool, runs: &Runs) {
    for name in ["T1", "T3"] {
        let named = named(name).expect("a tree of that name");
        let tree = &named.tree;
        let ours = || assert!(named.is(&pool.install(|| count(tree, Ours))));
        let lists = || assert!(named.is(&pool.install(|| run(tree))));
        let theirs = || assert!(named.is(&rayon.install(|| count(tree, Rayon))));
        let calls = || assert!(named.is(&count(tree, InOrder)));
        let half = || assert!(named.is(&in_order(tree).0));
        runs.row(&format!("UTS {name}, forks"), ours, "rayon, forks", theirs);
        runs.row(&format!("UTS {name}, forks"), ours, "the same as calls in order", calls);
        runs.row(&format!("UTS {name}, forks"), ours, "in order", half);
        runs.row(&format!("UTS {name}, lists"), lists, "in order", half);
        runs.row(&format!("UTS {name}, rayon's forks"), theirs, "in order", half);
    }
}

fn queens(pool: &Pool, runs: &Runs) {
    let n = runs.size(12, 8) as u32;
    let forks = || black_box(pool.install(|| placements(n, Ours)));
    let calls = || black_box(placements(n, InOrder));
    runs.row("queens 12, forks", forks, "the same as calls in order", calls);
    let board = Queens::new(n).expect("a board of that size");
    let ours = || black_box(pool.install(|| run(&board)));
    runs.row("queens 12, lists", ours, "in order", || black_box(in_order(&board).0));
}

/// How soon a thread that sleeps is at work.
fn wakes(pool: &Pool, runs: &Runs) {
    let (waiter, times) = (wake::Waiter::start(), 2_000);
    let theirs = || waiter.wake();
    runs.timed("wake-up by a spawn", times, || wake::by_a_spawn(pool), "condition", theirs);
    runs.timed("wake-up by a call", times, || wake::by_a_call(pool), "condition", theirs);
}

/// Loops: calls of a nanosecond, and calls that get longer and longer.
fn loops(pool: &Pool, rayon: &rayon::ThreadPool, runs: &Runs) {
    use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};
    let spin = |steps: usize| {
        black_box((0..steps as u64).fold(1_u64, |sum, at| black_box(sum.wrapping_mul(3) ^ at)));
    };
    let n = runs.size(100_000, 1_000) as usize;
    let cost = [
        ("equal calls", Box::new(|_| 8_usize) as Box<dyn Fn(usize) -> usize + Sync>),
        ("growing calls", Box::new(|at| at / 200)),
    ];
    for (name, cost) in cost {
        let body = |at| spin(cost(at));
        let ours = || pool.install(|| for_each(0..n, body));
        let theirs = || rayon.install(|| (0..n).into_par_iter().for_each(body));
        runs.row(&format!("for_each, {name}"), ours, "rayon", theirs);
        runs.row(&format!("for_each, {name}"), ours, "in order", || (0..n).for_each(body));
    }
}
