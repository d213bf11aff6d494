//! Processes that a test starts: this program again, each with a role, and what they say.

use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::agent::Agent;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tidings_experiment::hosts::{Fabric, Network, address, tag};
use tidings_primitives::Chance;
use tidings_steal_tcp::{Hosts, Job, Key, KeyRing, Place, Rules, Search};

pub(crate) const ROLE: &str = "TIDINGS_TEST_ROLE";
const PLACE: &str = "TIDINGS_TEST_PLACE";
const LISTEN: &str = "TIDINGS_TEST_LISTEN";
const RULES: &str = "TIDINGS_TEST_RULES";
/// Where the board of an agent may be.
const BOARD: &str = "TIDINGS_TEST_BOARD";
/// A file that is there when phases that go on for ever are to end.
pub(crate) const STOP: &str = "TIDINGS_TEST_STOP";

/// A job, and the processes that were started for it.
pub(crate) struct Run {
    directory: TempDir,
    workers: u32,
    meeting: Option<SocketAddr>,
    rules: String,
    /// Hosts of their own for all, numbered as they are.
    pub(crate) hosts: Option<Fabric>,
    pub(crate) children: Vec<Started>,
}

pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) number: u32,
    output: BufReader<ChildStdout>,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The key of all jobs here.
pub(crate) fn job(name: &str) -> Job {
    let key = KeyRing::new(&[Key::from_bytes([7; 32])]).expect("a key");
    Job { name: name.to_owned(), key }
}

/// Rules by their names: what a started process is told.
pub(crate) fn rules(names: &str) -> Rules {
    let mut rules = Rules::default();
    for name in names.split_whitespace() {
        match name {
            "random" => rules.search = Search::Random,
            "retain" => rules.retain = true,
            "hasty" => rules.patience = Duration::from_millis(400),
            "sharp" => {
                (rules.beat, rules.silence) =
                    (Duration::from_millis(100), Duration::from_millis(1500));
            }
            "patient" => {
                (rules.beat, rules.silence) = (Duration::from_millis(50), Duration::from_secs(600));
            }
            other => unreachable!("no rule is called {other}"),
        }
    }
    rules
}

/// What a started process was told: its place, a listener, its rules.
pub(crate) fn told() -> (Place, TcpListener, Rules) {
    let place = std::env::var(PLACE).expect("a place");
    let mut parts = place.split_whitespace();
    let mut next = || parts.next().expect("a word");
    let (number, workers) = (next().parse().expect("a number"), next().parse().expect("a number"));
    let host = std::env::var(LISTEN).unwrap_or_else(|_| "127.0.0.1".to_owned());
    let listener = TcpListener::bind(format!("{host}:0")).expect("a port");
    let own = listener.local_addr().expect("it is bound");
    let meeting = if number == 0 { own } else { next().parse().expect("an address") };
    if number == 0 {
        say(&own.to_string());
    }
    let rules = rules(&std::env::var(RULES).expect("rules"));
    (Place { number, workers, meeting }, listener, rules)
}

/// What a board says of the hosts of workers, if there is one; worker 1 runs on node n1.
pub(crate) fn watched(place: &Place) -> Option<Hosts> {
    let path = PathBuf::from(std::env::var_os(BOARD)?);
    let names = (0..place.workers).map(|number| format!("n{number}"));
    path.exists().then(|| Hosts::new(path, names.collect()))
}

pub(crate) fn say(what: &str) {
    println!("\nsays: {what}");
}

pub(crate) fn wait_for_word() {
    std::io::stdin().read_exact(&mut [0]).expect("the test goes on");
}

/// Some moments.
pub(crate) fn pass(chance: &mut Chance, most: usize) {
    std::hint::black_box((0..chance.below(most)).fold(0, |sum, at| sum ^ at));
}

impl Run {
    pub(crate) fn new(workers: u32, rules: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (rules, children) = (rules.to_owned(), Vec::new());
        Self { directory, workers, meeting: None, rules, hosts: None, children }
    }

    /// The same on hosts of their own: network namespaces on one switch.
    pub(crate) fn on_hosts(workers: u32, rules: &str) -> Self {
        let hosts = Fabric::new(tag(), workers, &Network::default()).expect("root, and iproute2");
        Self { hosts: Some(hosts), ..Self::new(workers, rules) }
    }

    /// Starts a process for each role; the first is worker 0.
    pub(crate) fn start(mut self, roles: &[&str]) -> Self {
        for role in roles {
            let number = self.children.len() as u32;
            self.start_as(number, role);
            if number == 0 {
                let said = self.children[0].said();
                self.meeting = Some(said.parse().expect("an address"));
            }
        }
        self
    }

    /// Starts a process of this number.
    pub(crate) fn start_as(&mut self, number: u32, role: &str) {
        let program = std::env::current_exe().expect("this program");
        let mut command = match &self.hosts {
            None => Command::new(program),
            Some(hosts) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &hosts.namespace(number)]).arg(program);
                command.env(LISTEN, address(number));
                command
            }
        };
        command.args(["--exact", "worker", "--nocapture", "--test-threads=1"]);
        let meeting = self.meeting.map_or(String::new(), |at| at.to_string());
        command.env(PLACE, format!("{number} {} {meeting}", self.workers));
        command.env(ROLE, role).env(STOP, self.stop()).env(RULES, &self.rules);
        command.env(BOARD, self.board());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("this program");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        self.children.push(Started { child, number, output });
    }

    /// Where worker 0 listens.
    pub(crate) fn meeting(&self) -> SocketAddr {
        self.meeting.expect("worker 0 has said it")
    }

    fn stop(&self) -> PathBuf {
        self.directory.path().join("stop")
    }

    /// Kills the process of a worker, which has ended when this returns.
    pub(crate) fn kill(&mut self, number: u32) {
        self.children.retain(|child| child.number != number);
    }

    /// The process of a worker.
    pub(crate) fn of(&mut self, number: u32) -> &mut Started {
        self.children.iter_mut().find(|child| child.number == number).expect("it was started")
    }

    /// Phases that go on for ever end now.
    fn board(&self) -> PathBuf {
        self.directory.path().join("board")
    }

    /// An agent on the host of all, which knows so many nodes.
    pub(crate) fn agent(&self, nodes: usize) -> Agent {
        Agent::new(&self.board(), nodes)
    }

    pub(crate) fn end(&self) {
        std::fs::write(self.stop(), "").expect("room");
    }

    /// What each says next, behind its sign.
    pub(crate) fn said(&mut self) -> Vec<String> {
        self.children.iter_mut().map(Started::said).collect()
    }
}

impl Started {
    /// What it says next; empty if it ends before.
    pub(crate) fn said(&mut self) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("lines") > 0 {
            if let Some((_, said)) = line.split_once("says: ") {
                return said.trim().to_owned();
            }
            line.clear();
        }
        String::new()
    }

    pub(crate) fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(b"\n").expect("it reads");
    }

    /// Stops it; none of its threads runs when this returns.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let threads = format!("/proc/{}/task", self.child.id());
        // A name in parentheses, then the state.
        let is_stopped = |thread: std::fs::DirEntry| {
            let line = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            line.contains(") T ")
        };
        let threads = || std::fs::read_dir(&threads).expect("it lives").flatten();
        while !threads().all(is_stopped) {
            std::thread::yield_now();
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it lives");
    }
}
