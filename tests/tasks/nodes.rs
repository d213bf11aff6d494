//! Outputs that stay on nodes, which are killed with what they have. Each node is a worker with a
//! name of its host and a folder of copies of its own; the holder of the store does no tasks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::far::Far;
use crate::graphs::queues_of_two_parts;
use crate::place::{Pipe, Place, Running};

/// Six outputs of more than a MiB, so large that they are copied from whichever node has them, that
/// six tasks read once the gate is open.
const GRAPH: &str = r#"
copies = COPIES

[task.seed]
shell = "echo seed $(hostname) >> log; seq 1 200000"

[task.make]
each = "1-6"
shell = "echo make.{} $(hostname) >> log; awk '{print $1 * (1 + {})}' {in.seed}"

[task.gate]
shell = "echo gate $(hostname) > began; read _ < gate; echo open"
after = ["make"]
copies = 0

[task.sum]
each = "1-6"
shell = "echo sum.{} $(hostname) >> log; awk -f sum.awk {in.make.{#}}"
after = ["gate"]
copies = 0
"#;

/// A store of another host, and nodes by the names of their hosts.
struct Cluster {
    far: Far,
    nodes: BTreeMap<String, (Place, Running)>,
    began: Pipe,
    gate: Pipe,
}

impl Cluster {
    fn new(graph: &str) -> Self {
        Self::of(Far::new(), graph)
    }

    fn of(far: Far, graph: &str) -> Self {
        fs::write(far.here.path("graph.toml"), graph).unwrap();
        far.here.script("sum.awk", "{s += $1} END {printf \"%.0f\\n\", s}");
        let (began, gate) = (far.here.pipe("began"), far.here.pipe("gate"));
        Self { far, nodes: BTreeMap::new(), began, gate }
    }

    fn node(&mut self, name: &str) {
        self.node_with(name, &[]);
    }

    /// A node whose worker has further options.
    fn node_with(&mut self, name: &str, options: &[&str]) {
        let place = Place::new();
        let tidings = tidings_experiment::agents::programs().join("tidings");
        let mut command = place.with_store(Path::new("unshare"));
        command.args(["-Uru", "sh", "-c", "hostname $0; exec \"$@\"", name]);
        command.arg(tidings).args(["worker", "-n", "2"]).args(options).args(self.far.store());
        // Those that an emulated host has for itself.
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut worker = Running::begin(&mut command);
        assert!(worker.complaint().contains("2 slots"));
        self.nodes.insert(name.to_owned(), (place, worker));
    }

    fn run(&self) -> Running {
        self.run_with(&[])
    }

    fn run_with(&self, options: &[&str]) -> Running {
        let mut command: Command = self.far.here.tidings(&["run", "-n", "0"]);
        command.args(options).args(self.far.store()).arg("graph.toml");
        Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// On which hosts each task has run.
    fn ran(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in self.far.here.lines("log") {
            let (task, host) = line.split_once(' ').unwrap();
            all.entry(task.to_owned()).or_default().push(host.to_owned());
        }
        all
    }

    /// Waits until the gate runs: on which host.
    fn gate(&mut self) -> String {
        self.began.line().strip_prefix("gate ").unwrap().to_owned()
    }

    fn kill(&mut self, name: &str) {
        self.nodes.remove(name).unwrap().1.kill();
    }

    /// The run ends with what a graph without copies prints.
    fn ends(&mut self, run: Running) {
        self.gate.let_go(1);
        let (code, printed, errors) = run.end();
        assert_eq!(code, 0, "{errors}");
        let mut sums: Vec<&str> = printed.lines().collect();
        sums.sort_unstable();
        let sum = |number: u64| (20_000_100_000_u64 * number).to_string();
        let mut expected: Vec<String> = (2..=7).map(sum).collect();
        expected.push("open".to_owned());
        expected.sort_unstable();
        assert_eq!(sums, expected, "{errors}");
    }
}

fn graph(copies: u32) -> String {
    GRAPH.replace("COPIES", &copies.to_string())
}

/// Those of the tasks that have run on a host alone.
fn only_on<'r>(ran: &'r BTreeMap<String, Vec<String>>, host: &str) -> Vec<&'r str> {
    let alone = ran.iter().filter(|(_, hosts)| hosts.iter().all(|one| one == host));
    alone.map(|(task, _)| task.as_str()).collect()
}

/// Runs the graph on two nodes, one of which is killed while the gate is closed: what it alone had
/// and somebody reads is made again, and nothing else.
fn what_is_lost_is_made_again(mut cluster: Cluster) {
    for name in ["n1", "n2"] {
        cluster.node(name);
    }
    let run = cluster.run();
    let gate = cluster.gate();
    let before = cluster.ran();
    let victim = if gate == "n1" { "n2" } else { "n1" };
    let lost = only_on(&before, victim);
    cluster.kill(victim);
    cluster.ends(run);
    let after = cluster.ran();
    for (task, hosts) in &before {
        let is_lost = lost.contains(&task.as_str());
        let again = after[task].len() - hosts.len();
        // Who reads the seed may have a copy of it still.
        let may_be_there = task == "seed" && again == 0;
        assert!(again == usize::from(is_lost) || may_be_there, "{task}: {after:?}");
    }
    assert!(lost.iter().any(|task| task.starts_with("make")), "both have made some: {before:?}");
}

#[test]
fn what_was_on_a_killed_node_and_is_read_is_made_again_and_nothing_else() {
    let cluster = Cluster::new(&graph(1));
    what_is_lost_is_made_again(cluster);
}

/// Those that read are in another part than those that make, whose coordinator makes again what is
/// lost.
#[test]
fn what_is_read_from_another_part_is_made_again_and_nothing_else() {
    let [makes, reads] = queues_of_two_parts();
    let of = |task: &str, queue: &str| format!("[task.{task}]\nqueue = \"{queue}\"\n");
    let mut text = graph(1);
    for (task, queue) in [("seed", &makes), ("make", &makes), ("gate", &reads), ("sum", &reads)] {
        text = text.replace(&format!("[task.{task}]\n"), &of(task, queue));
    }
    let cluster = Cluster::of(Far::with_parts(2), &text);
    what_is_lost_is_made_again(cluster);
}

#[test]
fn a_copy_elsewhere_is_enough() {
    let mut cluster = Cluster::new(&graph(2));
    for name in ["n1", "n2", "n3"] {
        cluster.node(name);
    }
    let run = cluster.run();
    let gate = cluster.gate();
    let victim = ["n1", "n2", "n3"].into_iter().find(|name| *name != gate).unwrap();
    cluster.kill(victim);
    cluster.ends(run);
    let again: Vec<_> = cluster.ran().into_iter().filter(|(_, hosts)| hosts.len() > 1).collect();
    assert_eq!(again, [], "each ran once");
}

#[test]
fn the_next_holder_makes_nothing_again() {
    let mut cluster = Cluster::new(&graph(1));
    for name in ["n1", "n2"] {
        cluster.node(name);
    }
    let run = cluster.run();
    cluster.gate();
    cluster.far.replace_holder();
    cluster.ends(run);
    let again: Vec<_> = cluster.ran().into_iter().filter(|(_, hosts)| hosts.len() > 1).collect();
    assert_eq!(again, [], "each ran once");
}

/// All that reads is told where it lies; what is gone, that it is made again.
#[test]
fn where_inputs_lie_is_explained() {
    let mut cluster = Cluster::new(&graph(1));
    cluster.node("n1");
    let run = cluster.run();
    assert_eq!(cluster.gate(), "n1");
    let live = cluster.far.here.json(&["queue", "ls", "--json"]);
    let queue = live["queues"][0]["name"].as_str().unwrap().to_owned();
    let waiting = cluster.far.here.text(&["queue", "peek", &queue, "--json"]);
    let tasks =
        waiting.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let reads = |task: &serde_json::Value| task["command"].to_string().contains("sum.1 ");
    let sum = tasks.into_iter().find(reads).unwrap();
    let id = sum["task"].as_str().unwrap().to_owned();
    let explain = |cluster: &Cluster| cluster.far.here.json(&["task", "explain", &id, "--json"]);
    let why = explain(&cluster);
    assert!(why["text"].as_str().unwrap().contains("lies on n1"), "{why}");
    assert!(why["outputs"][0]["bytes"].as_u64().unwrap() > 100_000, "{why}");
    cluster.kill("n1");
    // Its session ends a moment later: whoever asks for the output waits until it is made again.
    cluster.node("n2");
    assert_eq!(cluster.gate(), "n2");
    let why = explain(&cluster);
    assert!(why["text"].as_str().unwrap().contains("lies on n2"), "{why}");
    cluster.ends(run);
    for (_, worker) in cluster.nodes.into_values() {
        worker.signal(Signal::TERM);
        assert_eq!(worker.end().0, 0);
    }
}

/// What a node has is not fetched, and what it has not comes once, however many tasks read it at a
/// time.
#[test]
fn an_output_moves_once_to_a_node_that_reads_it() {
    let text = "copies = 1\n[task.seed]\nshell = \"seq 1 200000\"\nneed = \"left=1\"\n\
                [task.near]\neach = \"1-3\"\nshell = \"wc -l < {in.seed} # {}\"\nneed = \"left=1\"\n\
                [task.far]\neach = \"1-4\"\nshell = \"wc -l < {in.seed} # {}\"\nneed = \"right=1\"\n";
    let mut cluster = Cluster::new(text);
    cluster.node_with("left", &["--resource", "left=2"]);
    cluster.node_with("right", &["--resource", "right=2"]);
    let (code, printed, errors) = cluster.run_with(&["--json"]).end();
    assert_eq!(code, 0, "{errors}");
    let mut moved = BTreeMap::from([("left", 0), ("right", 0)]);
    for line in printed.lines() {
        let task: serde_json::Value = serde_json::from_str(line).unwrap();
        let (name, host) = (task["name"].as_str().unwrap(), task["host"].as_str().unwrap());
        let bytes = task["moved_bytes"].as_u64().unwrap_or_default();
        *moved.get_mut(host).unwrap() += bytes;
        assert!(name == "seed" || task["stdout"] == "200000\n", "{task}");
    }
    let length: usize = (1..=200_000).map(|number: u32| number.to_string().len() + 1).sum();
    assert_eq!(moved, BTreeMap::from([("left", 0), ("right", length as u64)]));
}
