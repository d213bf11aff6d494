//! A worker that has nothing to do makes no system calls but those of its heartbeats.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::place::{Place, Running};

/// Heartbeats that are looked at.
const HEARTBEATS: usize = 4;

/// What is waited for in a heartbeat: the timer, which may wake once more before, that a busy
/// machine has sent it, and the answer. Then the next one is waited for.
const WAITS: usize = 5;

/// The lines of strace from the first call by which something is sent to the last one.
fn calls(place: &Place, process: u32) -> Vec<String> {
    let mut trace = place.pipe("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(place.path("trace"));
    strace.args(["-p", &process.to_string()]);
    let strace = Running::begin(strace.stdout(Stdio::null()).stderr(Stdio::null()));
    let (mut lines, mut sent) = (Vec::new(), 0);
    while sent <= HEARTBEATS {
        let line = trace.line();
        let is_sent = line.contains("sendto(");
        sent += usize::from(is_sent);
        if sent > 0 {
            lines.push(line);
        }
    }
    strace.kill();
    lines.pop(); // the first of the next heartbeat
    lines
}

/// How often each system call was made, by its name.
fn count(calls: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls.iter().filter(|call| !call.contains("resumed>")) {
        let name = call.split_whitespace().nth(1).unwrap_or_default();
        let name = name.split('(').next().unwrap_or_default();
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn an_idle_worker_makes_the_system_calls_of_its_heartbeats_alone() {
    let place = Place::new();
    let mut holder = place.start(&["worker", "-n", "1", "--queue", "none"]);
    assert!(holder.complaint().contains("1 slots"));
    // When it has answered, it holds the store.
    place.text(&["queue", "ls"]);
    let mut worker = place.start(&["worker", "-n", "2", "--queue", "jobs"]);
    assert!(worker.complaint().contains("2 slots"));
    // Once a task of it has ended, nothing is left of its beginning.
    let id = place.text(&["queue", "put", "jobs", "--", "true"]).trim().to_owned();
    place.text(&["queue", "drain", "jobs"]);
    assert_eq!(place.json(&["task", "show", &id, "--json"])["state"], "done");
    let calls = calls(&place, worker.number());
    let counts = count(&calls);
    let of = |name: &str| counts.get(name).copied().unwrap_or_default();
    let all = calls.join("\n");
    assert_eq!(of("sendto"), HEARTBEATS, "{all}");
    let answers = of("recvfrom");
    assert!((1..=HEARTBEATS).contains(&answers), "{all}");
    // The next timer, which is set then, is told to the runtime, which waits for it.
    let told = of("write");
    assert!(told <= HEARTBEATS, "{all}");
    let waits = of("epoll_wait");
    assert!(waits <= WAITS * HEARTBEATS, "{counts:?}\n{all}");
    let sum: usize = counts.values().sum();
    assert_eq!(sum, HEARTBEATS + answers + told + waits, "{counts:?}\n{all}");
    let to = |call: &&String| call.split("sendto(").nth(1)?.split(',').next().map(str::to_owned);
    let mut ends: Vec<String> = calls.iter().filter_map(|call| to(&call)).collect();
    ends.dedup();
    assert_eq!(ends.len(), 1, "it has one connection: {all}");
    println!("{HEARTBEATS} heartbeats: {counts:?}");
    drop((worker, holder));
}
