//! Does a gossip process over MPI keep up among thousands of nodes, and if not, what does it do?
//!
//! The paper's largest and fastest (ROSS'14, section 5.3: 8,192 nodes, entries of 1 KiB, one of the
//! shortest intervals) needs more than a core of its machine has, and its runs were aborted. Here
//! one rank gossips on a core, and a second plays the 8,191 others (`mpi/gossip/crowd.h`): it sends
//! a window that is news from end to end each unit, as far as it can itself. Asked: the process
//! does every round, or passes rounds over and drops messages, and counts both; it ends, and as
//! many messages were received as were sent.
//!
//! The reference is what was due: rounds done and messages taken in, as shares of the units that
//! passed. `run thousands` measures; without `--bench` one short run keeps it from rotting.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use serde_json::{Map, Value};
use tidings_experiment::mpi::{Mpi, done, object, place};
use tidings_studies::table::{self, Made};

const NODES: u32 = 8192;
const PAYLOADS: [u16; 2] = [1024, 64];
const INTERVALS_MS: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// Runs of each setting; the table has all.
const RUNS: u64 = 2;
const SECONDS: f64 = 3.0;

/// What is taken from the report of a run.
const COUNTED: [&str; 9] = [
    "rounds",
    "rounds_skipped",
    "busy_share",
    "age_avg_units",
    "messages_sent",
    "messages_received",
    "messages_dropped",
    "crowd_messages_sent",
    "crowd_messages_dropped",
];

/// What a run is to do.
#[derive(Clone, Copy)]
struct Setting {
    mpi: Mpi,
    payload_bytes: u16,
    interval_ms: f64,
    seconds: f64,
    seed: u64,
}

fn main() -> ExitCode {
    table::make("thousands", "studies/mpi-gossip/run thousands", Some(1), |is_measured| {
        if is_measured { all() } else { measured_lines(&[SHORT]) }
    })
}

/// One run that is not worth a figure.
const SHORT: Setting =
    Setting { mpi: Mpi::Mpich, payload_bytes: 64, interval_ms: 16.0, seconds: 0.2, seed: 1 };

fn all() -> Result<Made, String> {
    let mut settings = Vec::new();
    for payload_bytes in PAYLOADS {
        for interval_ms in INTERVALS_MS {
            for seed in 1..=RUNS {
                for mpi in [Mpi::Mpich, Mpi::Open] {
                    let seconds = SECONDS;
                    settings.push(Setting { mpi, payload_bytes, interval_ms, seconds, seed });
                }
            }
        }
    }
    measured_lines(&settings)
}

fn measured_lines(settings: &[Setting]) -> Result<Made, String> {
    let columns = COUNTED.join(",");
    let mut table = format!(
        "mpi,nodes,payload_bytes,interval_ms,seconds,run,{columns},rounds_share,taken_share\n"
    );
    for setting in settings {
        let report = run(*setting)?;
        let number = |name: &str| report[name].as_f64().unwrap_or(f64::NAN);
        if report["messages_sent"] != report["messages_received"] {
            return Err(format!("messages are not conserved: {report}"));
        }
        let due = number("rounds") + number("rounds_skipped");
        let counted = COUNTED.map(|name| report[name].to_string()).join(",");
        let _ = writeln!(
            table,
            "{},{NODES},{},{},{},{},{counted},{:.4},{:.4}",
            setting.mpi.name(),
            setting.payload_bytes,
            setting.interval_ms,
            setting.seconds,
            setting.seed,
            number("rounds") / due,
            number("crowd_messages_sent") / due,
        );
        let _ = writeln!(std::io::stderr(), "{}", table.lines().next_back().unwrap_or(""));
    }
    Ok((table, Map::new()))
}

/// Runs a setting; the report that it prints.
fn run(setting: Setting) -> Result<Value, String> {
    let directory = place();
    let mut command = setting.mpi.launcher(2, directory.path());
    command.arg(setting.mpi.gossip()).args(["--busy", "--window", "20%", "--warmup", "1"]);
    for (name, value) in [
        ("--nodes", NODES.to_string()),
        ("--entry", setting.payload_bytes.to_string()),
        ("--interval", setting.interval_ms.to_string()),
        ("--seconds", setting.seconds.to_string()),
        ("--seed", setting.seed.to_string()),
    ] {
        command.arg(name).arg(value);
    }
    let text = done(&mut command);
    object(&text).ok_or_else(|| format!("no report: {text}"))
}
