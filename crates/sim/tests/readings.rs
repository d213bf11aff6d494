//! The generator beside the recordings it draws from: what it makes is as much news as they are.

#![allow(clippy::disallowed_methods, reason = "a test reads the recordings of the study")]

use std::fs;
use std::path::Path;

use tidings_gossip::payload::{Reading, Tolerances};
use tidings_sim::readings::{Estimate, Generator, Information, Recording};

/// Nodes and units that are generated.
const NODES: u32 = 32;
const UNITS: usize = 4_000;

/// How far a share of units may be off: a tenth of it, and what pieces of 512 units add where they
/// meet and the places they happen to begin at: a hundredth of all units.
const SHARE: (f64, f64) = (0.1, 0.01);

/// The same of bits a unit: jumps between pieces are steps that the recording may never have.
const BITS: (f64, f64) = (0.15, 0.1);

fn recordings() -> Vec<(String, Recording)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/readings");
    let files = fs::read_dir(folder).expect("the study is there");
    let files = files.map(|file| file.expect("it can be listed").path());
    let texts = files.filter(|file| file.extension().is_some_and(|ending| ending == "csv"));
    let mut found: Vec<_> = texts
        .map(|file| (file.display().to_string(), fs::read_to_string(file).expect("it is text")))
        .filter(|(_, text)| text.starts_with("# tidings readings"))
        .map(|(file, text)| (file, Recording::parse(&text).expect("it is a recording")))
        .collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert!(found.len() >= 5, "compiling, MPI, LAMMPS, memory pressure and idle are recorded");
    found
}

fn recorded(recording: &Recording) -> Information {
    let mut information = Information::new(Tolerances::default());
    information.count(recording.unit_s(), recording.rows().iter().map(|row| row.numbers));
    information
}

fn generated(recordings: &[Recording]) -> Information {
    let generator = Generator::new(recordings, 1).expect("there is a recording");
    let mut information = Information::new(Tolerances::default());
    for node in 0..NODES {
        let mut machine = generator.machine(node);
        let units = (0..UNITS).map(|_| {
            machine.advance();
            machine.numbers()
        });
        information.count(recordings[0].unit_s(), units);
    }
    information
}

fn assert_near(what: &str, found: f64, wanted: f64, (share, absolute): (f64, f64)) {
    let off = (found - wanted).abs();
    assert!(off <= share * wanted + absolute, "{what}: generated {found}, recorded {wanted}");
}

#[test]
fn generated_readings_leave_their_tolerances_as_recorded_ones_do() {
    for (name, recording) in recordings() {
        let (is, made) = (recorded(&recording), generated(&[recording]));
        for reading in Reading::ALL {
            let (Estimate { leaving, first_order_bits, .. }, made) =
                (is.of(reading), made.of(reading));
            let what = format!("{name}, {}", reading.name());
            assert_near(&what, made.leaving, leaving, SHARE);
            assert_near(&what, made.first_order_bits, first_order_bits, BITS);
        }
        let (is, made) = (is.of_node(), made.of_node());
        assert_near(&name, made.leaving, is.leaving, SHARE);
        assert_near(&name, made.first_order_bits, is.first_order_bits, (0.15, 0.5));
    }
}

/// The recordings are small, of one piece, and of machines at work.
#[test]
fn recordings_are_whole() {
    for (name, recording) in recordings() {
        let rows = recording.rows().len();
        assert!(rows >= 400, "{name}: {rows} rows");
        assert!(recording.missed() * 50 < rows, "{name}: {} units are missed", recording.missed());
        assert!(recording.text().len() < 64 << 10, "{name}: {} bytes", recording.text().len());
    }
}

/// A run of the issue: 1,024 nodes for 10^5 units, seven hours. It takes some seconds, so that
/// simulations can have it.
#[test]
fn a_thousand_nodes_are_generated_for_hours() {
    let recordings: Vec<Recording> = recordings().into_iter().map(|(_, one)| one).collect();
    let generator = Generator::new(&recordings, 1).expect("there is a recording");
    for node in 0..1_024 {
        let mut machine = generator.machine(node);
        let before = machine.state().uptime_s.expect("recorded");
        (0..100_000).for_each(|_| machine.advance());
        let passed = machine.state().uptime_s.expect("recorded") - before;
        assert!((25_599..=25_601).contains(&passed), "node {node}: {passed} s");
    }
}
