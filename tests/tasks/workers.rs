//! Workers: others help with a run, die, and are replaced.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Signal, getuid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::place::{Place, Running, wait_for_end};

const GATED: &str = "echo $1 > began; read _ < gate; echo $1 >> done";

#[test]
fn tasks_of_a_killed_worker_run_elsewhere() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let run = place.start(&["run", "-n", "0", "--json", "--", "sh", "task", "{}", ":::", "x"]);
    let first = place.start(&["worker", "-n", "1"]);
    assert_eq!(began.line(), "x");
    first.kill();
    let second = place.start(&["worker", "-n", "1"]);
    assert_eq!(began.line(), "x");
    gate.let_go(1);
    let (code, printed, errors) = run.end();
    assert_eq!(code, 0, "{errors}");
    let object: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&object["attempts"], &object["failures"][0]["cause"]), (&2.into(), &"lost".into()));
    // The task of the killed worker has died with it: it never was let go.
    assert_eq!(place.lines("done"), ["x"]);
    second.signal(Signal::TERM);
    assert_eq!(second.end().0, 0);
}

#[test]
fn tasks_of_a_frozen_worker_run_elsewhere_when_its_heartbeats_have_stopped() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    // Whoever is frozen does not hold the store.
    let none = ["worker", "-n", "1", "--queue", "none", "--detector", "phi"];
    let mut holder = place.start(&none);
    assert!(holder.complaint().contains("1 slots"));
    place.text(&["queue", "ls"]); // answered by the holder
    let run = place.start(&["run", "-n", "0", "--json", "--", "sh", "task", "{}", ":::", "x"]);
    let first = place.start(&["worker", "-n", "1"]);
    assert_eq!(began.line(), "x");
    first.signal(Signal::STOP);
    let second = place.start(&["worker", "-n", "1"]);
    assert_eq!(began.line(), "x");
    // The process of the first try is not frozen: both go on, and one of them counts.
    gate.let_go(2);
    let (code, printed, errors) = run.end();
    assert_eq!(code, 0, "{errors}");
    let object: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&object["attempts"], &object["failures"][0]["cause"]), (&2.into(), &"lost".into()));
    for one in [holder, first, second] {
        one.kill();
    }
}

/// The id of a task that is put, of the script `task` with an argument.
fn put(place: &Place, argument: &str) -> String {
    place.text(&["queue", "put", "jobs", "--", "sh", "task", argument]).trim().to_owned()
}

/// Of two tasks a worker has done the one that it had begun, at the first try, and no other.
fn the_first_is_done_alone(place: &Place, [first, second]: &[String; 2]) {
    let state = |task: &str| place.json(&["task", "show", task, "--json"])["state"].clone();
    assert_eq!((state(first), state(second)), ("done".into(), "ready".into()));
    assert_eq!(place.json(&["task", "show", first, "--json"])["attempts"], 1);
}

#[test]
fn a_worker_that_is_asked_to_end_lets_its_task_end() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let jobs = ["1", "2"].map(|argument| put(&place, argument));
    let mut worker = place.start(&["worker", "-n", "1", "--verbose"]);
    assert!(worker.complaint().contains("1 slots, all queues"));
    assert_eq!(began.line(), "1");
    worker.signal(Signal::TERM);
    gate.let_go(1);
    assert_eq!(worker.end().0, 0);
    the_first_is_done_alone(&place, &jobs);
}

#[test]
fn a_worker_that_is_asked_twice_gives_its_task_back() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, _gate) = (place.pipe("began"), place.pipe("gate"));
    let id = put(&place, "1");
    let worker = place.start(&["worker", "-n", "1", "--queue", "jobs"]);
    began.line();
    worker.signal(Signal::INT);
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
    let task = place.json(&["task", "show", &id, "--json"]);
    assert_eq!(
        (&task["state"], &task["failures"][0]["cause"]),
        (&"ready".into(), &"returned".into())
    );
    assert!(place.lines("done").is_empty());
}

/// A terminal of its own, as `ssh -tt` gives the command that it starts: both ends.
fn terminal() -> (OwnedFd, File) {
    let here = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&here).and_then(|()| unlockpt(&here)).unwrap();
    let name = ptsname(&here, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let there = open(name, flags, Mode::empty()).unwrap();
    (here, there.into())
}

/// The guide starts workers by `ssh -tt`. When the connection is lost the kernel sends SIGHUP, and
/// whatever the worker says afterwards it says to a terminal that is gone.
#[test]
fn a_worker_whose_terminal_is_gone_lets_its_task_end() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let jobs = ["1", "2"].map(|argument| put(&place, argument));
    let (here, there) = terminal();
    let tidings = tidings_experiment::agents::programs().join("tidings");
    let mut command = place.with_store(Path::new("setsid"));
    command.arg("--ctty").arg(tidings).args(["worker", "-n", "1", "--verbose"]);
    let end = || there.try_clone().unwrap();
    let worker = Running::begin(command.stdin(end()).stdout(end()).stderr(end()));
    drop((command, there));
    assert_eq!(began.line(), "1");
    drop(here);
    // It has heard of it once it takes no more.
    let takes = |place: &Place| {
        let listed = place.json(&["queue", "ls", "--json"]);
        listed["workers"].as_array().unwrap().iter().any(|one| one["slots"] != 0)
    };
    while takes(&place) {}
    gate.let_go(1);
    assert_eq!(worker.end().0, 0);
    the_first_is_done_alone(&place, &jobs);
}

/// Who starts a worker by nohup means it to outlive the connection.
#[test]
fn a_worker_that_was_started_by_nohup_goes_on_when_its_terminal_is_gone() {
    let place = Place::new();
    let (here, there) = terminal();
    let tidings = tidings_experiment::agents::programs().join("tidings");
    let mut command = place.with_store(Path::new("setsid"));
    command.arg("--ctty").arg("nohup").arg(tidings).args(["worker", "-n", "1"]);
    command.stdin(there.try_clone().unwrap()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut worker = Running::begin(&mut command);
    drop((command, there));
    while !worker.complaint().contains("1 slots") {}
    drop(here);
    let id = place.text(&["queue", "put", "jobs", "--", "true"]).trim().to_owned();
    place.text(&["queue", "drain", "jobs"]);
    assert_eq!(place.json(&["task", "show", &id, "--json"])["state"], "done");
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
}

/// The job's end is long past: the worker drains as soon as it has begun.
#[test]
fn a_worker_drains_before_the_time_that_is_given() {
    let place = Place::new();
    let worker = place.output(&["worker", "-n", "1", "--until", "1970-01-02T00:00:00Z"]);
    let errors = String::from_utf8(worker.stderr).unwrap();
    assert_eq!(worker.status.code(), Some(0), "{errors}");
    assert!(errors.contains("the job's time limit comes: draining"), "{errors}");
    let wrong = place.output(&["worker", "--until", "18:30"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("seconds since 1970"));
}

/// A batch system says when its job ends. What runs by then is done, and nothing is begun.
#[test]
fn a_worker_drains_before_its_batch_job_ends() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let jobs = ["1", "2"].map(|argument| put(&place, argument));
    // It drains an hour and five seconds before the end: six seconds from now.
    let end = SystemTime::now() + Duration::from_secs(3_600 + 5 + 6);
    let end = end.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let mut command = place.tidings(&["worker", "-n", "1", "--drain", "1h"]);
    command.env("SLURM_JOB_END_TIME", end.to_string());
    let mut worker = Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    assert_eq!(began.line(), "1");
    while !worker.complaint().contains("the job's time limit comes: draining") {}
    gate.let_go(1);
    assert_eq!(worker.end().0, 0);
    the_first_is_done_alone(&place, &jobs);
}

/// One that is in a session of its own, and nobody's child, ends with its task all the same. Where
/// control groups can be made the task has one.
#[test]
fn no_process_of_a_task_outlives_it() {
    let place = Place::new();
    let script = "(setsid sh -c 'echo $$ > away; exec sleep 600' &)\n\
                  until [ -s away ]; do sleep 0.01; done; cat /proc/self/cgroup > groups";
    place.script("task", script);
    place.text(&["run", "-n", "1", "--", "sh", "task"]);
    wait_for_end(place.lines("away")[0].parse().unwrap());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    if getuid().is_root() && mounts.contains(" - cgroup2 ") {
        let groups = place.lines("groups");
        let own = groups.iter().find(|line| line.starts_with("0::")).unwrap();
        assert!(own.contains("/tidings-"), "{groups:?}");
    }
}

#[test]
fn a_task_goes_where_its_need_is_met() {
    let place = Place::new();
    let put = ["queue", "put", "jobs", "--need", "gpu=1", "--", "sh", "-c", "echo ran > out"];
    let id = place.text(&put).trim().to_owned();
    let plain = place.start(&["worker", "-n", "1"]);
    place.text(&["run", "-n", "0", "--", "true"]);
    assert_eq!(place.json(&["queue", "ls", "--json"])["queues"][0]["unfit"], 1);
    let fit = place.start(&["worker", "-n", "1", "--resource", "gpu=1"]);
    place.text(&["queue", "drain", "jobs"]);
    assert_eq!(place.json(&["task", "show", &id, "--json"])["state"], "done");
    for worker in [plain, fit] {
        worker.signal(Signal::TERM);
        assert_eq!(worker.end().0, 0);
    }
}

#[test]
fn a_run_says_that_no_worker_has_what_its_tasks_need() {
    let place = Place::new();
    let mut run = place.start(&["run", "--need", "gpu=1", "--", "echo", "{}", ":::", "x", "y"]);
    let complaint = run.complaint();
    assert!(complaint.contains("none of 1 workers of queue run/"), "{complaint}");
    assert!(complaint.contains("has gpu=1 (the most is 0)"), "{complaint}");
    let fit = place.start(&["worker", "-n", "1", "--resource", "gpu=1"]);
    let (code, printed, errors) = run.end();
    assert_eq!((code, printed.lines().count()), (0, 2), "{errors}");
    assert!(errors.is_empty(), "it is said once: {errors}");
    fit.signal(Signal::TERM);
    assert_eq!(fit.end().0, 0);
}
