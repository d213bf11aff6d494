//! `tidings sim colonies`: up to a million nodes in colonies, on all processors.
//!
//! Colonies are independent pieces of work (`tidings_sim::colonies`): each processor takes the next
//! one, and the results are added up in whole numbers, so the report does not depend on which
//! thread ran which colony. With `--output` the cases of studies/colonies/README.md are run one
//! after the other, and their table is written: with `--death-after` those of its table of deaths.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use serde_json::Map;
use tidings_sim::colonies::World;
use tidings_sim::colonies::report::{ColoniesReport, DeathsReport};
use tidings_sim::colonies::scenario::ColoniesScenario;
use tidings_sim::colonies::tally::Outcome;
use tidings_sim::{Mode, ScenarioError, Span, Window};

use super::failure::SimulationError;
use super::overrule::{mode, set};
use super::table::{place_of, print_or_write};
use super::watch::{Stop, Watch, say};
use crate::{Failure, output};

/// Outages that are printed before a run, at most.
const OUTAGES_SHOWN: usize = 1_000;
/// Numbers of nodes in the tables.
const SIZES: [u32; 3] = [10_000, 100_000, 1_000_000];

/// Options of `tidings sim colonies`.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Options {
    /// compact: tables of creation times, one colony at a time; full: every node runs the core
    /// [default: compact]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<Mode>,
    /// Nodes in all [default: 10000]
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Nodes per colony, about [default: the number with the youngest aggregates]
    #[arg(long, value_name = "N")]
    colony_nodes: Option<u32>,
    /// Units of time that are measured [default: 50]
    #[arg(long, value_name = "N")]
    units: Option<u32>,
    /// Units of time before the first sample [default: 60]
    #[arg(long, value_name = "N")]
    warmup: Option<u32>,
    /// Per cent of the nodes that crash in a minute, and restart empty [default: 0]
    #[arg(long, value_name = "PERCENT")]
    churn: Option<f64>,
    /// Units until a crashed node restarts [default: 64]
    #[arg(long, value_name = "UNITS")]
    down_units: Option<f64>,
    /// Time without proof of life after which a node is declared dead; 0: no node ever is
    /// [default: 0]
    #[arg(long, value_name = "TIME")]
    death_after: Option<Span>,
    /// Probability that a datagram is lost [default: 0]
    #[arg(long, value_name = "P")]
    loss: Option<f64>,
    /// What a node may send per unit: the bytes of this many entries [default: 204]
    #[arg(long, value_name = "SHARE")]
    window: Option<Window>,
    /// The unit of time [default: 256ms]
    #[arg(long, value_name = "TIME")]
    interval: Option<Span>,
    /// Bytes of payload in an entry [default: 64]
    #[arg(long, value_name = "BYTES")]
    payload_bytes: Option<u16>,
    /// Largest IP packet that passes, in bytes [default: 1428]
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u16>,
    /// Versions of the datagrams' format that nodes write, in turn; full mode alone [default: 1]
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    wire_versions: Option<Vec<u8>>,
    /// Per cent of the nodes that say other readings in a unit; full mode alone [default: 0]
    #[arg(long, value_name = "PERCENT")]
    news: Option<f64>,
    /// The memory limit of a run, in MiB [default: 8192]
    #[arg(long, value_name = "MIB")]
    memory_limit: Option<u64>,
    /// The random seed of everything random [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the figures as one JSON object
    #[arg(long, conflicts_with = "output")]
    json: bool,
    /// Run 10⁴, 10⁵ and 10⁶ nodes: without faults, with churn, with loss; write colonies.csv and
    /// colonies.manifest.json into this folder. With --death-after: with churn, without loss and
    /// with it; write deaths.csv and deaths.manifest.json
    #[arg(long, value_name = "DIR", conflicts_with_all = ["nodes", "churn", "loss"])]
    output: Option<PathBuf>,
    /// With --output: omit larger clusters
    #[arg(long, value_name = "N", requires = "output")]
    nodes_max: Option<u32>,
}

/// Runs one case, or all of the table.
pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::at_signals().map_err(SimulationError::Signals)?;
    if let Some(folder) = &options.output {
        return table_of(options, folder, &stop);
    }
    let report = simulate(&options.scenario(), &stop)?;
    if options.json {
        output::print_json(&report)?;
    } else {
        output::print(&lines(&report))?;
    }
    finished(&report)
}

/// An error if the run was stopped.
fn finished(report: &ColoniesReport) -> Result<(), Failure> {
    if report.complete {
        return Ok(());
    }
    let (measured, units) = (report.colonies_simulated, report.colonies);
    Err(SimulationError::StoppedColonies { measured, colonies: units }.into())
}

impl Options {
    fn scenario(&self) -> ColoniesScenario {
        let mut scenario = ColoniesScenario::default();
        set(&mut scenario.mode, self.mode);
        set(&mut scenario.nodes, self.nodes);
        set(&mut scenario.colony_nodes, self.colony_nodes);
        set(&mut scenario.units, self.units);
        set(&mut scenario.warmup_units, self.warmup);
        set(&mut scenario.churn_percent_per_minute, self.churn);
        set(&mut scenario.down_units, self.down_units);
        set(&mut scenario.death_after, self.death_after);
        set(&mut scenario.loss, self.loss);
        set(&mut scenario.window, self.window);
        set(&mut scenario.interval, self.interval);
        set(&mut scenario.payload_bytes, self.payload_bytes);
        set(&mut scenario.mtu_bytes, self.mtu);
        if let Some(versions) = &self.wire_versions {
            scenario.wire_versions.clone_from(versions);
        }
        set(&mut scenario.news_percent, self.news);
        set(&mut scenario.memory_limit_mib, self.memory_limit);
        set(&mut scenario.seed, self.seed);
        scenario.threads = processors() as u32;
        scenario
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Checks a scenario, prints what will run, and runs it.
fn simulate(scenario: &ColoniesScenario, stop: &Stop) -> Result<ColoniesReport, SimulationError> {
    let start = Instant::now();
    let world = World::of(scenario)?;
    announce(&world);
    let outcome = add_up(&world, stop)?;
    let mut report = world.report(&outcome);
    report.wall_s = Some(start.elapsed().as_secs_f64());
    Ok(report)
}

/// Simulates all pieces on all processors; fewer are added up if it is stopped.
fn add_up(world: &World, stop: &Stop) -> Result<Outcome, ScenarioError> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Watch::of(stop), Outcome::default(), 0));
    let worker = || -> Result<(), ScenarioError> {
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= world.pieces() || stop.is_set() {
                return Ok(());
            }
            let Some(outcome) = world.simulate(piece, &mut || stop.verdict())? else {
                return Ok(());
            };
            let mut done = done.lock().expect("no worker panics while it holds the lock");
            let (watch, sum, count) = &mut *done;
            sum.merge(&outcome, piece);
            *count += 1;
            let _: ControlFlow<()> = watch.unit(*count, world.pieces() as u32);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors()).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        ends.collect::<Result<(), ScenarioError>>()
    })?;
    let (mut watch, outcome, _) = done.into_inner().expect("no worker panics");
    watch.end();
    Ok(outcome)
}

/// Prints what will run: the random seed, the parameters, and all random draws.
fn announce(world: &World) {
    let scenario = world.scenario();
    let parameters = serde_json::to_string(scenario).unwrap_or_default();
    let mib = scenario.memory_bytes().div_ceil(1 << 20);
    let uptime = world.uptime();
    let crashes = uptime.outages().len();
    say(&format!(
        "seed {}\nparameters {parameters}\nmemory about {mib} MiB\n{} colonies, {crashes} crashes",
        scenario.seed,
        world.colonies()
    ));
    if crashes <= OUTAGES_SHOWN {
        say(&uptime.to_string());
    }
}

/// The report for people: one line per figure.
fn lines(report: &ColoniesReport) -> String {
    let units = |figure: Option<f64>| {
        figure.map_or("-".to_owned(), |figure| format!("{figure:.3} units of time"))
    };
    let rounded = |figure: Option<f64>| figure.map_or("-".to_owned(), |f| format!("{f:.0}"));
    let lines = [
        ("colonies", format!("{} of about {} nodes", report.colonies, report.colony_nodes)),
        ("entries, average age", units(report.age_avg_units)),
        ("entries, 99 %", units(report.age_p99_units)),
        ("entries, oldest", units(report.age_max_units)),
        ("aggregates, average age", units(report.aggregate_age_avg_units)),
        ("aggregates, 99 %", units(report.aggregate_age_p99_units)),
        ("aggregates, oldest", units(report.aggregate_age_max_units)),
        ("aggregates, greatest", units(report.aggregate_age_highest_units)),
        ("pairs never heard of", report.never_heard_pairs.to_string()),
        ("aggregates lacking", report.lacking_aggregates.to_string()),
        ("bytes a node a unit", rounded(report.node_unit_bytes)),
        ("of at most", report.node_unit_bytes_allowed.to_string()),
        ("datagrams a node a unit", rounded(report.node_unit_datagrams)),
        ("memory of a node", format!("{} bytes", report.node_memory_bytes)),
        ("crashes", report.crashes.to_string()),
    ];
    let last = [
        ("trace hash", report.trace_hash.clone()),
        ("took", format!("{:.2} s", report.wall_s.unwrap_or_default())),
    ];
    let deaths = report.deaths.iter().flat_map(deaths_lines);
    let mut text = String::new();
    for (name, value) in lines.into_iter().chain(deaths).chain(last) {
        let _ = writeln!(text, "{name:<26}{value}");
    }
    text
}

/// What became known of deaths, one line per figure.
fn deaths_lines(deaths: &DeathsReport) -> [(&'static str, String); 7] {
    let units = |figure: Option<f64>| {
        figure.map_or("-".to_owned(), |figure| format!("{figure:.3} units of time"))
    };
    let open = match deaths.open_longest_units {
        Some(longest) => format!("{}, the first since {longest:.1} units of time", deaths.open),
        None => "0".to_owned(),
    };
    [
        ("measured crashes", deaths.crashes.to_string()),
        ("known to all, average", units(deaths.all_avg_units)),
        ("known to all, 99 %", units(deaths.all_p99_units)),
        ("known to all, greatest", units(deaths.all_highest_units)),
        ("missed until the restart", deaths.missed.to_string()),
        ("not known at the end", open),
        ("false deaths", deaths.mistaken.to_string()),
    ]
}

/// A table: its name, its cases of churn and loss, and how it is written.
struct Cases {
    name: &'static str,
    disturbances: &'static [(f64, f64)],
    head: &'static str,
    row: fn(&ColoniesReport) -> String,
}

/// Ages and bytes.
const AGES: Cases = Cases {
    name: "colonies",
    disturbances: &[(0.0, 0.0), (1.0, 0.0), (0.0, 0.1)],
    head: CSV_HEAD,
    row: csv_row,
};

/// How soon deaths are known.
const DEATHS: Cases = Cases {
    name: "deaths",
    disturbances: &[(1.0, 0.0), (1.0, 0.1)],
    head: DEATHS_HEAD,
    row: deaths_row,
};

/// Runs all cases and writes the table with its manifest.
fn table_of(options: &Options, folder: &Path, stop: &Stop) -> Result<(), Failure> {
    let scenario = options.scenario();
    let Cases { name, disturbances, head, row } =
        if scenario.death_after.is_zero() { AGES } else { DEATHS };
    let place = place_of(Some(folder), name, scenario.seed)?;
    let mut table = String::from(head);
    let most = options.nodes_max.unwrap_or(u32::MAX);
    for nodes in SIZES.into_iter().filter(|&nodes| nodes <= most) {
        for &(churn, loss) in disturbances {
            let mut scenario = options.scenario();
            scenario.nodes = nodes;
            (scenario.churn_percent_per_minute, scenario.loss) = (churn, loss);
            let report = simulate(&scenario, stop)?;
            finished(&report)?;
            let row = row(&report);
            say(&row);
            table.push_str(&row);
        }
    }
    print_or_write(place, &table, &Map::new())
}

const CSV_HEAD: &str = "nodes,churn_percent_per_minute,loss,colonies,colony_nodes,\
age_avg_units,age_p99_units,age_max_units,aggregate_age_avg_units,aggregate_age_p99_units,\
aggregate_age_max_units,aggregate_age_highest_units,never_heard_pairs,lacking_aggregates,\
node_unit_bytes,node_unit_bytes_most,node_unit_bytes_allowed,node_unit_datagrams,\
aggregate_bytes,node_memory_bytes,crashes,wall_s,trace_hash\n";

fn csv_row(report: &ColoniesReport) -> String {
    let parameters = &report.parameters;
    let figure = |figure: Option<f64>| figure.map_or(String::new(), |f| format!("{f:.3}"));
    let columns = [
        parameters.nodes.to_string(),
        parameters.churn_percent_per_minute.to_string(),
        parameters.loss.to_string(),
        report.colonies.to_string(),
        report.colony_nodes.to_string(),
        figure(report.age_avg_units),
        figure(report.age_p99_units),
        figure(report.age_max_units),
        figure(report.aggregate_age_avg_units),
        figure(report.aggregate_age_p99_units),
        figure(report.aggregate_age_max_units),
        figure(report.aggregate_age_highest_units),
        report.never_heard_pairs.to_string(),
        report.lacking_aggregates.to_string(),
        figure(report.node_unit_bytes),
        figure(Some(report.node_unit_bytes_most)),
        report.node_unit_bytes_allowed.to_string(),
        figure(report.node_unit_datagrams),
        figure(report.aggregate_bytes),
        report.node_memory_bytes.to_string(),
        report.crashes.to_string(),
        figure(report.wall_s),
        report.trace_hash.clone(),
    ];
    columns.join(",") + "\n"
}

const DEATHS_HEAD: &str = "nodes,churn_percent_per_minute,loss,death_after,colonies,colony_nodes,\
crashes,half_avg_units,all_avg_units,all_p99_units,all_highest_units,missed,open,\
open_longest_units,mistaken,suspicions,probes,age_avg_units,aggregate_age_avg_units,\
node_unit_bytes,node_unit_datagrams,wall_s,trace_hash\n";

fn deaths_row(report: &ColoniesReport) -> String {
    let parameters = &report.parameters;
    let figure = |figure: Option<f64>| figure.map_or(String::new(), |f| format!("{f:.3}"));
    let deaths = report.deaths.as_ref();
    let units = |of: fn(&DeathsReport) -> Option<f64>| figure(deaths.and_then(of));
    let count = |of: fn(&DeathsReport) -> u64| deaths.map_or(0, of).to_string();
    let columns = [
        parameters.nodes.to_string(),
        parameters.churn_percent_per_minute.to_string(),
        parameters.loss.to_string(),
        parameters.death_after.to_string(),
        report.colonies.to_string(),
        report.colony_nodes.to_string(),
        count(|deaths| deaths.crashes),
        units(|deaths| deaths.half_avg_units),
        units(|deaths| deaths.all_avg_units),
        units(|deaths| deaths.all_p99_units),
        units(|deaths| deaths.all_highest_units),
        count(|deaths| deaths.missed),
        count(|deaths| deaths.open),
        units(|deaths| deaths.open_longest_units),
        count(|deaths| deaths.mistaken),
        count(|deaths| deaths.suspicions),
        count(|deaths| deaths.probes),
        figure(report.age_avg_units),
        figure(report.aggregate_age_avg_units),
        figure(report.node_unit_bytes),
        figure(report.node_unit_datagrams),
        figure(report.wall_s),
        report.trace_hash.clone(),
    ];
    columns.join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> ColoniesScenario {
        let nodes = 600;
        let (colony_nodes, units, warmup_units) = (100, 3, 8);
        ColoniesScenario { nodes, colony_nodes, units, warmup_units, ..Default::default() }
    }

    #[test]
    fn every_figure_has_its_line_and_its_column() {
        let stop = Stop::at_signals().expect("signals can be caught");
        let report = simulate(&small(), &stop).expect("possible");
        assert_eq!(lines(&report).lines().count(), 17);
        let columns = |text: &str| text.trim_end().split(',').count();
        assert_eq!(columns(CSV_HEAD), columns(&csv_row(&report)));
        assert_eq!(columns(DEATHS_HEAD), columns(&deaths_row(&report)));
        let death_after = Span::from_micros(2_500_000);
        let report = simulate(&ColoniesScenario { death_after, ..small() }, &stop);
        let report = report.expect("possible");
        assert_eq!(lines(&report).lines().count(), 24);
        assert_eq!(columns(DEATHS_HEAD), columns(&deaths_row(&report)));
        finished(&report).expect("it was not stopped");
    }

    #[test]
    fn the_report_does_not_depend_on_the_order_of_colonies() {
        let stop = Stop::at_signals().expect("signals can be caught");
        let world = World::of(&small()).expect("possible");
        let shared = add_up(&world, &stop).expect("possible");
        let mut alone = Outcome::default();
        for piece in (0..world.pieces()).rev() {
            let go_on = &mut || ControlFlow::Continue(());
            let outcome = world.simulate(piece, go_on).expect("possible").expect("to the end");
            alone.merge(&outcome, piece);
        }
        assert_eq!(shared, alone);
    }
}
