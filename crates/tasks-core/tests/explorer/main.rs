//! All that can happen to a small computation: two workers, one coordinator after the other, and a
//! store, in every order in which commits happen and tasks end, with a fault at every place.
//!
//! It is a model checker without a model: the coordinator and the ledger are the real ones. A
//! *path* is a list of choices among what can happen next ([`world`]). Each is run from the
//! beginning, and where a path reaches a state that another one has reached, it is left.
//!
//! At the end of each path all tasks are done, each ended once, and each effect was written once:
//! the sum of effects is exact. A path that goes wrong is printed, and is run again by
//! `TIDINGS_EXPLORE=0,3,1 cargo test -p tidings-tasks-core --test explorer`.
//!
//! `TIDINGS_EXPLORE_FAULTS=2` allows so many faults in a path, which takes minutes.

mod party;
mod world;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use world::World;

/// The events of a path, at most: beyond them it turns without moving.
const LONGEST: usize = 400;

/// What is explored, and how far that has come.
struct Explorer {
    /// Faults of a path, at most, and whether commits are checked by the store.
    faults: usize,
    is_checked: bool,
    /// States, and with how many faults left they were reached.
    seen: BTreeMap<u64, usize>,
    /// Paths that were run to their end, and those that were left.
    ended: u64,
    left: u64,
}

impl Explorer {
    fn new(faults: usize, is_checked: bool) -> Self {
        Self { faults, is_checked, seen: BTreeMap::new(), ended: 0, left: 0 }
    }

    /// Runs all paths: depth first, the last choice that has an alternative is changed next.
    fn explore(&mut self) {
        let mut waiting = vec![Vec::new()];
        while let Some(path) = waiting.pop() {
            let counts = self.run(&path);
            for (beyond, count) in counts.iter().enumerate() {
                for choice in 1..*count {
                    // What lies between is the first choice each time.
                    let mut next = path.clone();
                    next.resize(path.len() + beyond, 0);
                    next.push(choice);
                    waiting.push(next);
                }
            }
        }
    }

    /// Runs a path, and says which it was if it goes wrong.
    fn run(&mut self, path: &[usize]) -> Vec<usize> {
        match catch_unwind(AssertUnwindSafe(|| self.follow(path))) {
            Ok(counts) => counts,
            Err(panic) => {
                let path: Vec<String> = path.iter().map(ToString::to_string).collect();
                eprintln!("TIDINGS_EXPLORE={} runs this path again", path.join(","));
                resume_unwind(panic)
            }
        }
    }

    /// Runs a path; the first choices are given, all others are the first that there is. Returns
    /// how many there were at each place beyond them.
    fn follow(&mut self, given: &[usize]) -> Vec<usize> {
        let mut world = World::new(self.faults, self.is_checked);
        let mut counts = Vec::new();
        for place in 0..LONGEST {
            if place >= given.len() && self.is_known(&world) {
                self.left += 1;
                return counts;
            }
            let Some(events) = world.next_events() else {
                world.check_end();
                self.ended += 1;
                return counts;
            };
            let choice = given.get(place).copied().unwrap_or(0);
            if place >= given.len() {
                counts.push(events.len());
            }
            world.happen(events[choice]);
        }
        panic!("{LONGEST} events, and no end");
    }

    /// Whether a state was reached before, with as many faults left.
    fn is_known(&mut self, world: &World) -> bool {
        let left = world.faults_left();
        match self.seen.entry(world.digest()) {
            Entry::Occupied(best) if *best.get() >= left => true,
            Entry::Occupied(mut best) => {
                best.insert(left);
                false
            }
            Entry::Vacant(new) => {
                new.insert(left);
                false
            }
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "how much to explore")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn whatever_happens_the_sum_of_effects_is_exact() {
    let faults = variable("TIDINGS_EXPLORE_FAULTS").and_then(|text| text.parse().ok()).unwrap_or(1);
    if let Some(path) = variable("TIDINGS_EXPLORE") {
        let path: Vec<usize> = path.split(',').filter_map(|choice| choice.parse().ok()).collect();
        Explorer::new(faults, true).run(&path);
        return;
    }
    let mut explorer = Explorer::new(faults, true);
    explorer.explore();
    println!("{} paths to their end, {} left", explorer.ended, explorer.left);
    assert!(explorer.ended > 100 && explorer.left > 500, "little was explored");
}

/// Trap 5 of peers: what writes the effect, and then that the task is done, writes it twice. Were
/// effects not bound to the attempt, this would find it.
#[test]
fn a_coordinator_whose_commits_check_nothing_is_found_out() {
    let broken = catch_unwind(|| Explorer::new(1, false).explore());
    assert!(broken.is_err(), "commits without conditions, and all is well");
}
