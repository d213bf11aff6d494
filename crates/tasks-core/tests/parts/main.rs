//! Graphs across parts, each with a coordinator of its own over one store, in a world of steps.
//!
//! Each seed is a world of its own: how many parts, a graph of which each task lies in any of them,
//! and what happens in which order: commits overtake each other, answers of the store are lost,
//! commits happen long after their answer was given up, what is followed of inboxes comes late or
//! is missed, coordinators die at any call of the store, or go on when another has taken their
//! part. Meanwhile clients want what is done to be forgotten, needed or not.
//!
//! What must hold of each commit is checked by `checked`: each task ends once, begins when its
//! inputs are done and their records are there, and each part writes only what it may. In the end
//! each task has ended as an oracle says that knows the graph, and all inboxes are empty.
//!
//! `TIDINGS_PARTS_SEED=17 cargo test -p tidings-tasks-core --test parts` runs one again;
//! `TIDINGS_PARTS_SEEDS=2000` runs that many (150 by default).

mod asked;
mod checked;
mod graph;
mod seat;
mod totals;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use totals::Totals;

#[allow(clippy::disallowed_methods, reason = "which seeds to run")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(seed: u64) -> Totals {
    match catch_unwind(AssertUnwindSafe(|| world::World::new(seed).run())) {
        Ok(totals) => totals,
        Err(panic) => {
            eprintln!("seed {seed} fails: TIDINGS_PARTS_SEED={seed} runs it again");
            resume_unwind(panic)
        }
    }
}

#[test]
fn edges_across_parts_are_neither_lost_nor_doubled() {
    let seeds = match number("TIDINGS_PARTS_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TIDINGS_PARTS_SEEDS").unwrap_or(150),
    };
    let is_many = seeds.end - seeds.start >= 100;
    let mut all = Totals::default();
    for seed in seeds {
        all.add(&run(seed));
    }
    println!("{all:?}");
    if is_many {
        assert!(all.reached_everything(), "what did not happen: {all:?}");
    }
}

#[test]
fn a_seed_is_one_world() {
    assert_eq!(run(3), run(3));
}
