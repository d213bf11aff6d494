//! What traces cost: one tree searched by forks on two pools in turn, of which one notes thefts.
//!
//! `cargo run --release -p tidings-fork-join --example traced -- T1L 20`
//!
//! After a run of each that warms caches up it prints a line a pair: milliseconds of a clock and of
//! all processors together, of the pool that is traced and of the other one, and the thefts of the
//! first. Which of the two begins alternates.

#[path = "../tests/programs/mod.rs"]
#[expect(dead_code, reason = "one of its programs is enough here")]
mod programs;

use std::process::ExitCode;
use std::time::Instant;

use programs::{Ours, count};
use rustix::time::{ClockId, clock_gettime};
use tidings_applications::uts::trees::{Named, named};
use tidings_fork_join::Pool;

const THREADS: usize = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let tree = words.first().and_then(|name| named(name));
    let pairs = words.get(1).and_then(|number| number.parse::<u32>().ok());
    let (Some(tree), Some(pairs), 2) = (tree, pairs, words.len()) else {
        eprintln!("usage: traced TREE PAIRS, as in `traced T1L 20`");
        return ExitCode::from(2);
    };
    let pools = [true, false].map(pool);
    if pools.iter().any(|pool| lap(pool, &tree).is_none()) {
        return ExitCode::FAILURE;
    }
    for pair in 0..pairs {
        let mut laps = [(0.0, 0.0); 2];
        let thefts = pools[0].counts().steals;
        for turn in 0..2 {
            let which = (pair + turn) as usize % 2;
            let Some(took) = lap(&pools[which], &tree) else { return ExitCode::FAILURE };
            laps[which] = took;
        }
        let thefts = pools[0].counts().steals - thefts;
        let [(wall, spent), (plain_wall, plain_spent)] = laps;
        println!("{wall:.3} {spent:.3} {plain_wall:.3} {plain_spent:.3} {thefts}");
    }
    ExitCode::SUCCESS
}

fn pool(is_traced: bool) -> Pool {
    let builder = Pool::builder().threads(THREADS).stack_bytes(64 << 20).traced(is_traced);
    builder.build().expect("the system gives threads")
}

/// Milliseconds of a clock and of all processors; `None` if the tree has another size.
fn lap(pool: &Pool, tree: &Named) -> Option<(f64, f64)> {
    let (began, spent) = (Instant::now(), processor_ms());
    let found = pool.install(|| count(&tree.tree, Ours));
    let took = (began.elapsed().as_secs_f64() * 1e3, processor_ms() - spent);
    // The log is emptied, or it would be full after some laps.
    let _ = pool.trace();
    if !tree.is(&found) {
        eprintln!("traced: {found:?} is not the tree");
        return None;
    }
    Some(took)
}

fn processor_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
