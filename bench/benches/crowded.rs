//! What does it cost the news when applications want every core, at each priority of the agent?
//!
//! Sixteen agents on loopback with intervals of 256 ms, and two busy loops for each core of the
//! machine at the usual priority. Measured are the ages that the agents hold and the processor time
//! they get, at each `priority`, beside the same agents on the machine as it is otherwise, which is
//! the reference. Ages are sampled twice a second after a warm-up; deaths that were declared are
//! all false, since nobody dies.
//!
//! `make crowded` measures for 40 s at each; without `--bench` a short pass keeps it from rotting.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tidings_control::Status;
use tidings_manifest::Table;
use tidings_tests::agents::Cluster;

/// Busy loops for each core.
const LOOPS: usize = 2;
/// Between two looks at the agents.
const PAUSE: Duration = Duration::from_millis(500);

/// How much is measured.
struct Course {
    agents: usize,
    warmup: Duration,
    measured: Duration,
}

/// Applications that want all: threads that compute until this is dropped.
struct Applications {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

/// What the agents came to.
struct Outcome {
    priority: &'static str,
    is_crowded: bool,
    age_avg_units: f64,
    age_max_units: f64,
    age_highest_units: f64,
    cpu_percent: f64,
    suspicions: u64,
    false_deaths: u64,
    ill_share: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == "--output");
    let folder = at.and_then(|at| arguments.get(at + 1)).map(PathBuf::from);
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let seconds = |measured: u64| if is_measured { Duration::from_secs(measured) } else { PAUSE };
    let agents = if is_measured { 16 } else { 2 };
    let course = Course { agents, warmup: seconds(15), measured: seconds(40) };
    match run(&course, folder.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "crowded: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(course: &Course, folder: Option<&Path>) -> Result<(), String> {
    let place = folder.map(|folder| Table::in_folder(folder, "crowded", "make crowded", 0));
    let place = place.transpose().map_err(|error| error.to_string())?;
    let settings = [("normal", false), ("normal", true), ("low", true), ("idle", true)];
    let mut outcomes = Vec::new();
    for (priority, is_crowded) in settings {
        let outcome = measure(course, priority, is_crowded);
        let _ = write!(std::io::stderr(), "{}", outcome.row());
        outcomes.push(outcome);
    }
    let Some(place) = place else { return Ok(()) };
    let facts = Map::from_iter([
        ("agents".to_owned(), Value::from(course.agents)),
        ("loops_per_core".to_owned(), Value::from(LOOPS)),
        ("measured_s".to_owned(), Value::from(course.measured.as_secs())),
    ]);
    place.write(&table(&outcomes), &facts).map_err(|error| error.to_string())
}

impl Applications {
    fn start() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let ends = Arc::new(AtomicBool::new(false));
        let compute = |ends: Arc<AtomicBool>| {
            move || {
                let mut sum = 1_u64;
                while !ends.load(Ordering::Relaxed) {
                    sum = black_box((0..10_000).fold(sum, |sum: u64, n| sum.wrapping_mul(31) ^ n));
                }
                sum
            }
        };
        let threads = (0..LOOPS * cores).map(|_| thread::spawn(compute(Arc::clone(&ends))));
        Self { threads: threads.collect(), ends }
    }
}

impl Drop for Applications {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // a loop cannot fail
        }
    }
}

fn measure(course: &Course, priority: &'static str, is_crowded: bool) -> Outcome {
    let mut cluster = Cluster::new();
    let flags = ["--interval", "256ms", "--collect-interval", "1s", "--priority", priority];
    let names: Vec<String> = (0..course.agents).map(|n| format!("n{n:02}")).collect();
    cluster.start(&names[0], &flags);
    for name in &names[1..] {
        cluster.join(name, &names[0], &flags);
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    cluster.until_known(&all, course.agents);
    let applications = is_crowded.then(Applications::start);
    wait(course.warmup);
    let ask = || -> Vec<Status> { names.iter().map(|n| cluster.agent(n).status()).collect() };
    let (begin, before) = (Instant::now(), ask());
    let mut samples = Vec::new();
    while begin.elapsed() < course.measured {
        wait(PAUSE);
        samples.extend(ask());
    }
    let (passed_s, after) = (begin.elapsed().as_secs_f64(), ask());
    drop(applications);
    let mean = |of: fn(&Status) -> f64| samples.iter().map(of).sum::<f64>() / samples.len() as f64;
    let total = |of: &dyn Fn(&Status) -> f64| {
        after.iter().map(of).sum::<f64>() - before.iter().map(of).sum::<f64>()
    };
    let counted = |name: &str| total(&|s| s.counters.get(name).map_or(0.0, |&n| n as f64)) as u64;
    Outcome {
        priority,
        is_crowded,
        age_avg_units: mean(|status| status.age_avg_units),
        age_max_units: mean(|status| status.age_max_units),
        age_highest_units: samples.iter().map(|s| s.age_max_units).fold(0.0, f64::max),
        cpu_percent: total(&|s| s.cpu_seconds) / passed_s / course.agents as f64 * 100.0,
        suspicions: counted("suspicions"),
        false_deaths: counted("deaths_declared"),
        ill_share: mean(|status| f64::from(u8::from(status.ill.is_some()))),
    }
}

/// Lets time pass.
fn wait(time: Duration) {
    let begin = Instant::now();
    while let Some(left) = time.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = "priority,crowded,age_avg_units,age_max_units,age_highest_units,cpu_percent,\
                    suspicions,false_deaths,ill_share\n"
        .to_owned();
    for outcome in outcomes {
        let Outcome { priority, is_crowded, suspicions, false_deaths, .. } = outcome;
        let crowded = if *is_crowded { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "{priority},{crowded},{:.3},{:.3},{:.3},{:.4},{suspicions},{false_deaths},{:.4}",
            outcome.age_avg_units,
            outcome.age_max_units,
            outcome.age_highest_units,
            outcome.cpu_percent,
            outcome.ill_share,
        );
    }
    text
}

impl Outcome {
    /// A row of the table in docs/results/crowded.md.
    fn row(&self) -> String {
        format!(
            "| {} | {} | {:.2} | {:.1} | {:.1} | {:.3} | {} | {} | {:.1} % |\n",
            self.priority,
            if self.is_crowded { "yes" } else { "no" },
            self.age_avg_units,
            self.age_max_units,
            self.age_highest_units,
            self.cpu_percent,
            self.suspicions,
            self.false_deaths,
            100.0 * self.ill_share,
        )
    }
}
