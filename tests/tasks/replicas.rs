//! What is longer than a record, in an etcd whose hosts share no folder: it lies on nodes, several
//! of which are killed. Each node is a worker with a name of its host and a cache of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::inotify;
use rustix::process::Signal;

use crate::place::{Place, Running};
use crate::servers::Servers;

/// Tasks whose command and whose output are both too long for a record.
const TASKS: usize = 4;

/// An etcd, and nodes by the names of their hosts.
struct Cluster {
    here: Place,
    nodes: BTreeMap<&'static str, (Place, Running)>,
    #[expect(dead_code, reason = "it is held, not read")]
    servers: Servers,
}

impl Cluster {
    fn start() -> Self {
        let servers = Servers::start(1);
        let here = Place::of(servers.address("tasks"));
        Self { here, nodes: BTreeMap::new(), servers }
    }

    fn node(&mut self, name: &'static str, queue: &str) {
        let place = Place::of(self.here.store().to_owned());
        let tidings = tidings_experiment::agents::programs().join("tidings");
        let mut command = place.with_store(Path::new("unshare"));
        command.args(["-Uru", "sh", "-c", "hostname $0; exec \"$@\"", name]);
        command.arg(tidings).args(["worker", "-n", "1", "--queue", queue]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut worker = Running::begin(&mut command);
        assert!(worker.complaint().contains("1 slots"));
        self.nodes.insert(name, (place, worker));
    }

    fn kill(&mut self, name: &str) {
        self.nodes.remove(name).unwrap().1.kill();
    }

    /// A run of so many tasks, by the workers of its queue.
    fn run(&self, name: &str) -> Running {
        let mut command: Command = self.here.tidings(&["run", "-n", "0", "-k", "--resume", name]);
        let words = words(name);
        let task = format!("echo {{}} >> ran; printf '%s' {{}} {words}; seq 1 {{}}0000");
        command.args(["--shell", "--", &task, ":::"]);
        command.args((1..=TASKS).map(|number| number.to_string()));
        Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Waits until a node has so many blobs.
    fn until_held(&self, name: &str, count: usize) {
        let pins = self.nodes[name].0.path("cache/tidings/blobs/pins");
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, &pins, inotify::WatchFlags::CREATE).unwrap();
        while fs::read_dir(&pins).unwrap().count() < count {
            rustix::io::read(&watch, &mut [0; 4_096][..]).unwrap();
        }
    }
}

/// What the commands of a run have in them, so that they are long.
fn words(name: &str) -> String {
    name.repeat(8_000)
}

fn printed(run: Running) -> String {
    let (code, printed, errors) = run.end();
    assert_eq!(code, 0, "{errors}");
    printed
}

fn expected(name: &str) -> String {
    let words = words(name);
    let task = |number: usize| {
        let lines: Vec<String> = (1..=number * 10_000).map(|line| line.to_string()).collect();
        format!("{number}{words}{}\n", lines.join("\n"))
    };
    (1..=TASKS).map(task).collect()
}

#[test]
fn what_is_long_outlives_the_nodes_that_had_it_first() {
    let mut cluster = Cluster::start();
    for name in ["n1", "n2", "n3"] {
        cluster.node(name, "run/now");
    }
    assert!(printed(cluster.run("now")) == expected("now"), "outputs come from nodes");
    let later = cluster.run("later");
    // A command and an output a task, and the commands of the others.
    for name in ["n1", "n2", "n3"] {
        cluster.until_held(name, 3 * TASKS);
    }
    cluster.kill("n1");
    cluster.kill("n2");
    for name in ["n4", "n5"] {
        cluster.node(name, "run/now");
        cluster.until_held(name, 3 * TASKS);
    }
    cluster.kill("n3");
    assert!(printed(cluster.run("now")) == expected("now"), "outputs come from other nodes");
    let ran = cluster.here.lines("ran");
    assert_eq!(ran, ["1", "2", "3", "4"], "no task is done again");
    cluster.node("n6", "run/later");
    assert!(printed(later) == expected("later"), "commands come from other nodes");
    assert_eq!(cluster.here.lines("ran").len(), 2 * TASKS);
}

#[test]
fn what_is_long_needs_a_node() {
    let servers = Servers::start(1);
    let place = Place::of(servers.address("tasks"));
    let words = "x".repeat(40_000);
    let task = format!("printf '%s' {words} | wc -c; head -c 100000 /dev/zero");
    let refused = place.output(&["run", "-n", "0", "--shell", "--", &task]);
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{errors}");
    assert!(errors.contains("begin one (tidings worker)"), "{errors}");
    // The run's own worker is one.
    let text = place.text(&["run", "-n", "1", "--shell", "--", &task]);
    assert_eq!((text.len(), text.starts_with("40000\n")), (100_006, true));
    let worker = place.start(&["worker", "-n", "1"]);
    let text = place.text(&["run", "-n", "0", "--shell", "--", &task]);
    assert_eq!(text.len(), 100_006);
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
}
