//! Does mcphoton take as long when workers and photons grow together?
//!
//! The reference is the time of a task times the tasks a worker has: the time without any runtime.
//! What a task costs a holder that is busy is measured with tasks that do not wait.
//!
//! With `--flow` it is mcphoton as a dataflow, whose sums are tasks too.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use serde_json::{Map, Value};
use tidings_experiment::agents::median;
use tidings_studies::photons::{Cell, Form, Ran, Site};
use tidings_studies::table::{self, Made};

/// How many workers, the milliseconds of a task and the tasks a worker, and how often each.
struct Plan {
    workers: &'static [usize],
    lengths: &'static [(u64, u64)],
    repeats: usize,
    /// The tasks of a worker that do not wait.
    crowd: u64,
}

const MEASURED: Plan = Plan {
    workers: &[1, 2, 4, 8, 16, 24],
    lengths: &[(1_000, 10), (50, 200)],
    repeats: 3,
    crowd: 400,
};
const TINY: Plan = Plan { workers: &[2], lengths: &[(20, 5)], repeats: 1, crowd: 5 };

fn main() -> ExitCode {
    let is_flow = std::env::args().any(|argument| argument == "--flow");
    let (name, form) = if is_flow { ("dataflow", Form::Flow) } else { ("hosts", Form::Run) };
    table::make(name, "studies/weak-scaling/run", None, |is_measured| {
        Ok::<_, Infallible>(measure(form, if is_measured { &MEASURED } else { &TINY }))
    })
}

fn measure(form: Form, plan: &Plan) -> Made {
    let most = plan.workers.iter().copied().max().unwrap_or(1);
    let site = Site::new(most);
    let mut table = "workers,task_ms,tasks,repeat,seconds,efficiency,holder_us\n".to_owned();
    let (mut idle, mut busy) = (Vec::new(), Vec::new());
    for repeat in 1..=plan.repeats {
        for &(task_ms, each) in plan.lengths {
            for &workers in plan.workers {
                let cell = Cell::begin(&site, task_ms, 0..workers);
                if workers == most {
                    idle.push(cell.idle_us());
                }
                let tasks = workers as u64 * each;
                let Ran { seconds, holder_us } = cell.wait(cell.submit(form, tasks));
                let efficiency = (task_ms * each) as f64 / 1e3 / seconds;
                let _ = writeln!(
                    table,
                    "{workers},{task_ms},{tasks},{repeat},{seconds:.3},{efficiency:.4},{holder_us:.1}"
                );
                note(&format!("{workers} workers, {task_ms} ms: efficiency {efficiency:.3}"));
            }
        }
        let crowd = Cell::begin(&site, 0, 0..most);
        let ran = crowd.wait(crowd.submit(form, most as u64 * plan.crowd));
        note(&format!("{} us of the holder a task in {:.1} s", ran.holder_us, ran.seconds));
        busy.push(ran.holder_us);
    }
    let mut facts = Map::new();
    facts.insert("task_us".to_owned(), rounded(median(busy.into_iter())));
    facts.insert("worker_second_us".to_owned(), rounded(median(idle.into_iter())));
    facts.insert("commit_us".to_owned(), rounded(site.commit_us()));
    (table, facts)
}

fn rounded(value: f64) -> Value {
    Value::from((value * 10.0).round() / 10.0)
}

fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}"); // who does not read wants no more
}
