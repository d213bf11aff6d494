//! The whole comparison: every peer at the same work, three times each, never two at once.
//!
//! Writes `peers.csv`, or a table of another name, one row for each peer, setting and number of
//! nodes, and its manifest, which says how it came about. A value is the median of the runs; of the
//! average age the least and the most are told too.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use clap::{Parser, ValueEnum};
use serde_json::Map;
use tidings_experiment::manifest::{Seed, Table, command_line, first_line};
use tidings_peers::report::Report;

/// Versions of the peers, from what pins them.
const CARGO_LOCK: &str = include_str!("../../Cargo.lock");
const GO_MOD: &str = include_str!("../../memberlist/go.mod");

/// Runs all peers and writes the table.
#[derive(Parser)]
#[command(args_override_self = true)]
struct Invocation {
    /// Where the table is written.
    #[arg(long, default_value = "studies/peers")]
    output: PathBuf,
    /// The name of the table.
    #[arg(long, default_value = "peers")]
    name: String,
    /// Numbers of nodes.
    #[arg(long, value_delimiter = ',', default_values_t = [64, 128])]
    nodes: Vec<usize>,
    /// Runs of each, with seeds from 1.
    #[arg(long, default_value_t = 3)]
    runs: u64,
    /// Peers to run.
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = ALL)]
    peers: Vec<Peer>,
    /// Strategies and windows of tidings; `:readings`: nodes say recorded ones, by version 3.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "STRATEGY:WINDOW[:readings]",
        default_values_t = SETTINGS.map(String::from)
    )]
    tidings: Vec<String>,
    /// How long a run warms up.
    #[arg(long, default_value = "7s")]
    warmup: String,
    /// How long a run is measured.
    #[arg(long, default_value = "9s")]
    measure: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Peer {
    Chitchat,
    Memberlist,
    Foca,
    Tidings,
}

/// What tidings runs with.
const SETTINGS: [&str; 4] = ["uniform:20%", "grid:100%", "grid:80%", "grid:50%"];

const ALL: [Peer; 4] = [Peer::Chitchat, Peer::Memberlist, Peer::Foca, Peer::Tidings];

fn main() -> anyhow::Result<()> {
    let invocation = Invocation::parse();
    let place = announced(&invocation)?;
    let bench = std::env::current_exe()?;
    let programs = bench.parent().context("the program lies in a folder")?;
    let (mut rows, mut loads) = (Vec::new(), Vec::<f64>::new());
    for program in programs_of(&invocation)? {
        for &nodes in &invocation.nodes {
            let reports = runs(programs, &program, nodes, &invocation)?;
            loads.extend(reports.iter().map(|report| report.load_1m));
            rows.push(row(&reports));
            if reports[0].peer == "tidings" {
                rows.push(bare(programs, &reports, &invocation)?);
            }
        }
    }
    let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let most = loads.iter().copied().fold(0.0, f64::max);
    let facts = [("load_1m_least", least), ("load_1m_most", most)];
    let facts = facts.map(|(name, load)| (name.to_owned(), load.into()));
    place.write(&table(&rows), &Map::from_iter(facts))?;
    Ok(())
}

/// The command lines that the comparison consists of.
fn programs_of(invocation: &Invocation) -> anyhow::Result<Vec<Vec<String>>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut add = |words: &[&str]| all.push(words.iter().map(ToString::to_string).collect());
    for peer in &invocation.peers {
        match peer {
            Peer::Chitchat => {
                add(&["chitchat", "--protocol", "v1"]);
                add(&["chitchat", "--protocol", "v0"]);
            }
            Peer::Memberlist => {
                add(&["memberlist"]);
                add(&["memberlist", "--metadata"]);
            }
            Peer::Foca => add(&["foca"]),
            Peer::Tidings => {
                for setting in &invocation.tidings {
                    let words: Vec<&str> = setting.split(':').collect();
                    let mut program = vec!["tidings", "--strategy"];
                    match words[..] {
                        [strategy, window] => program.extend([strategy, "--window", window]),
                        [strategy, window, "readings"] => {
                            program.extend([strategy, "--window", window, "--readings"]);
                            program.extend(["--wire-version", "3"]);
                        }
                        _ => bail!("--tidings takes STRATEGY:WINDOW or STRATEGY:WINDOW:readings"),
                    }
                    add(&program);
                }
            }
        }
    }
    Ok(all)
}

/// All runs of one program.
fn runs(
    programs: &Path,
    program: &[String],
    nodes: usize,
    invocation: &Invocation,
) -> anyhow::Result<Vec<Report>> {
    let one = |seed| {
        let report = run(programs, program, nodes, seed, invocation)?;
        eprintln!(
            "{:<10} {:<20} {nodes:>4} nodes: {:.2} units, {:.1} kB/s, {:.5} CPU, load {}",
            report.peer,
            report.variant,
            report.age_avg_units,
            report.bytes_per_node_s / 1e3,
            report.cpu_s_per_node_s,
            report.load_1m
        );
        Ok(report)
    };
    (1..=invocation.runs).map(one).collect()
}

/// What as many datagrams of the same size cost, right after those that they are set beside.
fn bare(programs: &Path, beside: &[Report], invocation: &Invocation) -> anyhow::Result<Row> {
    let first = &beside[0];
    let datagrams = first.datagrams_per_node_s * first.interval_ms / 1e3;
    let bytes = first.bytes_per_node_s / first.datagrams_per_node_s;
    let (datagrams, bytes) = (format!("{datagrams:.1}"), format!("{bytes:.0}"));
    let program = ["bare", "--datagrams", &datagrams, "--bytes", &bytes].map(String::from);
    Ok(row(&runs(programs, &program, first.nodes, invocation)?))
}

/// One run of one program.
fn run(
    programs: &Path,
    program: &[String],
    nodes: usize,
    seed: u64,
    invocation: &Invocation,
) -> anyhow::Result<Report> {
    let (nodes, seed) = (nodes.to_string(), seed.to_string());
    let mut command = Command::new(programs.join(&program[0]));
    command.args(&program[1..]).args(["--nodes", &nodes, "--seed", &seed]);
    command.args(["--warmup", &invocation.warmup, "--measure", &invocation.measure]);
    let output = command.output().with_context(|| format!("{} does not start", program[0]))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {complaint}", program.join(" "));
    serde_json::from_slice(&output.stdout).with_context(|| program.join(" "))
}

/// A row of the table: its columns by name, in their order.
type Row = Vec<(&'static str, String)>;

fn row(reports: &[Report]) -> Row {
    let of = |value: fn(&Report) -> f64| {
        let mut values: Vec<f64> = reports.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let median = |value| {
        let values = of(value);
        values[values.len() / 2]
    };
    let averages = of(|run| run.age_avg_units);
    let (least, most) = (averages[0], averages[averages.len() - 1]);
    let first = &reports[0];
    vec![
        ("peer", first.peer.clone()),
        ("variant", first.variant.clone()),
        ("nodes", first.nodes.to_string()),
        ("runs", reports.len().to_string()),
        ("age_avg_units", format!("{:.3}", median(|run| run.age_avg_units))),
        ("age_avg_least_units", format!("{least:.3}")),
        ("age_avg_most_units", format!("{most:.3}")),
        ("age_p99_units", format!("{:.2}", median(|run| run.age_p99_units))),
        ("age_max_units", format!("{:.1}", median(|run| run.age_max_units))),
        ("missing_share", format!("{:.5}", median(|run| run.missing_share))),
        ("bytes_per_node_s", format!("{:.0}", median(|run| run.bytes_per_node_s))),
        ("datagrams_per_node_s", format!("{:.2}", median(|run| run.datagrams_per_node_s))),
        ("cpu_s_per_node_s", format!("{:.6}", median(|run| run.cpu_s_per_node_s))),
        ("looking_s_per_node_s", format!("{:.6}", median(|run| run.looking_s_per_node_s))),
        ("resident_kib_per_node", format!("{:.0}", median(|run| run.resident_kib_per_node))),
        ("load_1m", format!("{:.2}", median(|run| run.load_1m))),
    ]
}

fn table(rows: &[Row]) -> String {
    let line = |cells: Vec<&str>| cells.join(",") + "\n";
    let names = rows.first().map(|row| line(row.iter().map(|(name, _)| *name).collect()));
    let values = rows.iter().map(|row| line(row.iter().map(|(_, value)| &**value).collect()));
    names.into_iter().chain(values).collect()
}

/// The table, before hours are spent on what may not be written.
fn announced(invocation: &Invocation) -> anyhow::Result<Table> {
    let locked = |name: &str| {
        let at = CARGO_LOCK.find(&format!("name = \"{name}\"\nversion = \""));
        at.and_then(|at| CARGO_LOCK[at..].split('"').nth(3)).unwrap_or("unknown").to_owned()
    };
    let memberlist = GO_MOD.lines().find_map(|line| line.split("hashicorp/memberlist v").nth(1));
    let command = command_line("target/peers/release/comparison");
    let seeds = Seed::Each((1..=invocation.runs).collect());
    let mut place = Table::in_folder(&invocation.output, &invocation.name, &command, Some(seeds))?;
    for peer in ["chitchat", "foca", "tokio"] {
        place.version(peer, locked(peer));
    }
    place.version("memberlist", memberlist.unwrap_or("unknown").to_owned());
    place.version("go", first_line("go", &["version"]));
    Ok(place)
}
