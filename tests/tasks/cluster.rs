//! A store in an etcd of three servers: commands and workers go on whoever of them dies, is frozen
//! and thaws, and what has ended does not run again.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Place, Running};
use crate::servers::Servers;

/// A task that says that it runs, in a file and as its result.
const TASK: &str = "echo $1 >> ran; echo result $1";

/// An etcd, workers, and what has ended.
struct Cluster {
    servers: Servers,
    place: Place,
    /// The runs, and how often each of their tasks has run when it ended.
    ended: Vec<(&'static str, Vec<String>)>,
}

impl Cluster {
    fn start() -> Self {
        let servers = Servers::start(3);
        let place = Place::of(servers.address("tasks"));
        place.script("task", TASK);
        Self { servers, place, ended: Vec::new() }
    }

    fn worker(&self, queues: &str) -> Running {
        self.place.start(&["worker", "-n", "2", "--queue", queues])
    }

    /// A run of some tasks, by the workers.
    fn run(&mut self, name: &'static str) {
        assert_eq!(self.results(name), expected(name));
        self.ended.push((name, self.times(name)));
    }

    fn results(&self, name: &str) -> String {
        let rows: Vec<String> = (0..4).map(|number| format!("{name}{number}")).collect();
        let run = ["run", "-n", "0", "-k", "--resume", name, "--", "sh", "task", "{}", ":::"];
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        self.place.text(&[&run[..], &rows].concat())
    }

    /// A line for each time that a task of a run has begun.
    fn times(&self, name: &str) -> Vec<String> {
        let mut lines = self.place.lines("ran");
        lines.retain(|line| line.starts_with(name));
        lines
    }

    /// All that has ended is still there, and has not run again.
    fn check(&self) {
        for (name, times) in &self.ended {
            assert_eq!(self.results(name), expected(name));
            assert_eq!(self.times(name), *times, "{name}");
        }
    }

    /// The process that has the role, a worker.
    fn coordinator(&self) -> Pid {
        loop {
            let mut all = (0..3).map(|server| {
                self.servers.ask(server, &["get", "tasks//k/p0000/role", "--write-out", "json"])
            });
            if let Some(pid) = all.find_map(|answer| process(&answer)) {
                return pid;
            }
        }
    }

    fn kill_the_leader_of_the_etcd(&mut self) {
        let leader = loop {
            if let Some(leader) = self.servers.leader() {
                break leader;
            }
        };
        self.servers.kill(leader);
    }
}

fn expected(name: &str) -> String {
    let [a, b, c, d] = [0, 1, 2, 3].map(|number| format!("result {name}{number}\n"));
    [a, b, c, d].concat()
}

/// The number of the process in a role `worker-HOST-PROCESS-NAME`, as `etcdctl` shows it, as long
/// as there is such a process.
fn process(answer: &str) -> Option<Pid> {
    let answer: serde_json::Value = serde_json::from_str(answer).ok()?;
    let role = STANDARD.decode(answer["kvs"][0]["value"].as_str()?).ok()?;
    let role = String::from_utf8_lossy(&role).into_owned();
    let name = &role[role.find("worker-")?..];
    let name = name.split(|c: char| c.is_control()).next()?;
    let pid: i32 = name.rsplit('-').nth(1)?.parse().ok()?;
    fs::exists(format!("/proc/{pid}")).ok()?.then(|| Pid::from_raw(pid))?
}

#[test]
fn tasks_go_on_when_servers_and_coordinators_are_killed() {
    let mut cluster = Cluster::start();
    let first = cluster.worker("none");
    let coordinator = cluster.coordinator();
    let _workers = [cluster.worker("run/a,run/b"), cluster.worker("run/b,run/c")];
    cluster.run("a");
    cluster.kill_the_leader_of_the_etcd();
    cluster.run("b");
    kill_process(coordinator, Signal::KILL).unwrap();
    first.kill();
    cluster.run("c");
    cluster.check();
}

#[test]
fn a_coordinator_that_was_frozen_writes_nothing_when_it_thaws() {
    let mut cluster = Cluster::start();
    let first = cluster.worker("run/a,run/d");
    let coordinator = cluster.coordinator();
    let second = cluster.worker("run/a,run/b,run/c");
    cluster.run("a");
    kill_process(coordinator, Signal::STOP).unwrap();
    cluster.run("b");
    kill_process(coordinator, Signal::CONT).unwrap();
    cluster.run("c");
    // It does tasks for the one that has its role now, or has taken it again.
    cluster.run("d");
    cluster.check();
    for worker in [first, second] {
        worker.signal(Signal::TERM);
        assert_eq!(worker.end().0, 0);
    }
}

#[test]
fn tasks_of_a_killed_worker_run_elsewhere() {
    let cluster = Cluster::start();
    let place = &cluster.place;
    place.script("gated", "echo $1 > began; read _ < gate; echo $1 >> done");
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let run = place.start(&["run", "-n", "0", "--json", "--", "sh", "gated", "{}", ":::", "x"]);
    let first = place.start(&["worker", "-n", "1"]);
    assert_eq!(began.line(), "x");
    first.kill();
    let _second = place.start(&["worker", "-n", "1"]);
    assert_eq!(began.line(), "x");
    gate.let_go(1);
    let (code, _, errors) = run.end();
    assert_eq!(code, 0, "{errors}");
    // The task of the killed worker has died with it: it never was let go.
    assert_eq!(place.lines("done"), ["x"]);
}

#[test]
fn semaphores_queues_and_tasks_are_commands_of_a_cluster() {
    let servers = Servers::start(1);
    let place = Place::of(servers.address("a/b"));
    place.text(&["sem", "create", "licences", "2"]);
    let printed = place.text(&["sem", "acquire", "licences", "--", "echo", "held"]);
    assert_eq!(printed, "held\n");
    let id = place.text(&["queue", "put", "jobs", "--delay", "1h", "--", "true"]);
    assert_eq!(place.json(&["task", "show", id.trim(), "--json"])["state"], "delayed");
    assert_eq!(place.json(&["queue", "ls", "--json"])["tasks"], 1);
    place.text(&["task", "cancel", id.trim()]);
    assert_eq!(place.text(&["queue", "purge", "jobs"]), "1 tasks of jobs removed\n");
    assert_eq!(place.json(&["sem", "ls", "--json"])["semaphores"][0]["permits"], 2);
    // Both are free again.
    place.text(&["sem", "acquire", "licences", "-n", "2", "--", "true"]);
}

#[test]
fn what_is_long_lies_in_a_folder_that_all_share() {
    let servers = Servers::start(1);
    let place = Place::of(servers.address("tasks"));
    let worker = place.start(&["worker", "-n", "1", "--blobs", "shared"]);
    let words = "x".repeat(40_000);
    let run = ["run", "-n", "0", "--blobs", "shared", "--shell", "--"];
    let task = format!("printf '%s' {words} | wc -c; head -c 100000 /dev/zero");
    let printed = place.text(&[&run[..], &[&task]].concat());
    assert_eq!((printed.len(), printed.starts_with("40000\n")), (100_006, true));
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
    // Of a store with a folder of its own that is no option.
    let file = format!("file:{}", place.path("store").display());
    let both = place.output(&["queue", "ls", "--store", &file, "--blobs", "shared"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn what_is_wrong_with_a_cluster_is_said() {
    let servers = Servers::start(1);
    let place = Place::of(servers.address("tasks"));
    let open = place.output(&["queue", "ls", "--listen", "0.0.0.0:0"]);
    let errors = String::from_utf8(open.stderr).unwrap();
    assert_eq!(open.status.code(), Some(3), "{errors}");
    assert!(errors.contains("may not be listened at without a key: name a key file"), "{errors}");
    let nobody = "etcd://127.0.0.1:1/tasks";
    let mut waiting = place.start(&["queue", "ls", "--store", nobody]);
    let said = waiting.complaint();
    assert!(said.contains(nobody) && said.contains("do most of them run?"), "{said}");
    // Who waits for such servers is stopped by Ctrl-C as at any other time.
    for arguments in [&["queue", "claim", "jobs"][..], &["sem", "acquire", "licences", "true"]] {
        let at = [arguments[0], "--store", nobody];
        let mut waiting = place.start(&[&at[..], &arguments[1..]].concat());
        assert!(waiting.complaint().contains(nobody));
        waiting.signal(Signal::INT);
        assert_eq!(waiting.end().0, 130);
    }
}
