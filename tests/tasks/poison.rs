//! Tasks that do harm: they kill their worker, take all memory, end with an error or never. Each is
//! stopped by its own limit, and what happened is kept; the others of the queue are not affected.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::{Place, Running};

/// What a task does, by its name. The worker is the parent of its tasks.
const TASK: &str = "\
echo \"$1 says so\" >&2
case $1 in
    kill) kill -9 $PPID; sleep 1000 ;;
    memory) tail /dev/zero ;;
    exit) exit 1 ;;
    hang) sleep 1000 ;;
esac
echo \"$1 $TIDINGS_ATTEMPT\" >> ran
";

const BAD: [&str; 4] = ["kill", "memory", "exit", "hang"];

/// Tasks that do no harm.
const HEALTHY: usize = 80;

/// A worker begins again when it was killed, and ends with this test, as all that it has started.
const RESTARTED: &str = "hostname \"$0\"; while :; do \"$@\" 2>/dev/null; done";
const APART: [&str; 5] = ["--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Hosts, and what is done there before. The second one has no control groups.
const HOSTS: [(&str, &str); 2] = [("n1", ""), ("n2", "mount -t tmpfs none /sys/fs/cgroup; ")];

/// A worker on each host.
fn workers(place: &Place) -> [Running; 2] {
    let tidings = tidings_experiment::agents::programs().join("tidings");
    HOSTS.map(|(name, before)| {
        let mut command = place.with_store(Path::new("unshare"));
        command.args(APART).args(["sh", "-c", &format!("{before}{RESTARTED}"), name]);
        command.arg(&tidings).args(["worker", "-n", "2"]);
        Running::begin(command.stdout(Stdio::null()).stderr(Stdio::null()))
    })
}

/// What a run says of each task, by its name, and how long it took until all but the bad ones had
/// ended.
fn run(place: &Place, names: &[String]) -> (BTreeMap<String, Value>, Duration) {
    let limits = ["--timeout", "8s", "--grace", "100ms", "--memory", "64MiB"];
    let mut command = place.tidings(&["run", "-n", "0", "--json"]);
    command.args(limits).args(["--", "sh", "task", "{}", ":::"]).args(names);
    let (begun, mut took) = (Instant::now(), Duration::ZERO);
    let mut run = Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut all = BTreeMap::new();
    for line in BufReader::new(run.output()).lines() {
        let object: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let name = text(&object["arguments"][0]).to_owned();
        if !BAD.contains(&&*name) {
            took = begun.elapsed();
        }
        all.insert(name, object);
    }
    (all, took)
}

fn failures(task: &Value) -> &[Value] {
    task["failures"].as_array().map_or(&[], Vec::as_slice)
}

/// The failures of a task by its own cause.
fn by_cause<'v>(task: &'v Value, cause: &str) -> Vec<&'v Value> {
    failures(task).iter().filter(|failure| failure["cause"] == cause).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_stopped(task: &Value, cause: &str, times: usize, words: &[&str]) {
    assert_eq!(task["outcome"], "failed", "{task}");
    let own = by_cause(task, cause);
    assert_eq!(own.len(), times, "{task}");
    let last = text(&failures(task).last().unwrap()["text"]);
    assert!(words.iter().all(|word| last.contains(word)), "{words:?}: {last}");
    assert!(last.contains("says so"), "the end of its log is kept: {last}");
}

#[test]
fn tasks_that_do_harm_are_stopped_and_others_are_not_affected() {
    let place = Place::new();
    place.script("task", TASK);
    let mut holder = place.start(&["worker", "-n", "1", "--queue", "none"]);
    assert!(holder.complaint().contains("1 slots"));
    place.text(&["queue", "ls"]);
    let workers = workers(&place);
    let healthy: Vec<String> = (100..100 + HEALTHY).map(|number| number.to_string()).collect();
    let (alone, alone_took) = run(&place, &healthy);
    assert!(alone.values().all(|task| task["outcome"] == "done" && failures(task).is_empty()));
    let bad = BAD.iter().map(|name| (*name).to_owned());
    let names: Vec<String> = bad.chain(healthy.iter().cloned()).collect();
    let (all, beside_took) = run(&place, &names);
    is_stopped(&all["memory"], "memory", 2, &["its limit"]);
    is_stopped(&all["exit"], "exit", 1, &["it ended with status 1"]);
    is_stopped(&all["hang"], "time", 1, &["it took longer than 8000 ms"]);
    let killer = &all["kill"];
    let lost = by_cause(killer, "lost");
    let hosts: BTreeSet<&str> = lost.iter().map(|failure| text(&failure["host"])).collect();
    assert!(killer["outcome"] == "failed" && hosts.len() == 2, "on both hosts: {killer}");
    let victims: BTreeSet<&str> = lost.iter().map(|failure| text(&failure["worker"])).collect();
    for name in &healthy {
        let task = &all[name];
        assert_eq!(task["outcome"], "done", "{task}");
        for failure in failures(task) {
            assert_eq!(failure["cause"], "lost", "{task}");
            assert!(victims.contains(text(&failure["worker"])), "{task}; lost: {victims:?}");
        }
    }
    let ran = place.lines("ran");
    let ended = |name: &String| {
        let attempt = all[name]["attempts"].as_u64().unwrap();
        ran.iter().filter(|line| **line == format!("{name} {attempt}")).count()
    };
    assert!(healthy.iter().all(|name| ended(name) >= 1), "{ran:?}");
    let rate = alone_took.as_secs_f64() / beside_took.as_secs_f64();
    println!("{HEALTHY} tasks beside bad ones: {rate:.2} of their rate alone, {beside_took:.1?}");
    drop((workers, holder));
}
