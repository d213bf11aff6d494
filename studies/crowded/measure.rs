//! What does it cost the news when applications want every core, at each priority of the agent?
//!
//! Sixteen agents on loopback with intervals of 256 ms, and two busy loops for each core of the
//! machine at the usual priority. Measured are the ages that the agents hold and the processor time
//! they get, at each `priority`, beside the same agents on the machine as it is otherwise, which is
//! the reference. Ages are read from the agents' boards twice a second after a warm-up; deaths that
//! were declared are all false, since nobody dies.
//!
//! `run` measures for 40 s at each; without `--bench` a short pass keeps it from rotting.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tidings_board::{Board, Snapshot, board_path};
use tidings_control::{Client, Status};
use tidings_experiment::agents::Cluster;
use tidings_studies::table::{self, Made};

/// Busy loops for each core.
const LOOPS: usize = 2;
/// One unit of time.
const INTERVAL_S: f64 = 0.256;
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
}

/// Ages of other nodes that were seen, in units of time.
#[derive(Default)]
struct Ages {
    sum_units: f64,
    entries: u64,
    oldest_sum_units: f64,
    looks: u64,
    highest_units: f64,
}

fn main() -> ExitCode {
    table::make("crowded", "studies/crowded/run", None, |is_measured| {
        let seconds = |measured| if is_measured { Duration::from_secs(measured) } else { PAUSE };
        let agents = if is_measured { 16 } else { 2 };
        let course = Course { agents, warmup: seconds(15), measured: seconds(40) };
        Ok::<_, Infallible>(all(&course))
    })
}

fn all(course: &Course) -> Made {
    let settings = [("normal", false), ("normal", true), ("low", true), ("idle", true)];
    let mut outcomes = Vec::new();
    for (priority, is_crowded) in settings {
        let outcome = measure(course, priority, is_crowded);
        let _ = write!(std::io::stderr(), "{}", outcome.row());
        outcomes.push(outcome);
    }
    let facts = Map::from_iter([
        ("agents".to_owned(), Value::from(course.agents)),
        ("loops_per_core".to_owned(), Value::from(LOOPS)),
        ("measured_s".to_owned(), Value::from(course.measured.as_secs())),
    ]);
    (table(&outcomes), facts)
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
    // Nobody is asked while it is crowded: that would be work, and an answer might be late.
    let boards: Vec<(&String, Board)> =
        names.iter().filter_map(|name| Some((name, board_of(&cluster, name)?))).collect();
    let (begin, mut ages) = (Instant::now(), Ages::default());
    while begin.elapsed() < course.measured {
        wait(PAUSE);
        for (name, board) in &boards {
            ages.look(name, board);
        }
    }
    drop(applications);
    let after: Vec<Status> = names.iter().map(|name| status_of(&cluster, name)).collect();
    let counted = |name: &str| after.iter().filter_map(|status| status.counters.get(name)).sum();
    let cpu_s: f64 = after.iter().map(|status| status.cpu_seconds).sum();
    let uptime_s: f64 = after.iter().map(|status| status.uptime_s).sum();
    Outcome {
        priority,
        is_crowded,
        age_avg_units: ages.sum_units / ages.entries as f64,
        age_max_units: ages.oldest_sum_units / ages.looks as f64,
        age_highest_units: ages.highest_units,
        cpu_percent: 100.0 * cpu_s / uptime_s,
        suspicions: counted("suspicions"),
        false_deaths: counted("deaths_declared"),
    }
}

fn board_of(cluster: &Cluster, name: &str) -> Option<Board> {
    // However long its agent is kept waiting.
    let limit = Duration::from_secs(3_600);
    Board::open(&board_path(cluster.agent(name).runtime_dir()), limit).ok()
}

/// What an agent says of itself, however long that takes it.
fn status_of(cluster: &Cluster, name: &str) -> Status {
    cluster.until(&format!("{name} answers"), |cluster| {
        Client::connect(cluster.agent(name).runtime_dir()).ok()?.status().ok()
    })
}

impl Ages {
    /// Adds the ages of the other nodes that one agent's board holds now.
    fn look(&mut self, own: &str, board: &Board) {
        let mut snapshot = Snapshot::new();
        if board.snapshot(&mut snapshot).is_err() {
            return; // it is being written for longer than a reader waits
        }
        let mut oldest: f64 = 0.0;
        for entry in snapshot.entries().filter(|entry| entry.name != own) {
            if let Some(age) = entry.age {
                let units = age.as_secs_f64() / INTERVAL_S;
                self.sum_units += units;
                self.entries += 1;
                oldest = oldest.max(units);
            }
        }
        self.oldest_sum_units += oldest;
        self.looks += 1;
        self.highest_units = self.highest_units.max(oldest);
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
                    suspicions,false_deaths\n"
        .to_owned();
    for outcome in outcomes {
        let Outcome { priority, is_crowded, suspicions, false_deaths, .. } = outcome;
        let crowded = if *is_crowded { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "{priority},{crowded},{:.3},{:.3},{:.3},{:.4},{suspicions},{false_deaths}",
            outcome.age_avg_units,
            outcome.age_max_units,
            outcome.age_highest_units,
            outcome.cpu_percent,
        );
    }
    text
}

impl Outcome {
    /// A row of the table in studies/crowded/README.md.
    fn row(&self) -> String {
        format!(
            "| {} | {} | {:.2} | {:.1} | {:.1} | {:.3} | {} | {} |\n",
            self.priority,
            if self.is_crowded { "yes" } else { "no" },
            self.age_avg_units,
            self.age_max_units,
            self.age_highest_units,
            self.cpu_percent,
            self.suspicions,
            self.false_deaths,
        )
    }
}
