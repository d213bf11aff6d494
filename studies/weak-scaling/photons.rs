//! mcphoton on hosts of this machine: a holder that keeps the store, workers, and a program that
//! submits, each in a network of its own.
//!
//! A worker's task computes few photons and then waits until it has taken its time, as it would on
//! a core of its own: the machine has fewer cores than there are workers.
//!
//! Invariant: what a [`Cell`] has started ends with it.

#![expect(clippy::missing_panics_doc, reason = "a measurement without hosts is none")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tidings_experiment::agents::{KEY, median, programs};
use tidings_experiment::hosts::Hosts;

/// The host of the process that keeps the store, that of the program which submits, and that of the
/// first worker.
const HEAD: usize = 1;
const CLIENT: usize = 2;
const FIRST: usize = 3;

/// In a network of its own every port is free.
const PORT: u16 = 9_700;

/// Photons of a task: some tenths of a millisecond.
const PHOTONS: u64 = 1_000;

/// The time in which the holder's processor is measured without tasks.
const IDLE: Duration = Duration::from_secs(5);

/// A pause between two questions whether something is there.
const PAUSE: Duration = Duration::from_millis(20);

/// A process that ends with what it was started for.
#[derive(Debug)]
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Hosts, the program, and files of all.
#[derive(Debug)]
pub struct Site {
    hosts: Hosts,
    files: TempDir,
    program: PathBuf,
}

/// Who adds up what tasks came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The program that has submitted them.
    Run,
    /// Further tasks, along a tree: all is a dataflow.
    Flow,
}

impl Form {
    /// What the program is called with.
    fn role(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Flow => "flow",
        }
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// From the start of the program that submits to its end.
    pub seconds: f64,
    /// The processor that a task took of the holder, in microseconds.
    pub holder_us: f64,
}

impl Site {
    /// Hosts for so many workers.
    pub fn new(workers: usize) -> Self {
        let hosts = Hosts::new(CLIENT + workers);
        let files = TempDir::new().expect("a temporary directory");
        fs::write(files.path().join("keys"), KEY).expect("an own folder is writable");
        let only_own = fs::Permissions::from_mode(0o600);
        fs::set_permissions(files.path().join("keys"), only_own).expect("an own file");
        let program = compiled(files.path());
        Self { hosts, files, program }
    }

    /// A command on a host.
    fn command(&self, host: usize, program: impl AsRef<OsStr>) -> Command {
        let [first, rest @ ..] = self.hosts.on(host);
        let mut command = Command::new(first);
        command.args(rest).arg(program).stdin(Stdio::null());
        command
    }

    /// `mcphoton` on a host, with the store of the first one.
    fn mcphoton(&self, host: usize, what: &str) -> Command {
        let mut command = self.command(host, &self.program);
        command.env("TIDINGS_STORE", format!("tcp://{}:{PORT}", Hosts::address(HEAD)));
        command.args([what, "-k"]).arg(self.files.path().join("keys"));
        command
    }

    /// The processor that the processes of the first host have had, in microseconds.
    pub fn holder_us(&self) -> f64 {
        self.hosts.processes(HEAD).into_iter().map(processor_us).sum()
    }

    /// How long the store's disk takes for a synced write of a page: the median of 200.
    pub fn commit_us(&self) -> f64 {
        let mut file = File::create(self.files.path().join("page")).expect("an own folder");
        let times = (0..200).map(|_| {
            let begun = Instant::now();
            file.write_all(&[1; 4_096]).and_then(|()| file.sync_data()).expect("an own file");
            begun.elapsed().as_secs_f64() * 1e6
        });
        median(times)
    }
}

/// The processor that the threads of a process have had.
fn processor_us(process: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    threads.filter_map(of_thread).sum::<f64>() / 1e3
}

/// Compiles `examples/mcphoton` against the library of the programs that are measured.
fn compiled(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("studies are in the project");
    let program = folder.join("mcphoton");
    let mut command = Command::new("cc");
    command.current_dir(root).args(["-O2", "-ffp-contract=off", "-I", "crates/tasks-ffi/include"]);
    command.args(["examples/mcphoton/mcphoton.c", "examples/mcphoton/slab.c"]);
    command.arg(programs().join("libtidings_tasks_c.a"));
    command.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    let status = command.status().expect("cc is there");
    assert!(status.success(), "cc: {status}: {command:?}");
    program
}

/// A store, its holder, and workers that wait for tasks.
#[derive(Debug)]
pub struct Cell<'a> {
    site: &'a Site,
    task_ms: u64,
    folder: TempDir,
    holder: Option<Running>,
    workers: BTreeMap<usize, Running>,
}

impl<'a> Cell<'a> {
    /// Starts them, each task to take so many milliseconds, and waits until each wants tasks.
    pub fn begin(site: &'a Site, task_ms: u64, workers: Range<usize>) -> Self {
        let folder = TempDir::new_in(site.files.path()).expect("an own folder");
        let mut cell = Self { site, task_ms, folder, holder: None, workers: BTreeMap::new() };
        let listen = format!("{}:{PORT}", Hosts::address(HEAD));
        let holder = ["worker", "-n", "1", "--queue", "none", "--listen", &listen];
        let holder = cell.started(&mut cell.tidings(&holder));
        cell.holder = Some(holder);
        cell.start(workers);
        cell.until_all_offer();
        cell
    }

    /// Starts further workers.
    pub fn start(&mut self, workers: Range<usize>) {
        for worker in workers {
            let mut command = self.site.mcphoton(FIRST + worker, "work");
            command.args(["-i", "3600000", "-w", &self.task_ms.to_string()]);
            let running = self.started(&mut command);
            self.workers.insert(worker, running);
        }
    }

    /// Kills workers, with what they have.
    pub fn kill(&mut self, workers: Range<usize>) {
        self.workers.retain(|worker, _| !workers.contains(worker));
    }

    fn started(&self, command: &mut Command) -> Running {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"));
        let log = log.expect("an own folder");
        let other = log.try_clone().expect("a descriptor");
        Running(command.stdout(log).stderr(other).spawn().expect("iproute2 is there"))
    }

    /// `tidings` on the first host.
    pub fn tidings(&self, arguments: &[&str]) -> Command {
        let mut command = self.site.command(HEAD, programs().join("tidings"));
        let store = format!("file:{}", self.folder.path().join("store").display());
        command.env("TIDINGS_STORE", store).args(arguments);
        command.arg("--keys").arg(self.site.files.path().join("keys"));
        command
    }

    /// What `tidings queue ls` says.
    pub fn listed(&self) -> Value {
        let listed = self.tidings(&["queue", "ls", "--json"]).output().expect("iproute2 is there");
        serde_json::from_slice(&listed.stdout).unwrap_or(Value::Null)
    }

    /// Waits until each worker waits for tasks.
    fn until_all_offer(&self) {
        let begun = Instant::now();
        loop {
            let state = self.listed();
            let listed = state["workers"].as_array().map_or(&[][..], Vec::as_slice);
            let is_own = |worker: &&Value| {
                let name = worker["name"].as_str().unwrap_or_default();
                name.starts_with("mcphoton") && worker["slots"].as_u64() == Some(1)
            };
            if listed.iter().filter(is_own).count() == self.workers.len() {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "not all are there: {state}");
            thread::sleep(PAUSE);
        }
    }

    /// The processor that a worker without a task takes of the holder in a second.
    pub fn idle_us(&self) -> f64 {
        let before = self.site.holder_us();
        thread::sleep(IDLE);
        (self.site.holder_us() - before) / IDLE.as_secs_f64() / self.workers.len() as f64
    }

    /// Begins with so many tasks, or batches of a flow.
    pub fn submit(&self, form: Form, tasks: u64) -> Submitted {
        let photons = (tasks * PHOTONS).to_string();
        let options = ["-n", &photons, "-b", &PHOTONS.to_string()];
        let alone = Command::new(&self.site.program).arg("alone").args(options).output();
        let alone = alone.expect("it was compiled").stdout;
        let holder_us = self.site.holder_us();
        let mut command = self.site.mcphoton(CLIENT, form.role());
        command.args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let child = command.spawn().expect("iproute2 is there");
        Submitted { child, alone, tasks, begun, holder_us }
    }

    /// Waits until they have ended, with the result that the same photons have without a store.
    pub fn wait(&self, submitted: Submitted) -> Ran {
        let Submitted { child, alone, tasks, begun, holder_us } = submitted;
        let output = child.wait_with_output().expect("it was started");
        let seconds = begun.elapsed().as_secs_f64();
        let holder_us = (self.site.holder_us() - holder_us) / tasks as f64;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.stdout == alone, "another result: {} {errors}", output.status);
        Ran { seconds, holder_us }
    }
}

/// Tasks on their way.
#[derive(Debug)]
pub struct Submitted {
    child: Child,
    alone: Vec<u8>,
    tasks: u64,
    begun: Instant,
    holder_us: f64,
}
