//! One run of the simulator: a line of JSON for each iteration.
//!
//! ```text
//! cargo run --release -p tidings-steal-sim --example steal -- \
//!     program=like policy=known workers=1024 unit_us=10000 seed=1
//! ```
//!
//! | argument | what it says | otherwise |
//! |---|---|---|
//! | `program` | `like`, `uneven` (made, like SCF), `scf-line`, `scf-box` (64 atoms), `tce`, or a tree as `T1` | `like` |
//! | `order` | of lists: `list`, or tasks that divide it, `help-first` or `work-first` | `list` |
//! | `policy` | `random`, `nearest`, `lifelines`, `known`; `persistence`: a balancer before it | `known` |
//! | `workers`, `seed`, `iterations` | numbers | 1024, 1, 1 |
//! | `tasks`, `mean_us` | of `like`: tasks a worker, and what one takes on average | 1000, 4400 |
//! | `node_us` | of trees: what a node takes | 20 |
//! | `unit_us` | the unit of the gossip; 0: no board | 10000 for `known`, else 0 |
//! | `retain` | `yes`: begin with what each ran before | `no` |
//! | `half` | `work` or `count` | `work` |
//! | `slow` | one in this many workers at half speed | 0 |
//! | `trace` | a file for the trace of the first iteration | none |
//! | `replay` | a file with a trace that the first iteration follows | none |
//! | `between` | `yes`: workers look for messages between tasks only | `no` |
//! | `latency_us` | what a message takes one way | 10 |
//! | `noise`, `drift` | how much costs change between iterations | 0.1, 0.01 |

#![allow(clippy::disallowed_methods, reason = "a program may read and write files")]

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

use tidings_applications::Application as _;
use tidings_applications::uneven::Uneven;
use tidings_applications::uts::trees::named;
use tidings_primitives::chance::mix;
use tidings_steal::queue::Half;
use tidings_steal::trace::File;
use tidings_steal::victims::BackOff;
use tidings_steal::{Config, Script, Selection, config};
use tidings_steal_sim::programs::divided::{Divided, Order};
use tidings_steal_sim::programs::listed::{Listed, like_scf, scf, tce};
use tidings_steal_sim::programs::trees::Search;
use tidings_steal_sim::{Iteration, Setting, persistence, run};

/// A request and its answer, with what handling them takes.
const ROUND_TRIP_US: u64 = 22;

/// The policy that begins an iteration with what a balancer makes of the last.
const PERSISTENCE: &str = "persistence";

struct Arguments(BTreeMap<String, String>);

impl Arguments {
    fn text(&self, name: &str, otherwise: &str) -> String {
        self.0.get(name).map_or(otherwise, String::as_str).to_owned()
    }

    fn number<T: std::str::FromStr>(&self, name: &str, otherwise: T) -> Result<T, String> {
        let Some(text) = self.0.get(name) else { return Ok(otherwise) };
        text.parse().map_err(|_| format!("{name}={text} is no number that fits"))
    }
}

fn selection(policy: &str) -> Result<Selection, String> {
    let back_off = BackOff { first_us: ROUND_TRIP_US, most_us: 16 * ROUND_TRIP_US };
    match policy {
        "random" => Ok(config::random(ROUND_TRIP_US)),
        "nearest" => Ok(Selection::Nearest(back_off)),
        "lifelines" => Ok(config::lifelines()),
        "known" | PERSISTENCE => Ok(config::known(ROUND_TRIP_US)),
        other => {
            Err(format!("policy={other}: say random, nearest, lifelines, known or {PERSISTENCE}"))
        }
    }
}

fn setting(arguments: &Arguments, policy: &str) -> Result<Setting, String> {
    let mut config = Config::new(selection(policy)?, ROUND_TRIP_US);
    config.retain = arguments.text("retain", "no") == "yes";
    if arguments.text("half", "work") == "count" {
        config.sharing.half = Half::Count;
    }
    let has_board = ["known", PERSISTENCE].contains(&policy);
    let unit_us = arguments.number("unit_us", if has_board { 10_000 } else { 0 })?;
    let setting = Setting::new(arguments.number("workers", 1024)?, config, 0);
    Ok(Setting {
        seed: arguments.number("seed", 1)?,
        iterations: arguments.number("iterations", 1)?,
        unit_ns: 1000 * unit_us,
        between_tasks: arguments.text("between", "no") == "yes",
        slow_one_in: arguments.number("slow", 0)?,
        latency_ns: 1000 * arguments.number("latency_us", 10)?,
        ..setting
    })
}

/// What the entries of a list take, if that is the program.
fn costs(
    program: &str,
    arguments: &Arguments,
    setting: &Setting,
) -> Result<Option<Vec<u64>>, String> {
    let (workers, seed) = (setting.workers, setting.seed);
    Ok(Some(match program {
        "like" => {
            let mean_us: u64 = arguments.number("mean_us", 4400)?;
            like_scf(workers, arguments.number("tasks", 1000)?, 1000 * mean_us, seed)
        }
        "uneven" => {
            let tasks = workers * arguments.number("tasks", 1000)?;
            (0..tasks).map(|task| Uneven(tasks).cost(&task)).collect()
        }
        "scf-line" => scf([64, 1, 1]),
        "scf-box" => scf([4, 4, 4]),
        "tce" => tce(24, 12, seed),
        _ => return Ok(None),
    }))
}

/// An iteration, and how many tasks a balancer moved before it.
type Report = (Iteration, usize);

fn unbalanced(iterations: Vec<Iteration>) -> Vec<Report> {
    iterations.into_iter().map(|iteration| (iteration, 0)).collect()
}

/// The iterations of a list, and how much its blocks differ.
fn iterate(
    costs: Vec<u64>,
    arguments: &Arguments,
    setting: &Setting,
    balances: bool,
) -> Result<(Vec<Report>, f64), String> {
    let (noise, drift) = (arguments.number("noise", 0.1)?, arguments.number("drift", 0.01)?);
    let order = arguments.text("order", "list");
    let policy = match order.as_str() {
        "help-first" => Some(Order::HelpFirst),
        "work-first" => Some(Order::WorkFirst),
        "list" => None,
        other => return Err(format!("order={other}: say list, help-first or work-first")),
    };
    let divided = policy.map(|policy| Divided::new(&costs, setting.workers, policy));
    let mut list = Listed::in_blocks(costs, setting.workers).changing(noise, drift);
    let imbalance = list.imbalance();
    let iterations = match divided {
        Some(_) if balances => return Err(format!("policy={PERSISTENCE} is for order=list")),
        None if balances => persistence::iterations(setting, list),
        Some(mut divided) => unbalanced(run(setting, &mut divided)),
        None => unbalanced(run(setting, &mut list)),
    };
    Ok((iterations, imbalance))
}

/// What the workers do again, if anything.
fn scripts(arguments: &Arguments, setting: &Setting, traced: u64) -> Result<Vec<Script>, String> {
    let Some(path) = arguments.0.get("replay") else { return Ok(Vec::new()) };
    let bytes = fs::read(path).map_err(|error| format!("replay={path}: {error}"))?;
    File::scripts(&bytes, traced, setting.workers).map_err(|error| format!("{path}: {error}"))
}

fn simulate(arguments: &Arguments) -> Result<(), String> {
    let (program, policy) = (arguments.text("program", "like"), arguments.text("policy", "known"));
    let setting = setting(arguments, &policy)?;
    let traced = mix(program.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte))));
    let setting = Setting { scripts: scripts(arguments, &setting, traced)?, ..setting };
    let costs = costs(&program, arguments, &setting)?;
    let balances = policy == PERSISTENCE;
    let (iterations, imbalance) = if let Some(costs) = costs {
        iterate(costs, arguments, &setting, balances)?
    } else if balances {
        return Err(format!("policy={PERSISTENCE} is for lists: {program} has none"));
    } else {
        let tree = named(&program).ok_or(format!("program={program} is unknown"))?;
        let node_us: i64 = arguments.number("node_us", 20)?;
        let mut search = Search::new(tree.tree, 1000 * node_us);
        (unbalanced(run(&setting, &mut search)), f64::from(setting.workers))
    };
    if let Some(diverged) = iterations.first().and_then(|(first, _)| first.diverged) {
        return Err(diverged.to_string());
    }
    if let (Some(path), Some((first, _))) = (arguments.0.get("trace"), iterations.first()) {
        let file = File { program: traced, traces: first.traces.clone() };
        fs::write(path, file.encode()).map_err(|error| format!("trace={path}: {error}"))?;
    }
    for (number, iteration) in (1..).zip(&iterations) {
        print(&program, &policy, &setting, imbalance, number, iteration);
    }
    Ok(())
}

fn print(
    program: &str,
    policy: &str,
    setting: &Setting,
    imbalance: f64,
    number: u32,
    (iteration, balanced): &Report,
) {
    println!(
        "{{\"program\":\"{program}\",\"policy\":\"{policy}\",\"workers\":{},\"seed\":{},\
         \"unit_ns\":{},\"slow_one_in\":{},\"retain\":{},\"imbalance\":{imbalance:.3},\
         \"iteration\":{number},\"balanced\":{balanced},{}}}",
        setting.workers,
        setting.seed,
        setting.unit_ns,
        setting.slow_one_in,
        setting.config.retain,
        iteration.json_fields()
    );
}

fn main() -> ExitCode {
    let pairs = std::env::args().skip(1).map(|argument| {
        let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
        (name.to_owned(), value.to_owned())
    });
    match simulate(&Arguments(pairs.collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
