//! A worker that has nothing to do makes no system calls but those of its heartbeats, and a
//! coordinator without an agent does not look for one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tidings_board::{Outline, Writer};

use crate::place::{Place, Running};

/// Heartbeats that are looked at.
const HEARTBEATS: usize = 4;

/// What is waited for in a heartbeat, at most: that the runtime learns of the timer that was set,
/// that a busy machine has sent it, the answer, and the timer. The runtime's wheel has slots of 1,
/// 64 and 4,096 ms: a timer of a second passes two of them, and a third now and then.
const WAITS: usize = 6;

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
    let worker = settled(&place, "2");
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

/// A worker that has done a task: then nothing is left of its beginning.
fn settled(place: &Place, slots: &str) -> Running {
    let mut worker = place.start(&["worker", "-n", slots, "--queue", "jobs"]);
    assert!(worker.complaint().contains(&format!("{slots} slots")));
    let id = place.text(&["queue", "put", "jobs", "--", "true"]).trim().to_owned();
    place.text(&["queue", "drain", "jobs"]);
    assert_eq!(place.json(&["task", "show", &id, "--json"])["state"], "done");
    worker
}

/// The calls by which a process looks for a board, among others.
fn looks(calls: &[String]) -> usize {
    calls.iter().filter(|call| call.contains("runtime/board")).count()
}

/// Makes a board on which nobody is, as an agent does that is started now.
fn board(place: &Place) -> Writer {
    fs::create_dir(place.path("runtime")).unwrap();
    let outline = Outline {
        cluster: "tidings".into(),
        observer: "n0".into(),
        slots: 1,
        payload_bytes: 8,
        payload_schema: 0,
        // Who reads it accepts a writer that is silent for some of them.
        unit: Duration::from_secs(3_600),
    };
    Writer::create(&place.path("runtime/board"), &outline).unwrap()
}

/// Waits until the coordinator uses the board.
fn wait_for_use(place: &Place) {
    while place.json(&["queue", "ls", "--json"])["board"] != true {}
}

/// It looked every two seconds, for as long as it ran.
#[test]
fn an_idle_holder_without_an_agent_looks_for_no_board() {
    let place = Place::new();
    let mut holder = place.start(&["worker", "-n", "1", "--queue", "none"]);
    assert!(holder.complaint().contains("1 slots"));
    place.text(&["queue", "ls"]);
    // Its heartbeats are what the holder answers.
    let _worker = settled(&place, "1");
    let calls = calls(&place, holder.number());
    assert_eq!(looks(&calls), 0, "{calls:?}");
    let _board = board(&place);
    wait_for_use(&place);
}

/// Each user may have so many instances of inotify, and other programs may have taken all.
#[test]
fn one_that_may_not_watch_looks_now_and_then() {
    let place = Place::new();
    let worker = place.tidings(&["worker", "-n", "1", "--queue", "none"]);
    let none = "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\"";
    let mut holder = place.with_store(Path::new("unshare"));
    holder.args(["--user", "--map-root-user", "sh", "-c", none]).arg(worker.get_program());
    holder.args(worker.get_args()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut holder = Running::begin(&mut holder);
    assert!(holder.complaint().contains("1 slots"));
    place.text(&["queue", "ls"]);
    let _worker = settled(&place, "1");
    let calls = calls(&place, holder.number());
    assert!(looks(&calls) > 0, "{calls:?}");
    let _board = board(&place);
    wait_for_use(&place);
}
