//! Tasks, workers, clients, coordinators and a store in virtual time, with everything that fails.
//!
//! Each seed is a world of its own: what is submitted, how long tasks take, which messages are
//! late, who is killed, frozen or wrongly taken as dead, when the store does not answer or has no
//! space. A seed that fails is printed, and fails again:
//!
//! `TIDINGS_TASKS_SEED=17 cargo test -p tidings-tasks-core --test simulation`
//!
//! `TIDINGS_TASKS_SEEDS=1000` runs that many seeds (200 by default), `TIDINGS_TASKS_FIRST=5000`
//! says where they begin.
//!
//! What must hold of each commit is checked by [`check`]; [`world`] checks that after the faults
//! all ends in bounded time, and that nobody turns without moving.

mod check;
mod faults;
mod gap;
mod party;
mod process;
mod tokens;
mod world;

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[allow(clippy::disallowed_methods, reason = "which seeds to run")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(seed: u64) -> world::Totals {
    match catch_unwind(AssertUnwindSafe(|| world::World::new(seed).run())) {
        Ok(totals) => totals,
        Err(panic) => {
            eprintln!("seed {seed} fails: TIDINGS_TASKS_SEED={seed} runs it again");
            resume_unwind(panic)
        }
    }
}

#[test]
fn whatever_fails_each_task_ends_once() {
    let first = number("TIDINGS_TASKS_SEED").or(number("TIDINGS_TASKS_FIRST")).unwrap_or(0);
    let seeds = match number("TIDINGS_TASKS_SEED") {
        Some(_) => 1,
        None => number("TIDINGS_TASKS_SEEDS").unwrap_or(200),
    };
    let mut all = world::Totals::default();
    for seed in first..first + seeds {
        all.add(&run(seed));
    }
    println!("{seeds} seeds: {all:?}");
    if seeds >= 100 {
        assert!(all.reached_everything(), "faults that did not happen: {all:?}");
    }
}

/// The longest time without a dispatch, in virtual time, while tasks wait.
const LONGEST_GAP: Duration = Duration::from_secs(2);

#[test]
fn who_takes_over_dispatches_soon() {
    let all: Vec<_> = (0..50).map(world::World::gaps).collect();
    let longest = all.iter().map(|gaps| gaps.longest).max().unwrap_or_default();
    let sum = |of: fn(&gap::Gaps) -> u64| all.iter().map(of).sum::<u64>();
    let (kills, dispatches) = (sum(|gaps| u64::from(gaps.kills)), sum(|gaps| gaps.dispatches));
    println!("{kills} kills of coordinators, {dispatches} dispatches: {longest:?} without one");
    assert!(kills >= 150 && dispatches > 5_000, "{kills} kills, {dispatches} dispatches");
    assert!(longest <= LONGEST_GAP, "{longest:?} without a dispatch");
    assert!(longest >= Duration::from_millis(500), "sessions end before: {longest:?}");
}

#[test]
fn a_seed_is_one_world() {
    assert_eq!(run(3), run(3));
}
