//! Do tasks go on when workers come and go?
//!
//! Eight workers of mcphoton do tasks of 50 ms, each on a host of its own; after a third of the
//! tasks sixteen more come, after two thirds twenty are killed at once. When tries began and ended
//! says `tidings queue trace`, in steps of a millisecond. The reference is the least time: that of
//! the tasks over the workers that are there.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tidings_studies::photons::{Cell, Form, Site};
use tidings_studies::table::{self, Made};

/// Workers at first, when there are most, and at last; tasks, and how often.
struct Plan {
    first: usize,
    most: usize,
    last: usize,
    tasks: u64,
    repeats: usize,
}

const MEASURED: Plan = Plan { first: 8, most: 24, last: 4, tasks: 3_600, repeats: 5 };
const TINY: Plan = Plan { first: 1, most: 3, last: 1, tasks: 60, repeats: 1 };

/// How long a task takes.
const TASK_MS: u64 = 50;

/// A pause between two questions how many have ended.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest that a third of the tasks takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// What tries came to.
struct Tries {
    /// When each began, in milliseconds, ascending.
    begun: Vec<u64>,
    lost: usize,
}

fn main() -> ExitCode {
    table::make("elastic", "studies/elastic/run", None, |is_measured| {
        Ok::<_, Infallible>(measure(if is_measured { &MEASURED } else { &TINY }))
    })
}

fn measure(plan: &Plan) -> Made {
    let site = Site::new(plan.most);
    let mut table = "repeat,tasks,seconds,tries,lost,killed,longest_gap_ms\n".to_owned();
    for repeat in 1..=plan.repeats {
        let mut cell = Cell::begin(&site, TASK_MS, 0..plan.first);
        let submitted = cell.submit(Form::Run, plan.tasks);
        until_ended(&cell, plan.tasks / 3);
        cell.start(plan.first..plan.most);
        until_ended(&cell, 2 * plan.tasks / 3);
        cell.kill(plan.last..plan.most);
        let seconds = cell.wait(submitted).seconds;
        let tries = tries(&cell);
        let (all, gap) = (tries.begun.len(), longest_gap(&tries.begun));
        let (lost, killed) = (tries.lost, plan.most - plan.last);
        assert_eq!(all, plan.tasks as usize + lost, "what had ended ran again");
        let _ = writeln!(table, "{repeat},{},{seconds:.3},{all},{lost},{killed},{gap}", plan.tasks);
        let line = format!("{seconds:.1} s, {lost} tries lost, longest gap {gap} ms");
        let _ = writeln!(std::io::stderr(), "{line}"); // who does not read wants no more
    }
    (table, Map::new())
}

/// Waits until so many tasks of photons have ended.
fn until_ended(cell: &Cell<'_>, tasks: u64) {
    let begun = Instant::now();
    loop {
        let listed = cell.listed();
        if listed["done"].as_u64() >= Some(tasks) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "tasks do not end: {listed}");
        thread::sleep(PAUSE);
    }
}

/// The tries of all tasks, as the records have them.
fn tries(cell: &Cell<'_>) -> Tries {
    let trace = cell.tidings(&["queue", "trace", "mcphoton"]).output().expect("iproute2 is there");
    let trace: Value = serde_json::from_slice(&trace.stdout).expect("a trace is JSON");
    let events = trace["traceEvents"].as_array().expect("a trace has events").iter();
    let slices: Vec<&Value> = events.filter(|event| event["ph"] == "X").collect();
    let mut begun: Vec<u64> =
        slices.iter().filter_map(|slice| slice["ts"].as_u64()).map(|us| us / 1_000).collect();
    begun.sort_unstable();
    let lost = slices.iter().filter(|slice| slice["args"]["outcome"] == "lost").count();
    Tries { begun, lost }
}

/// The longest time in which no try began.
fn longest_gap(begun: &[u64]) -> u64 {
    begun.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}
