//! A broadcast and a collection in virtual time: a large blob goes from one host to all others over
//! links of bounded bandwidth, each host that has it does tasks, and what these came to is combined
//! along a tree, while hosts die, others begin, and coordinators are replaced.
//!
//! The rules are those of the coordinator; hosts and links are made here. What must hold: nobody
//! sends the blob to more than its share, all that live get it, in a time that grows as a
//! logarithm, and the sum is that of the numbers, to the last bit, whoever dies. A seed that fails
//! is printed:
//!
//! `TIDINGS_BROADCASTS_SEED=17 cargo test -p tidings-tasks-core --test broadcasts`
//!
//! `TIDINGS_BROADCASTS_SEEDS=1000` runs that many seeds (40 by default).

mod collecting;
mod copying;
mod party;
mod uplink;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tidings_tasks_core::broadcast::FAN;
use world::{Setting, Totals, World};

#[allow(clippy::disallowed_methods, reason = "which seeds to run")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(seed: u64) -> Totals {
    match catch_unwind(AssertUnwindSafe(|| World::new(seed, Setting::wild(seed)).run())) {
        Ok(totals) => totals,
        Err(panic) => {
            eprintln!("seed {seed} fails: TIDINGS_BROADCASTS_SEED={seed} runs it again");
            resume_unwind(panic)
        }
    }
}

#[test]
fn all_that_live_have_it_and_the_sum_is_exact_whoever_dies() {
    let first = number("TIDINGS_BROADCASTS_SEED").unwrap_or(0);
    let seeds = match number("TIDINGS_BROADCASTS_SEED") {
        Some(_) => 1,
        None => number("TIDINGS_BROADCASTS_SEEDS").unwrap_or(40),
    };
    let mut all = Totals::default();
    for seed in first..first + seeds {
        all.add(&run(seed));
    }
    println!("{seeds} seeds: {all:?}");
    if seeds >= 40 {
        assert!(all.reached_everything(), "faults that did not happen: {all:?}");
    }
}

#[test]
fn a_seed_is_one_world() {
    assert_eq!(run(3), run(3));
}

/// Times are in those of one copy over a link that has nothing else to do.
#[test]
fn it_takes_a_logarithmic_time() {
    println!("hosts  copies of the owner  most  depth  copy times  from one alone");
    for hosts in [16, 64, 256, 1_024] {
        let totals = World::new(1, Setting::calm(hosts)).run();
        let time = totals.copy_times;
        println!(
            "{hosts:5}  {:19}  {:4}  {:5}  {time:10.1}  {hosts:14}",
            totals.of_owner, totals.most, totals.depth
        );
        assert_eq!(totals.copies, hosts as u64, "each host copies it once");
        assert!(totals.of_owner <= FAN && totals.most <= FAN, "{totals:?}");
        // Those that have it become three times as many while each sends two copies.
        let rounds = (hosts as f64 + 1.0).log(3.0).ceil();
        assert!(totals.depth as f64 <= 2.0 * rounds, "{totals:?}");
        assert!(time <= 2.0 * (rounds + 2.0), "{totals:?}");
    }
}
