//! Records an agent on this machine, under a piece of work or none.
//!
//! `record-readings --name NAME [--units N] [--note TEXT] [--output FOLDER] [-- COMMAND...]` starts
//! an agent with the default pace, and the command, which begins again when it has ended; with
//! `--runtime-dir DIR` it records an agent that runs already. The rows go to standard output as
//! they come, or with `--output` into `NAME.csv` with a manifest. Ctrl-C ends it: what was recorded
//! is kept.
//!
//! As `cargo test` runs it, without `--bench`, it records a real agent for some units and reads
//! what was written.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value};
use tidings_board::{Board, board_path};
use tidings_experiment::agents::Cluster;
use tidings_experiment::manifest::Table;
use tidings_gossip::payload::Reading;
use tidings_sim::readings::Recording;
use tidings_studies::recorder::{SILENCE, record};

/// Units that are recorded where nothing else is said: two minutes.
const UNITS: usize = 470;

/// The pace of an agent where nothing else is configured.
const PACE: [&str; 4] = ["--interval", "256ms", "--collect-interval", "1s"];

/// Where commands run, so that they name no path of the machine: the root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The node that is recorded.
const NAME: &str = "recorded";

/// A pause between two looks whether the work has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// What is recorded.
struct Order {
    name: String,
    units: usize,
    note: Option<String>,
    folder: Option<PathBuf>,
    runtime_dir: Option<PathBuf>,
    command: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let done = if is_measured { run(&Order::of(&arguments)) } else { short_pass() };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&format!("record-readings: {message}"));
            ExitCode::FAILURE
        }
    }
}

impl Order {
    fn of(arguments: &[String]) -> Self {
        let end = arguments.iter().position(|argument| argument == "--");
        let (options, command) = arguments.split_at(end.unwrap_or(arguments.len()));
        let after = |flag: &str| {
            let at = options.iter().position(|option| option == flag)?;
            options.get(at + 1).cloned()
        };
        Self {
            name: after("--name").unwrap_or_else(|| "here".to_owned()),
            units: after("--units").and_then(|units| units.parse().ok()).unwrap_or(UNITS),
            note: after("--note"),
            folder: after("--output").map(PathBuf::from),
            runtime_dir: after("--runtime-dir").map(PathBuf::from),
            command: command.iter().skip(1).filter(|word| *word != "--bench").cloned().collect(),
        }
    }

    /// What the manifest says beside the usual.
    fn facts(&self, rows: usize) -> Map<String, Value> {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let facts = [
            ("work", Value::from(self.command.join(" "))),
            ("pace", Value::from(PACE.join(" "))),
            ("rows", Value::from(rows)),
            ("load_at_the_end", Value::from(load.trim())),
            ("note", self.note.clone().map_or(Value::Null, Value::from)),
        ];
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn run(order: &Order) -> Result<(), String> {
    let stops = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stops)).map_err(|e| e.to_string())?;
    }
    let command = format!("studies/readings/run {}", order.name);
    let place = order.folder.as_deref();
    let place = place.map(|folder| Table::in_folder(folder, &order.name, &command, None));
    let place = place.transpose().map_err(|error| error.to_string())?;
    let mut cluster = Cluster::new();
    let runtime_dir = match &order.runtime_dir {
        Some(runtime_dir) => runtime_dir.clone(),
        None => start(&mut cluster, &PACE),
    };
    let work = Work::begin(&order.command, &stops);
    let Some(place) = place else {
        let rows = record(&runtime_dir, order.units, &stops, &mut io::stdout());
        return rows.map_err(|error| error.to_string()).and_then(|_| work.end());
    };
    let mut text = Vec::new();
    let outcome = record(&runtime_dir, order.units, &stops, &mut text);
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    let rows = text.lines().count().saturating_sub(2);
    if rows > 0 {
        place.write(&text, &order.facts(rows)).map_err(|error| error.to_string())?;
    }
    outcome.map_err(|error| error.to_string())?;
    work.end()
}

/// Starts an agent, and waits for its board; gives its runtime directory.
fn start(cluster: &mut Cluster, flags: &[&str]) -> PathBuf {
    let runtime_dir = cluster.start(NAME, flags).runtime_dir().to_owned();
    let board = board_path(&runtime_dir);
    cluster.until("the board is there", |_| Board::open(&board, SILENCE).ok().map(|_| ()));
    runtime_dir
}

/// The work that goes on while the machine is recorded.
struct Work {
    thread: Option<JoinHandle<Result<(), String>>>,
    ends: Arc<AtomicBool>,
}

impl Work {
    /// Begins it, again and again; if it fails, `stops` is set.
    fn begin(command: &[String], stops: &Arc<AtomicBool>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let Some((program, words)) = command.split_first() else {
            return Self { thread: None, ends };
        };
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        command.current_dir(ROOT);
        let (told, stops) = (Arc::clone(&ends), Arc::clone(stops));
        let repeat = move || {
            let done = again_and_again(&mut command, &told);
            stops.fetch_or(done.is_err(), Ordering::Relaxed);
            done
        };
        Self { thread: Some(thread::spawn(repeat)), ends }
    }

    fn end(self) -> Result<(), String> {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err("a panic".into())))
    }
}

fn again_and_again(command: &mut Command, ends: &AtomicBool) -> Result<(), String> {
    while !ends.load(Ordering::Relaxed) {
        let mut child = command.spawn().map_err(|error| format!("the work: {error}"))?;
        loop {
            match child.try_wait().map_err(|error| format!("the work: {error}"))? {
                Some(status) if status.success() => break,
                Some(status) => return Err(format!("the work failed: {status}")),
                None if ends.load(Ordering::Relaxed) => return end_group(&mut child),
                None => thread::park_timeout(PAUSE),
            }
        }
    }
    Ok(())
}

/// Ends a command and what it started.
fn end_group(child: &mut Child) -> Result<(), String> {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process_group(group, Signal::TERM); // it may have ended by itself
    }
    child.wait().map(|_| ()).map_err(|error| format!("the work: {error}"))
}

/// Records an agent with short units, then one that is stopped, and holds the file against it.
fn short_pass() -> Result<(), String> {
    let mut cluster = Cluster::new();
    let runtime_dir = start(&mut cluster, &[]);
    let text = rows_of(&runtime_dir, 40, &AtomicBool::new(false))?;
    let recording = Recording::parse(&text).map_err(|error| error.to_string())?;
    let processors = thread::available_parallelism().map_err(|error| error.to_string())?.get();
    assert_eq!((recording.rows().len(), recording.unit_s()), (40, 0.02));
    assert_eq!(recording.text(), text, "what was written is read as it was");
    for row in recording.rows().iter().skip(20) {
        let of = |reading: Reading| row.numbers[reading.bit()];
        assert!(of(Reading::Cores).is_some_and(|cores| cores >= processors as f64), "{row:?}");
        assert!(of(Reading::MemAvailable) <= of(Reading::MemTotal), "{row:?}");
        assert!(of(Reading::Uptime).is_some_and(|uptime| uptime > 0.0), "{row:?}");
    }
    let stopped = rows_of(&runtime_dir, 40, &AtomicBool::new(true))?;
    assert_eq!(stopped.lines().count(), 2, "a recorder that is stopped leaves a file without rows");
    assert!(rows_of(Path::new("/nowhere"), 1, &AtomicBool::new(false)).is_err());
    Ok(())
}

fn rows_of(runtime_dir: &Path, units: usize, stops: &AtomicBool) -> Result<String, String> {
    let mut text = Vec::new();
    record(runtime_dir, units, stops, &mut text).map_err(|error| error.to_string())?;
    String::from_utf8(text).map_err(|error| error.to_string())
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}"); // a reader that has gone wants no more
}
