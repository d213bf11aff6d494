//! Does gossip over MPI outlive more than can be done, every time?
//!
//! A run is a job of a few ranks that are to send, in units down to 0.1 ms, more than their cores
//! and slots can do. Ranks, unit, window, entry, strategy, mode and slots of each are drawn from a
//! seed, and the MPIs take turns. Asked of each: it ends by itself within a minute, with exit
//! status 0, and as many messages were received as were sent, over all ranks. What could not be
//! done is counted, as messages dropped or rounds passed over.
//!
//! `RUNS=1000 run overload` measures; without `--bench` two runs keep it from rotting.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

use serde_json::{Map, Value};
use tidings_experiment::mpi::{Mpi, object, place};
use tidings_primitives::Chance;
use tidings_studies::table::{self, Made};

const SEED: u64 = 5;
/// A job that has not ended after so many seconds hangs.
const LIMIT_S: &str = "60";

/// What one run is to do.
struct Job {
    mpi: Mpi,
    ranks: usize,
    options: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Conserved,
    NotConserved,
    Hung,
    Failed,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Self::Conserved => "conserved",
            Self::NotConserved => "not-conserved",
            Self::Hung => "hung",
            Self::Failed => "failed",
        }
    }
}

fn main() -> ExitCode {
    table::make("overload", "studies/mpi-gossip/run overload", Some(SEED), |is_measured| {
        let asked = std::env::var("TIDINGS_OVERLOAD_RUNS");
        let runs = match (is_measured, asked) {
            (false, _) => Ok(2),
            (true, Ok(text)) => text.parse().map_err(|_| format!("RUNS cannot be '{text}'")),
            (true, Err(_)) => Ok(1_000),
        };
        runs.map(all)
    })
}

/// The columns that the report of a run fills.
const COUNTED: [&str; 9] = [
    "interval_ms",
    "window_entries",
    "payload_bytes",
    "slots",
    "messages_sent",
    "messages_received",
    "messages_dropped",
    "rounds",
    "rounds_skipped",
];

fn all(runs: usize) -> Made {
    let mut chance = Chance::new(SEED);
    let mut table = format!("run,mpi,ranks,strategy,mode,ending,wall_s,{}\n", COUNTED.join(","));
    let (mut endings, mut shed, mut sent) = (Vec::new(), 0_u64, 0_u64);
    for run in 0..runs {
        let job = Job::drawn(&mut chance, run);
        let begin = Instant::now();
        let output = job.run();
        let (ending, report) = ending_of(&output);
        let count = |name: &str| report[name].as_u64().unwrap_or(0);
        shed += u64::from(count("messages_dropped") + count("rounds_skipped") > 0);
        sent += count("messages_sent");
        let _ = writeln!(
            table,
            "{run},{},{},{},{},{},{:.2},{}",
            job.mpi.name(),
            job.ranks,
            report["strategy"].as_str().unwrap_or(""),
            report["mode"].as_str().unwrap_or(""),
            ending.name(),
            begin.elapsed().as_secs_f64(),
            COUNTED.map(|name| report[name].to_string()).join(","),
        );
        if ending != Ending::Conserved || run % 50 == 49 {
            let _ = writeln!(std::io::stderr(), "run {run}: {} {:?}", ending.name(), job.options);
        }
        endings.push(ending);
    }
    let ended = |ending| endings.iter().filter(|found| **found == ending).count();
    let facts = [
        ("runs", runs as u64),
        ("conserved", ended(Ending::Conserved) as u64),
        ("not_conserved", ended(Ending::NotConserved) as u64),
        ("hung", ended(Ending::Hung) as u64),
        ("failed", ended(Ending::Failed) as u64),
        ("shed", shed),
        ("messages_sent", sent),
    ];
    (table, Map::from_iter(facts.map(|(name, count)| (name.to_owned(), Value::from(count)))))
}

impl Job {
    fn drawn(chance: &mut Chance, run: usize) -> Self {
        // The remainder, as when the table was made: other jobs would be drawn by `pick`.
        let mut one_of =
            |choices: &[&str]| choices[chance.bits() as usize % choices.len()].to_owned();
        let ranks = one_of(&["2", "3", "4", "6"]).parse().expect("a number");
        let mut options: Vec<String> = Vec::new();
        let strategies = ["uniform", "spread", "push-pull", "staggered", "grid"];
        for (name, choices) in [
            ("--interval", &["0.1", "0.2", "0.5", "1"][..]),
            ("--window", &["20%", "50%", "100%"]),
            ("--entry", &["0", "64", "1024"]),
            ("--slots", &["1", "2", "8", "64"]),
            ("--strategy", &strategies),
        ] {
            options.extend([name.to_owned(), one_of(choices)]);
        }
        if one_of(&["busy", "polite"]) == "busy" {
            options.push("--busy".to_owned());
        }
        options.extend(["--warmup", "0.02", "--seconds", "0.05", "--seed"].map(str::to_owned));
        options.push((run + 1).to_string());
        Self { mpi: if run % 2 == 0 { Mpi::Open } else { Mpi::Mpich }, ranks, options }
    }

    /// Runs it; a job that hangs is ended, and has the exit status of `timeout`.
    fn run(&self) -> Output {
        let directory = place();
        let launcher = self.mpi.launcher(self.ranks, directory.path());
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", LIMIT_S]).arg(launcher.get_program());
        command.args(launcher.get_args()).arg(self.mpi.gossip()).args(&self.options);
        command.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(directory.path()).output().expect("timeout is part of coreutils")
    }
}

/// How a run ended, and its report; null without one.
fn ending_of(output: &Output) -> (Ending, Value) {
    let text = String::from_utf8_lossy(&output.stdout);
    let report = object(&text).unwrap_or(Value::Null);
    let ending = match output.status.code() {
        Some(124 | 137) => Ending::Hung,
        Some(0) if report.is_null() => Ending::Failed,
        Some(0) if report["messages_sent"] == report["messages_received"] => Ending::Conserved,
        Some(0) => Ending::NotConserved,
        _ => Ending::Failed,
    };
    (ending, report)
}
