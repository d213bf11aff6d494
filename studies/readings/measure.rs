//! How many bits a unit of time the readings of a node are, by recordings of this folder.
//!
//! A row is a reading of a recording, or `node` for all readings of it, with the documented
//! tolerances (`usual`) or none (`exact`). The recording `all` is all of them counted together,
//! `generated` is what the simulator's generator makes of them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Map;
use tidings_gossip::payload::{Reading, Tolerances};
use tidings_sim::readings::{Estimate, Generator, Information, Recording};
use tidings_studies::table::{self, Made};

/// The folder of the recordings.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/readings");

/// What distinguishes a recording from other tables.
const FORM: &str = "# tidings readings";

const SEED: u64 = 1;
const HEADING: &str =
    "recording,tolerances,reading,units,missed,leaving,first_order_bits,conditional_bits\n";

fn main() -> ExitCode {
    let command = "studies/readings/run information";
    table::make("information", command, Some(SEED), |is_measured| {
        made(if is_measured { (64, 8_192) } else { (2, 512) })
    })
}

fn made((nodes, units): (u32, usize)) -> Result<Made, String> {
    let recordings = recordings(Path::new(FOLDER))?;
    let mut rows = HEADING.to_owned();
    for (name, tolerances) in [("usual", Tolerances::default()), ("exact", Tolerances::exact())] {
        let mut all = Information::new(tolerances.clone());
        for (recording, rows_of) in &recordings {
            let mut one = Information::new(tolerances.clone());
            for counted in [&mut one, &mut all] {
                counted.count(rows_of.unit_s(), rows_of.rows().iter().map(|row| row.numbers));
            }
            add(&mut rows, (recording, name), rows_of.missed(), &one);
        }
        let missed = recordings.iter().map(|(_, recording)| recording.missed()).sum();
        add(&mut rows, ("all", name), missed, &all);
        let generated = generated(&recordings, &tolerances, nodes, units)?;
        add(&mut rows, ("generated", name), 0, &generated);
    }
    Ok((rows, Map::new()))
}

/// The recordings of a folder, by name.
fn recordings(folder: &Path) -> Result<Vec<(String, Recording)>, String> {
    let said = |file: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let mut found = Vec::new();
    for file in fs::read_dir(folder).map_err(|error| said(folder, &error))? {
        let file = file.map_err(|error| said(folder, &error))?.path();
        if file.extension().is_none_or(|ending| ending != "csv") {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|error| said(&file, &error))?;
        if text.starts_with(FORM) {
            let recording = Recording::parse(&text).map_err(|error| said(&file, &error))?;
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, recording));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

fn generated(
    recordings: &[(String, Recording)],
    tolerances: &Tolerances,
    nodes: u32,
    units: usize,
) -> Result<Information, String> {
    let all: Vec<Recording> = recordings.iter().map(|(_, one)| one.clone()).collect();
    let generator = Generator::new(&all, SEED).ok_or("no recording: run studies/readings/run")?;
    let mut information = Information::new(tolerances.clone());
    for node in 0..nodes {
        let mut machine = generator.machine(node);
        let next = |_| {
            machine.advance();
            machine.numbers()
        };
        information.count(all[0].unit_s(), (0..units).map(next));
    }
    Ok(information)
}

fn add(rows: &mut String, names: (&str, &str), missed: usize, information: &Information) {
    let readings = Reading::ALL.map(|reading| (reading.name(), information.of(reading)));
    for (reading, found) in readings.into_iter().chain([("node", information.of_node())]) {
        let ((recording, tolerances), Estimate { units, leaving, .. }) = (names, found);
        let (first, conditional) = (found.first_order_bits, found.conditional_bits);
        let _ = writeln!(
            rows,
            "{recording},{tolerances},{reading},{units},{missed},{leaving:.5},{first:.4},\
             {conditional:.4}"
        ); // a String takes all
    }
}
