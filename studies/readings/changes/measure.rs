//! What an entry costs as a change by a base, on recorded readings, and how old entries would be.
//!
//! Nodes replay the recordings of studies/readings. Each unit they settle their readings, and
//! choose bases; a receiver pulls rows of them, from a relay that holds all, by the core's own
//! format. What its datagrams take becomes the budget of the core's own model of `grid`, at the
//! bytes of today's windows of 20 %. A row of the table is a kind of payload, under one condition.

mod payloads;
mod rows;

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::Map;
use tidings_gossip::Strategy;
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::model;
use tidings_gossip::wire::{ENTRY_OVERHEAD_BYTES, OVERHEAD_BYTES};
use tidings_studies::table::{self, Made};

use payloads::Kind;
use rows::{Condition, Rows};

const SEED: u64 = 1;

const KINDS: [Kind; 5] = [Kind::Usual, Kind::Exact, Kind::Large, Kind::Devices, Kind::Noise];

/// Today's window.
const WINDOW_PERCENT: usize = 20;
const DATAGRAM_BYTES: usize = 1_452;

const HEADING: &str = "readings,payload_bytes,clocks,lost_percent,bytes_an_entry,\
    base_bytes_an_entry,steps_percent,confirmed_percent,units_a_base,age_avg_units,\
    age_p99_units,whole_age_avg_units,whole_age_p99_units\n";

fn main() -> ExitCode {
    table::make("changes", "studies/readings/run changes", Some(SEED), |is_measured| {
        made(if is_measured { (64, 1_024, 1_024) } else { (32, 64, 64) })
    })
}

/// A table of so many nodes that speak for so many units, and of so many members in a cluster.
fn made((nodes, units, members): (usize, usize, usize)) -> Result<Made, String> {
    let recordings = payloads::recordings()?;
    let mut table = HEADING.to_owned();
    for kind in KINDS {
        for condition in Condition::ALL {
            let mut rows = Rows::new(kind, condition, &recordings, nodes, SEED)?;
            rows.run(units);
            add(&mut table, (kind, condition), &rows, members);
        }
    }
    Ok((table, Map::new()))
}

fn add(table: &mut String, (kind, condition): (Kind, Condition), rows: &Rows<'_>, members: usize) {
    let (payload_bytes, counted) = (kind.payload_bytes(), rows.counted());
    let bytes = counted.bytes as f64 / counted.entries as f64;
    let loss = condition.lost_percent / 100.0;
    let by_changes = ages(members, bytes.ceil() as usize, loss);
    let whole = ages(members, ENTRY_OVERHEAD_BYTES + payload_bytes, loss);
    let share = |count: u64| 100.0 * count as f64 / counted.entries as f64;
    let _ = writeln!(
        table,
        "{},{payload_bytes},{},{},{bytes:.2},{:.2},{:.2},{:.1},{:.1},{:.2},{:.2},{:.2},{:.2}",
        kind.name(),
        condition.clocks(),
        condition.lost_percent,
        (counted.bases * payload_bytes as u64) as f64 / counted.entries as f64,
        share(counted.steps),
        share(counted.confirmed),
        rows.units_a_base(),
        by_changes.0,
        by_changes.1,
        whole.0,
        whole.1,
    ); // a String takes all
}

/// Average age and 99 % of all ages, in units, where entries take so many bytes and a node as many
/// as windows of whole entries of 64 bytes.
fn ages(members: usize, entry_bytes: usize, loss: f64) -> (f64, f64) {
    let whole = ENTRY_OVERHEAD_BYTES + 64;
    let room = DATAGRAM_BYTES - OVERHEAD_BYTES;
    let of = |entry_bytes: usize, window_entries| Budget {
        entry_bytes,
        frame_bytes: OVERHEAD_BYTES,
        datagram_entries: (room / entry_bytes).max(1),
        window_entries,
        changes: None,
    };
    let bytes = of(whole, members * WINDOW_PERCENT / 100).unit_bytes();
    // The largest window of no more bytes.
    let fits = |&entries: &usize| of(entry_bytes, entries).unit_bytes() <= bytes;
    let window = (1..=bytes / entry_bytes).rev().find(fits).unwrap_or(1);
    let found = model::forecast(Strategy::Grid, members, &of(entry_bytes, window), loss);
    (found.age_avg_units, found.quantile_units(0.99))
}
