//! Real agents for tests: processes on loopback, each with a runtime directory of its own.
//!
//! An agent counts as started when it logs `listening`; ports are free ones that the kernel picks,
//! and are learnt from the agent. Nothing waits for a time: [`Cluster::until`] asks again whenever
//! an agent logs a line, or at the latest after a moment, and gives up only when something is
//! plainly wrong. Whatever is still running when a cluster is dropped is killed, by its own handle.

#![expect(clippy::missing_panics_doc, reason = "a measurement without agents is none")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tidings_control::{Client, NodeReport, Status};

/// Long enough for a loaded machine; a test that waits this long has failed. Beside other tests the
/// start and end of one agent have taken 58 s.
const PATIENCE: Duration = Duration::from_secs(180);

/// The longest pause before a condition is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The directory of the programs under test: `$TIDINGS_BIN_DIR`, or that of this test's profile,
/// where they are built once.
pub fn programs() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| match env::var_os("TIDINGS_BIN_DIR") {
        Some(directory) => directory.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let test = env::current_exe().expect("a running test has a path");
    let directory = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").to_owned();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--quiet", "--workspace", "--lib", "--bins", "--examples"]);
    if directory.file_name().is_some_and(|profile| profile == "release") {
        cargo.arg("--release");
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
    assert!(built.success(), "the programs under test do not build");
    directory
}

/// Agents that are started together and end together.
#[derive(Debug)]
pub struct Cluster {
    directory: TempDir,
    agents: BTreeMap<String, Agent>,
    logged: Receiver<()>,
    log_end: SyncSender<()>,
}

/// One running agent.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    runtime_dir: PathBuf,
    log: Arc<Mutex<Vec<String>>>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Cluster {
    /// A cluster without agents.
    pub fn new() -> Self {
        let (log_end, logged) = sync_channel(1);
        let directory = TempDir::new().expect("a temporary directory");
        Self { directory, agents: BTreeMap::new(), logged, log_end }
    }

    /// A directory for the test's own files.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file for the owner alone, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path().join(name);
        fs::write(&path, text).expect("the test's own directory is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("an own file");
        path.display().to_string()
    }

    /// A command for an agent `name` on free ports, with short rounds and the further `flags`.
    pub fn command(&self, name: &str, flags: &[&str]) -> Command {
        self.command_on(&[], name, flags)
    }

    /// The same with words before it that say where it runs.
    pub fn command_on(&self, place: &[String], name: &str, flags: &[&str]) -> Command {
        let program = programs().join("tidings-agent");
        let mut command = match place {
            [] => Command::new(program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command.stdin(Stdio::null());
        if place.is_empty() {
            command.env_clear();
        }
        let runtime_dir = self.path().join(name).display().to_string();
        // Not in shared memory, where it would remain after an agent is killed.
        let board = self.path().join(name).join("board").display().to_string();
        let defaults = [
            ("--name", name),
            ("--board", &board),
            ("--runtime-dir", &runtime_dir),
            ("--listen", "127.0.0.1:0"),
            ("--http", "off"),
            ("--interval", "20ms"),
            ("--collect-interval", "100ms"),
        ];
        for (flag, value) in defaults {
            if !flags.contains(&flag) {
                command.args([flag, value]);
            }
        }
        command.args(flags);
        command
    }

    /// Starts an agent and waits until it listens.
    pub fn start(&mut self, name: &str, flags: &[&str]) -> &Agent {
        self.start_on(&[], name, flags)
    }

    /// The same on a host: `place` are the words before the command.
    pub fn start_on(&mut self, place: &[String], name: &str, flags: &[&str]) -> &Agent {
        let mut command = self.command_on(place, name, flags);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the agent's program starts");
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(child.stderr.take().expect("piped above")).lines();
        let (copy, end) = (Arc::clone(&log), self.log_end.clone());
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                copy.lock().expect("no reader panics").push(line);
                let _ = end.try_send(()); // a wake-up that is already under way is enough
            }
        });
        let runtime_dir = self.path().join(name);
        self.agents.insert(name.to_owned(), Agent { child, runtime_dir, log });
        self.until(&format!("{name} listens"), |cluster| {
            let log = cluster.agent(name).log();
            log.iter().any(|line| line.contains("listening")).then_some(())
        });
        self.agent(name)
    }

    /// Starts an agent that asks the agent `seed`.
    pub fn join(&mut self, name: &str, seed: &str, flags: &[&str]) -> &Agent {
        let address = self.agent(seed).status().address;
        let flags: Vec<&str> =
            ["--seed", &address].into_iter().chain(flags.iter().copied()).collect();
        self.start(name, &flags)
    }

    /// Runs an agent that is expected to end by itself.
    pub fn refused(&self, name: &str, flags: &[&str]) -> Output {
        self.command(name, flags).output().expect("the agent's program starts")
    }

    /// The running agent `name`.
    ///
    /// # Panics
    /// If there is none.
    pub fn agent(&self, name: &str) -> &Agent {
        self.agents.get(name).unwrap_or_else(|| panic!("no agent {name} was started"))
    }

    /// Sends SIGTERM to the agent `name` and waits for its end; its exit code.
    pub fn stop(&mut self, name: &str) -> Option<i32> {
        self.agent(name).signal(Signal::TERM);
        self.end(name)
    }

    /// Waits for the end of the agent `name`; its exit code.
    pub fn end(&mut self, name: &str) -> Option<i32> {
        let mut agent = self.agents.remove(name).expect("started before");
        agent.child.wait().expect("an own child").code()
    }

    /// Waits until `condition` has a value.
    ///
    /// # Panics
    /// If that takes too long; the message has the agents' logs.
    pub fn until<T>(&self, what: &str, mut condition: impl FnMut(&Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(value) = condition(self) {
                return value;
            }
            assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}\n{}", self.logs());
            let _ = self.logged.recv_timeout(LOOK_AGAIN); // a line or a moment, either will do
        }
    }

    /// Waits until each of `names` knows exactly `members` nodes, and news of all of them.
    pub fn until_known(&self, names: &[&str], members: usize) {
        self.until(&format!("{names:?} know {members} nodes"), |cluster| {
            let knows = |name: &&str| {
                let status = cluster.agent(name).status();
                status.members == members && status.known == members
            };
            names.iter().all(knows).then_some(())
        });
    }

    fn logs(&self) -> String {
        let log =
            |(name, agent): (&String, &Agent)| format!("{name}:\n{}\n", agent.log().join("\n"));
        self.agents.iter().map(log).collect()
    }
}

impl Agent {
    /// A connection to the agent.
    pub fn client(&self) -> Client {
        Client::connect(&self.runtime_dir).expect("a started agent answers")
    }

    /// The agent's condition.
    pub fn status(&self) -> Status {
        self.client().status().expect("a started agent answers")
    }

    /// One of the agent's counters.
    pub fn counter(&self, name: &str) -> u64 {
        *self.status().counters.get(name).unwrap_or_else(|| panic!("no counter {name}"))
    }

    /// What the agent knows of the node `name`; `None` if nothing.
    pub fn node(&self, name: &str) -> Option<NodeReport> {
        self.client().node(name).ok()
    }

    /// The agent's process number.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The agent's runtime directory.
    pub fn runtime_dir(&self) -> &Path {
        &self.runtime_dir
    }

    /// The lines logged so far.
    pub fn log(&self) -> MutexGuard<'_, Vec<String>> {
        self.log.lock().expect("no writer panics")
    }

    /// Sends a signal to the agent.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("an own child");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}
