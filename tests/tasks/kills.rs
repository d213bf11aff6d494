//! Coordinators that are killed again and again, each after some tasks have ended: others take
//! over, all tasks are done, and none that was done runs again.
//!
//! `TIDINGS_KILLS=60` has so many of them, and `TIDINGS_KILLS_BETWEEN=500` so many tasks in
//! between, which is a kill every five seconds for five minutes on two cores.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::far::Far;
use crate::place::{Place, Running};
use crate::servers::Servers;

/// Kills of a coordinator.
fn kills() -> usize {
    of_environment("TIDINGS_KILLS").unwrap_or(10)
}

/// The tasks that end before each kill: more than were in hand, so that tasks are assigned in
/// between.
fn between() -> usize {
    of_environment("TIDINGS_KILLS_BETWEEN").unwrap_or(3)
}

#[allow(clippy::disallowed_methods, reason = "how much is tested")]
fn of_environment(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// More than end between the kills, and few enough for a pipe that nobody reads any more.
fn tasks() -> usize {
    between() * kills() + (between() * 10).min(5_000)
}

const TASK: &str = "\
echo \"$1 $TIDINGS_ATTEMPT\" >> ran
date +%s%N >> began
echo \"$1\" > ended
echo \"result $1 $TIDINGS_ATTEMPT\"
";

fn names() -> Vec<String> {
    (100..100 + tasks()).map(|number| number.to_string()).collect()
}

/// A run, whose words are read all the time: it would wait for that, at last with all else.
struct Run {
    running: Running,
    printed: JoinHandle<String>,
}

impl Run {
    fn of(mut running: Running) -> Self {
        let output = running.output();
        Self { running, printed: thread::spawn(|| io::read_to_string(output).unwrap()) }
    }
}

/// All tasks of a run are done, and what each has come to is of its last try.
fn check(place: &Place, run: Run) {
    let (code, _, errors) = run.running.end();
    let printed = run.printed.join().unwrap();
    assert_eq!(code, 0, "{errors}{printed}");
    let mut ended = BTreeSet::new();
    let ran = place.lines("ran");
    let mut tries_of: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for line in &ran {
        let (name, attempt) = line.split_once(' ').unwrap();
        tries_of.entry(name).or_default().push(attempt.parse().unwrap());
    }
    for line in printed.lines() {
        let task: Value = serde_json::from_str(line).unwrap();
        let name = task["arguments"][0].as_str().unwrap();
        let attempts = task["attempts"].as_u64().unwrap();
        assert_eq!(task["outcome"], "done", "{task}");
        assert_eq!(task["stdout"], format!("result {name} {attempts}\n"), "{task}");
        assert!(ended.insert(name.to_owned()), "it has ended twice: {task}");
        let tries = &tries_of[name];
        assert!(tries.contains(&attempts), "{task}: {tries:?}");
        assert!(tries.iter().all(|number| *number <= attempts), "after its end: {task} {tries:?}");
        let distinct: BTreeSet<&u64> = tries.iter().collect();
        assert_eq!(distinct.len(), tries.len(), "a try has begun twice: {task} {tries:?}");
    }
    assert_eq!(ended, names().into_iter().collect());
    let gap = longest_gap(&place.lines("began"));
    let (tasks, kills) = (tasks(), kills());
    println!("{tasks} tasks, {kills} kills: {} tries, none began for {gap:.2?}", ran.len());
}

/// The longest time between two begins: tasks wait until the last has begun. What it may be is a
/// matter of virtual time (`who_takes_over_dispatches_soon` in the simulation of tasks-core).
fn longest_gap(began: &[String]) -> Duration {
    let mut began: Vec<u64> = began.iter().map(|ns| ns.parse().unwrap()).collect();
    began.sort_unstable();
    let gap = began.windows(2).map(|two| two[1] - two[0]).max();
    Duration::from_nanos(gap.expect("several have begun"))
}

#[test]
fn a_holder_that_is_killed_again_and_again_is_replaced() {
    let mut far = Far::new();
    let place = &far.here;
    place.script("task", TASK);
    let mut ended = place.pipe("ended");
    let names = names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let node = Place::new();
    let worker = far.worker(&node, &[]);
    let run = Run::of(far.run(". ./task", &names));
    for _ in 0..kills() {
        ended.some(between());
        far.replace_holder();
    }
    check(&far.here, run);
    worker.kill();
}

/// The process that has the role in an etcd, one that lives.
fn coordinator(servers: &Servers) -> u32 {
    loop {
        let answer = servers.ask(0, &["get", "kills//k/p0000/role", "--write-out", "json"]);
        if let Some(process) = process(&answer) {
            return process;
        }
    }
}

fn process(answer: &str) -> Option<u32> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let role = STANDARD.decode(answer["kvs"][0]["value"].as_str()?).ok()?;
    let role = String::from_utf8_lossy(&role).into_owned();
    let start = ["worker-", "run-"].iter().find_map(|kind| role.find(kind))?;
    let name = role[start..].split(|c: char| c.is_control()).next()?;
    let process = name.rsplit('-').nth(1)?.parse().ok()?;
    fs::exists(format!("/proc/{process}")).ok()?.then_some(process)
}

/// Processes of a store in an etcd, any of which may coordinate.
fn begin(place: &Place, number: usize) -> Running {
    let names = names();
    let run = ["run", "-n", "0", "--resume", "r", "--json", "--", "sh", "task", "{}", ":::"];
    let run: Vec<&str> = run.into_iter().chain(names.iter().map(String::as_str)).collect();
    let arguments: [&[&str]; 3] =
        [&["worker", "-n", "1", "--queue", "none"], &["worker", "-n", "2"], &run];
    place.start(arguments[number])
}

#[test]
fn a_coordinator_that_is_killed_again_and_again_is_replaced() {
    let servers = Servers::start(1);
    let place = Place::of(servers.address("kills"));
    place.script("task", TASK);
    let mut ended = place.pipe("ended");
    let mut workers = vec![begin(&place, 0), begin(&place, 1)];
    let mut run = Some(Run::of(begin(&place, 2)));
    for _ in 0..kills() {
        ended.some(between());
        let process = coordinator(&servers);
        if let Some(number) = workers.iter().position(|one| one.number() == process) {
            workers.remove(number).kill();
            workers.insert(number, begin(&place, number));
        } else {
            let begun = run.take().unwrap();
            assert_eq!(process, begun.running.number(), "it is of this test");
            begun.running.kill();
            run = Some(Run::of(begin(&place, 2)));
        }
    }
    check(&place, run.unwrap());
}
