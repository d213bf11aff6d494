//! Phases that are recovered, on processes that are killed: results are exact all the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_primitives::Chance;
use tidings_steal_tcp::{
    Array, Attempt, BlockPlace as Place, Contribution, Kind, Loss, PhaseError, Plan, Process,
};

use crate::run::{Run, pass, say};

const TASKS: u64 = 3_000;
const BLOCKS: u32 = 24;
const WORDS: u32 = 8;

/// After so many tasks a process says that it is busy.
const BUSY: u64 = 20;

/// Each task adds its number to one block, and twice that to another or the same.
#[derive(Debug)]
struct Adds;

impl Plan for Adds {
    fn tasks(&self) -> u64 {
        TASKS
    }

    fn outputs(&self, task: u64) -> Vec<Place> {
        let block = |at: u64| Place { array: 0, block: (at % u64::from(BLOCKS)) as u32 };
        vec![block(task), block(task / 7)]
    }
}

/// A task takes a tenth of a millisecond.
fn add(attempt: &mut Attempt<'_>, attempts: &mut u64) -> Vec<Contribution> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(100) {
        std::hint::spin_loop();
    }
    *attempts += 1;
    if *attempts == BUSY {
        say("busy");
    }
    let task = attempt.task();
    let places = Adds.outputs(task).into_iter().zip([task, 2 * task]);
    let words = |sum| vec![sum; WORDS as usize];
    places.map(|(place, sum)| Contribution { place, words: words(sum) }).collect()
}

fn expected(block: u32) -> u64 {
    let added = (0..TASKS).flat_map(|task| Adds.outputs(task).into_iter().zip([task, 2 * task]));
    added.filter(|(place, _)| place.block == block).map(|(_, sum)| sum).sum()
}

/// Computes, also when others are killed, and says how many blocks are right at all who live.
pub(crate) fn act(role: &str, process: &mut Process) -> Result<(), PhaseError> {
    let refuses = role == "refuses";
    let scheme = role.strip_prefix("recovers ").unwrap_or("lazy");
    process.recover_by(scheme.parse().expect("a scheme"))?;
    let array = Array {
        name: "sums".to_owned(),
        blocks: BLOCKS,
        words: WORDS,
        kind: Kind::Integers,
        copied: !refuses,
        loss: if refuses { Loss::Refuse } else { Loss::Recompute },
    };
    process.create(array)?;
    say("joined");
    let mut attempts = 0;
    let recovered = process.recovered("adds", Arc::new(Adds), add, &mut attempts);
    if refuses {
        return recovered.map(|_| say("complete"));
    }
    let again = recovered?.counters.again;
    if attempts < BUSY {
        say("busy");
    }
    // Who dies after the phase leaves its blocks to those who have the copies.
    loop {
        let (mut right, mut wrong) = (0, 0);
        for block in 0..BLOCKS {
            let elements = process.block(Place { array: 0, block })?;
            let is_right = |elements: &[u64]| elements == [expected(block); WORDS as usize];
            match elements.map(is_right) {
                Some(true) => right += 1,
                Some(false) => wrong += 1,
                None => {}
            }
        }
        let shown = match process.gather(&[right, wrong, again]) {
            Err(PhaseError::Lost(_)) => continue,
            shown => shown?,
        };
        let sum = |at: usize| shown.iter().flatten().map(|words| words[at]).sum::<u64>();
        let has_recovered = if sum(2) > 0 { "some" } else { "none" };
        say(&format!("{} right, {} wrong, {has_recovered} again", sum(0), sum(1)));
        return Ok(());
    }
}

/// So many of four are killed in the phase, the others when they have run some tasks.
fn killed(scheme: &str, kills: usize, rounds: u64) {
    let mut chance = Chance::new(rounds + kills as u64);
    for round in 0..rounds {
        let mut run = Run::new(4, "").start(&[&*format!("recovers {scheme}"); 4]);
        assert!(run.said().iter().all(|said| said == "joined"));
        for _ in 0..kills {
            // In the first round the root of all trees.
            let child = if round == 0 { 0 } else { chance.below(run.children.len()) };
            let number = run.children[child].number;
            assert_eq!(run.children[child].said(), "busy");
            pass(&mut chance, 20_000_000);
            run.kill(number);
        }
        assert!(run.said().iter().all(|said| said == "busy"));
        let again = if kills > 0 { "some" } else { "none" };
        let expected = format!("{BLOCKS} right, 0 wrong, {again} again");
        for said in run.said() {
            assert_eq!(said, expected, "{scheme}, round {round}");
        }
    }
}

#[test]
fn without_deaths_each_contribution_counts_once() {
    for scheme in ["lazy", "collective", "non-collective"] {
        killed(scheme, 0, 1);
    }
}

#[test]
fn what_died_runs_again_when_nothing_is_left() {
    killed("lazy", 1, 4);
    killed("lazy", 2, 3);
}

#[test]
fn what_died_runs_again_after_all_have_stopped() {
    killed("collective", 1, 4);
    killed("collective", 2, 3);
}

#[test]
fn what_died_runs_again_while_all_go_on() {
    killed("non-collective", 1, 4);
    killed("non-collective", 2, 3);
}

/// All but one are killed, and it has neither the blocks nor the copies of all.
#[test]
fn the_last_one_computes_all() {
    for scheme in ["lazy", "collective", "non-collective"] {
        killed(scheme, 3, 1);
    }
}

/// A block without a copy, of an array that may not begin again: those who live say which is lost.
#[test]
fn a_block_that_is_lost_is_named_by_all() {
    let mut run = Run::new(3, "").start(&["refuses"; 3]);
    run.said();
    assert_eq!(run.of(1).said(), "busy");
    run.kill(1);
    for child in &mut run.children {
        let mut said = child.said();
        if said == "busy" {
            said = child.said();
        }
        let lost = "of array `sums` is lost: its owner died, and it has no copy";
        assert!(said.starts_with("phase: block ") && said.contains(lost), "{said}");
    }
}
