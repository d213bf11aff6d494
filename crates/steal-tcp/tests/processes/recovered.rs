//! Phases that are recovered, on processes that are killed: results are exact all the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_primitives::Chance;
use tidings_steal_tcp::{
    Array, Attempt, BlockPlace as Place, Contribution, Kind, Loss, PhaseError, Plan, Process,
};

use crate::run::{Run, pass, say, wait_for_word};

const TASKS: u64 = 3_000;
const BLOCKS: u32 = 24;
const WORDS: u32 = 8;

/// What a process has run, and at which of its tasks it waits to be killed; 0 for none.
struct Attempts {
    attempts: u64,
    waits_at: u64,
}

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
#[expect(clippy::unnecessary_wraps, reason = "as the phase calls it")]
fn add(
    attempt: &mut Attempt<'_>,
    attempts: &mut Attempts,
) -> Result<Vec<Contribution>, PhaseError> {
    work(attempts);
    let task = attempt.task();
    let places = Adds.outputs(task).into_iter().zip([task, 2 * task]);
    let words = |sum| vec![sum; WORDS as usize];
    Ok(places.map(|(place, sum)| Contribution { place, words: words(sum) }).collect())
}

fn work(attempts: &mut Attempts) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(100) {
        std::hint::spin_loop();
    }
    attempts.attempts += 1;
    if attempts.attempts == attempts.waits_at {
        say("busy");
        wait_for_word();
    }
}

/// Each task reads a block of the sums and adds it to the one block of another array.
#[derive(Debug)]
struct Reads;

impl Plan for Reads {
    fn tasks(&self) -> u64 {
        1_000
    }

    fn outputs(&self, _: u64) -> Vec<Place> {
        vec![Place { array: 1, block: 0 }]
    }
}

fn read(
    attempt: &mut Attempt<'_>,
    attempts: &mut Attempts,
) -> Result<Vec<Contribution>, PhaseError> {
    work(attempts);
    let block = (attempt.task() % u64::from(BLOCKS)) as u32;
    let words = attempt.get(Place { array: 0, block })?;
    Ok(vec![Contribution { place: Place { array: 1, block: 0 }, words }])
}

/// Computes the sums, then reads them while others are killed; the sum of what was read.
fn act_reading(process: &mut Process, array: &Array, waits_at: u64) -> Result<(), PhaseError> {
    process.create(Array { name: "read".to_owned(), blocks: 1, ..array.clone() })?;
    let mut attempts = Attempts { attempts: 0, waits_at: 0 };
    process.recovered("adds", Arc::new(Adds), add, &mut attempts)?;
    attempts = Attempts { attempts: 0, waits_at };
    process.recovered("reads", Arc::new(Reads), read, &mut attempts)?;
    let read: u64 = (0..1_000_u32).map(|task| expected(task % BLOCKS)).sum();
    let is_right = |elements: &[u64]| elements == [read; WORDS as usize];
    let right = process.block(Place { array: 1, block: 0 })?.map(is_right);
    let none =
        process.get(Place { array: 1, block: 1 }).expect_err("there is one block").to_string();
    let shown = process.gather(&[u64::from(right == Some(true))])?;
    let right: u64 = shown.iter().flatten().map(|words| words[0]).sum();
    say(&format!("{right} right, {none}"));
    Ok(())
}

fn expected(block: u32) -> u64 {
    let added = (0..TASKS).flat_map(|task| Adds.outputs(task).into_iter().zip([task, 2 * task]));
    added.filter(|(place, _)| place.block == block).map(|(_, sum)| sum).sum()
}

/// Computes, also when others are killed, and says how many blocks are right at all who live.
pub(crate) fn act(role: &str, process: &mut Process) -> Result<(), PhaseError> {
    let (role, waits_at) = role.split_once(" at ").expect("a role and a number");
    let waits_at = waits_at.parse().expect("a number");
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
    process.create(array.clone())?;
    say("joined");
    if role == "reads" {
        return act_reading(process, &array, waits_at);
    }
    let mut attempts = Attempts { attempts: 0, waits_at };
    let recovered = process.recovered("adds", Arc::new(Adds), add, &mut attempts);
    if refuses {
        return recovered.map(|_| say("complete"));
    }
    let again = recovered?.counters.again;
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

/// The roles of four processes, of which some wait to be killed when they are at a task.
fn roles(role: &str, victims: &[u32], mut at: impl FnMut() -> u64) -> Vec<String> {
    let mut waits_at = |worker| if victims.contains(&worker) { at() } else { 0 };
    (0..4).map(|worker| format!("{role} at {}", waits_at(worker))).collect()
}

fn start(roles: &[String]) -> Run {
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    let mut run = Run::new(4, "").start(&roles);
    assert!(run.said().iter().all(|said| said == "joined"));
    run
}

/// So many of four are killed in the phase, each in one of its first tasks.
fn killed(scheme: &str, kills: usize, rounds: u64) {
    let mut chance = Chance::new(rounds + kills as u64);
    for round in 0..rounds {
        // In the first round the root of all trees is among them.
        let first = if round == 0 { 0 } else { chance.below(4) as u32 };
        let victims: Vec<u32> = (first..).map(|at| at % 4).take(kills).collect();
        let at = || if round == 0 { 1 } else { 1 + chance.below(50) as u64 };
        let mut run = start(&roles(&format!("recovers {scheme}"), &victims, at));
        for victim in victims {
            let said = run.of(victim).said();
            // It may have no tasks left before it is at the one in which it waits.
            assert!(said == "busy" || (round > 0 && said.contains("right")), "{said}");
            pass(&mut chance, 20_000_000);
            run.kill(victim);
        }
        for said in run.said() {
            let exact = format!("{BLOCKS} right, 0 wrong, ");
            assert!(said.starts_with(&exact), "{scheme}, round {round}: {said}");
            // Those who had not entered yet when it died begin with what it had.
            assert!(kills > 0 || said.ends_with("none again"), "{scheme}: {said}");
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

/// A host is cut off while its process is at a task; nobody is told.
#[test]
fn what_a_host_had_that_is_cut_off_runs_again() {
    for scheme in ["lazy", "collective", "non-collective"] {
        let roles = roles(&format!("recovers {scheme}"), &[3], || 5);
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        let mut run = Run::on_hosts(4, "sharp").start(&roles);
        assert!(run.said().iter().all(|said| said == "joined"));
        // It may have no tasks left before it is at the one in which it waits.
        run.of(3).said();
        run.hosts.as_ref().expect("hosts").plug(3, false).expect("a cable");
        for worker in 0..3 {
            let said = run.of(worker).said();
            assert!(said.starts_with(&format!("{BLOCKS} right, 0 wrong")), "{scheme}: {said}");
        }
    }
}

/// The blocks that are read move to those who have the copies, while they are read.
#[test]
fn blocks_are_read_wherever_they_are() {
    for victims in [&[][..], &[0], &[1, 3], &[2, 3]] {
        let mut run = start(&roles("reads", victims, || 1));
        for victim in victims {
            assert_eq!(run.of(*victim).said(), "busy");
            run.kill(*victim);
        }
        for said in run.said() {
            // Two neighbours have some blocks and their copies, until the third has new ones.
            let lost = said.contains("of array `sums` is lost: its owner and its copy died");
            let right = said == "1 right, there is no block 1 of an array of number 1";
            assert!(right || (victims == [2, 3] && lost), "{said}");
        }
    }
}

/// A block without a copy, of an array that may not begin again: those who live say which is lost.
#[test]
fn a_block_that_is_lost_is_named_by_all() {
    let mut run = start(&roles("refuses", &[1], || 1));
    assert_eq!(run.of(1).said(), "busy");
    run.kill(1);
    for said in run.said() {
        let lost = "of array `sums` is lost: its owner died, and it has no copy";
        assert!(said.starts_with("phase: block ") && said.contains(lost), "{said}");
    }
}
