//! How old entries are among 1,024 nodes that say recorded readings, by the bytes that they send.
//!
//! Real nodes in one process and virtual time: each datagram is written, sealed, opened and read as
//! among agents. Nodes replay the recordings of studies/readings, settled within the documented
//! tolerances, and have the bytes of windows of 20 % of whole entries of 64 bytes. All that is held
//! is held against what was said. Counts depend on the seed alone, not on the machine.

#[path = "../changes/payloads.rs"]
mod payloads;
mod world;

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::Map;
use tidings_gossip::wire::{ENTRY_OVERHEAD_BYTES, OVERHEAD_BYTES};
use tidings_sim::readings::Recording;
use tidings_studies::table::{self, Made};

use payloads::Kind;
use world::{Found, Setting, World};

const SEED: u64 = 1;
/// The window whose bytes are given, of whole entries of 64 bytes.
const WINDOW_PERCENT: usize = 20;
const WHOLE_PAYLOAD_BYTES: usize = 64;
pub(crate) const DATAGRAM_BYTES: usize = 1_452;

/// Units that pass before anything is counted, at least: as many as a base lasts on average. Before
/// that nodes are still finding out what entries take, and so which rows to have.
const UNITS_BEFORE: u32 = 120;
/// The bytes of so many whole entries of each node pass before anything is counted, at least.
const STARTS: usize = 5;

const HEADING: &str = "readings,payload_bytes,wire_version,lost_percent,window_entries,\
    budget_bytes_unit,bytes_unit,entries_unit,bytes_an_entry,bases_percent,passed_over_percent,\
    known_percent,age_avg_units,age_p50_units,age_p99_units,age_oldest_node_units\n";

/// The rows: what is said, by which version, and how much is lost. Whole entries are as old
/// whatever they say, so each length has them once.
const ROWS: [(Kind, u8, f64); 9] = [
    (Kind::Usual, 1, 0.0),
    (Kind::Usual, 3, 0.0),
    (Kind::Usual, 1, 10.0),
    (Kind::Usual, 3, 10.0),
    (Kind::Exact, 3, 0.0),
    (Kind::Noise, 3, 0.0),
    (Kind::Devices, 1, 0.0),
    (Kind::Devices, 3, 0.0),
    (Kind::Large, 3, 0.0),
];

fn main() -> ExitCode {
    table::make("nodes", "studies/readings/run nodes", Some(SEED), |is_measured| {
        made(if is_measured { size()? } else { (48, 12, 4) })
    })
}

/// Nodes, units before, and units that are counted: those of the study, or `READINGS_NODES`, three
/// numbers with commas, for a trial.
fn size() -> Result<(usize, u32, u32), String> {
    let Ok(text) = std::env::var("READINGS_NODES") else { return Ok((1_024, UNITS_BEFORE, 24)) };
    let numbers: Vec<u32> = text.split(',').filter_map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [nodes, warmup, units] if nodes > 1 && units > 0 => Ok((nodes as usize, warmup, units)),
        _ => Err("READINGS_NODES: nodes, units before and units, such as 256,120,24".to_owned()),
    }
}

/// All rows, or those that `READINGS_ROWS` says, by their numbers from 1, for a trial.
fn rows_asked() -> Result<Vec<(Kind, u8, f64)>, String> {
    let Ok(text) = std::env::var("READINGS_ROWS") else { return Ok(ROWS.to_vec()) };
    let row = |number: &str| ROWS.get(number.parse::<usize>().ok()?.checked_sub(1)?).copied();
    let rows: Option<Vec<_>> = text.split(',').map(row).collect();
    rows.ok_or_else(|| format!("READINGS_ROWS: numbers from 1 to {}, such as 2,8", ROWS.len()))
}

/// A table of so many nodes, after so many units, over so many more.
fn made((nodes, warmup, units): (usize, u32, u32)) -> Result<Made, String> {
    let recordings = payloads::recordings()?;
    let mut rows = HEADING.to_owned();
    for (kind, version, lost_percent) in rows_asked()? {
        let window = window_entries(nodes, kind.payload_bytes());
        let setting = Setting { kind, version, nodes, window, lost_percent, seed: SEED };
        // All entries have to be there whole first.
        let start = STARTS * nodes * (ENTRY_OVERHEAD_BYTES + kind.payload_bytes());
        let warmup = warmup.max((start / budget_bytes(nodes)) as u32);
        let found = found(&recordings, &setting, warmup, units)?;
        let row = row(&setting, &found, units);
        table::add(&mut rows, &row).map_err(|error| error.to_string())?;
    }
    Ok((rows, Map::new()))
}

fn found(
    recordings: &[Recording],
    setting: &Setting,
    warmup: u32,
    units: u32,
) -> Result<Found, String> {
    let mut world = World::new(recordings, setting)?;
    world.run(warmup)?;
    world.begin_counting();
    world.run(units)?;
    Ok(world.found())
}

/// The largest window of such payloads that takes no more bytes a unit than one of 20 % of whole
/// entries of 64 bytes.
fn window_entries(nodes: usize, payload_bytes: usize) -> usize {
    let budget = budget_bytes(nodes);
    let fits = |&entries: &usize| window_bytes(entries, payload_bytes) <= budget;
    (1..=nodes).rev().find(fits).unwrap_or(1)
}

fn budget_bytes(nodes: usize) -> usize {
    window_bytes(nodes * WINDOW_PERCENT / 100, WHOLE_PAYLOAD_BYTES)
}

fn window_bytes(entries: usize, payload_bytes: usize) -> usize {
    let entry_bytes = ENTRY_OVERHEAD_BYTES + payload_bytes;
    let fit = (DATAGRAM_BYTES - OVERHEAD_BYTES) / entry_bytes;
    entries * entry_bytes + entries.div_ceil(fit) * OVERHEAD_BYTES
}

fn row(setting: &Setting, found: &Found, units: u32) -> String {
    let a_node = (setting.nodes as f64) * f64::from(units);
    let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    let mut row = String::new();
    let _ = write!(
        row,
        "{},{},{},{},{},{},{:.0},{:.1},{:.1},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2}",
        setting.kind.name(),
        setting.kind.payload_bytes(),
        setting.version,
        setting.lost_percent,
        setting.window,
        budget_bytes(setting.nodes),
        found.bytes as f64 / a_node,
        found.entries as f64 / a_node,
        found.bytes as f64 / found.entries.max(1) as f64,
        share(found.bases, found.entries),
        share(found.passed_over, found.entries),
        share(found.known, found.pairs),
        found.mean_units(),
        found.quantile_units(0.5),
        found.quantile_units(0.99),
        found.oldest_mean_units(),
    ); // a String takes all
    row
}
