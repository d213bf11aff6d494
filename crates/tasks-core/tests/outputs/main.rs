//! Graphs whose outputs stay on nodes, while nodes die with what they have, in a world of steps.
//!
//! Each seed is a world of its own: a graph, nodes with depots, a coordinator, and what happens in
//! which order. In a *calm* one (even seeds) nodes die while nothing else is on its way, and what
//! is made again is compared with what an oracle says that knows the graph (`oracle`): the same
//! tasks, no more and no fewer. In a *wild* one coordinators die too, answers of the store are
//! lost, and nodes are wrongly taken as dead; then each task that is made again must be lost and
//! needed at that moment. In both each task is done in the end with the right value, and its
//! effects and children happened once.
//!
//! `TIDINGS_OUTPUTS_SEED=17 cargo test -p tidings-tasks-core --test outputs` runs one again;
//! `TIDINGS_OUTPUTS_SEEDS=2000` runs that many (300 by default).

mod checked;
mod graph;
mod node;
mod oracle;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[allow(clippy::disallowed_methods, reason = "which seeds to run")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(seed: u64) -> world::Totals {
    match catch_unwind(AssertUnwindSafe(|| world::World::new(seed).run())) {
        Ok(totals) => totals,
        Err(panic) => {
            eprintln!("seed {seed} fails: TIDINGS_OUTPUTS_SEED={seed} runs it again");
            resume_unwind(panic)
        }
    }
}

#[test]
fn what_is_lost_and_needed_is_made_again_and_nothing_else() {
    let seeds = match number("TIDINGS_OUTPUTS_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TIDINGS_OUTPUTS_SEEDS").unwrap_or(300),
    };
    let is_many = seeds.end - seeds.start >= 100;
    let mut all = world::Totals::default();
    for seed in seeds {
        all.add(&run(seed));
    }
    println!("{all:?}");
    assert_eq!(all.remade_calm, all.oracle, "as many as the oracle says");
    if is_many {
        assert!(all.reached_everything(), "what did not happen: {all:?}");
    }
}

#[test]
fn a_seed_is_one_world() {
    assert_eq!(run(3), run(3));
}
