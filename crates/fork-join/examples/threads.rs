//! One program on one pool of threads, measured: what `studies/threads` runs of the pools in Rust.
//!
//! `cargo run --release -p tidings-fork-join --example threads -- tidings tree`
//!
//! After a run that warms caches up it prints a line a run: milliseconds, and milliseconds of all
//! processors together.

#[path = "../benches/forks/peers.rs"]
mod peers;

use std::process::ExitCode;
use std::time::Instant;

use peers::programs::{Ours, count, fibonacci, placements, run};
use peers::{InOrder, Rayon, chili_fibonacci, with_rayon};
use rustix::time::{ClockId, clock_gettime};
use tidings_applications::queens::Queens;
use tidings_applications::uts::Tree;
use tidings_applications::uts::trees::named;
use tidings_fork_join::Pool;

const THREADS: usize = 2;
const RUNS: usize = 3;
const N: u64 = 30;
const BOARD: u32 = 12;

type Program = Box<dyn FnMut() -> u64>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (Some(mut program), Some(right)) = (program(&words), right(&words)) else {
        eprintln!("usage: threads in-order|tidings|lists|rayon|chili fib|queens|tree");
        return ExitCode::from(2);
    };
    for at in 0..=RUNS {
        let (began, spent) = (Instant::now(), processor_ms());
        let found = program();
        let (wall, spent) = (began.elapsed().as_secs_f64() * 1e3, processor_ms() - spent);
        if found != right {
            eprintln!("threads: {found} was found, and {right} is right");
            return ExitCode::FAILURE;
        }
        if at > 0 {
            println!("{wall:.4} {spent:.4}");
        }
    }
    ExitCode::SUCCESS
}

fn right(words: &[&str]) -> Option<u64> {
    match *words.get(1)? {
        "fib" => Some(832_040),
        "queens" => Some(14_200),
        "tree" => Some(4_130_071),
        _ => None,
    }
}

fn program(words: &[&str]) -> Option<Program> {
    let tree = named("T1").expect("a tree of that name").tree;
    let board = Queens::new(BOARD).expect("a board of that size");
    let pool = Pool::new(THREADS).expect("the system gives threads");
    Some(match words {
        ["in-order", "fib"] => Box::new(|| fibonacci(N, InOrder)),
        ["in-order", "queens"] => Box::new(|| placements(BOARD, InOrder)),
        ["in-order", "tree"] => Box::new(move || count(&tree, InOrder).nodes),
        ["tidings", "fib"] => Box::new(move || pool.install(|| fibonacci(N, Ours))),
        ["tidings", "queens"] => Box::new(move || pool.install(|| placements(BOARD, Ours))),
        ["tidings", "tree"] => Box::new(move || pool.install(|| count(&tree, Ours).nodes)),
        ["lists", "queens"] => Box::new(move || pool.install(|| run(&board))),
        ["lists", "tree"] => Box::new(move || pool.install(|| run(&tree).nodes)),
        ["rayon", "fib"] => Box::new(with_rayon(THREADS, || fibonacci(N, Rayon))),
        ["rayon", "queens"] => Box::new(with_rayon(THREADS, || placements(BOARD, Rayon))),
        ["rayon", "tree"] => rayon_tree(tree),
        ["chili", "fib"] => Box::new(chili_fibonacci(THREADS, N)),
        _ => return None,
    })
}

fn rayon_tree(tree: Tree) -> Program {
    Box::new(with_rayon(THREADS, move || count(&tree, Rayon).nodes))
}

fn processor_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
