//! The fuzz targets over seeded inputs: a few thousand mutations of the inputs in `fuzz/seeds`, the
//! same ones each time, on the stable toolchain. `make fuzz` goes on from there with libFuzzer.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "public in the fuzz crate, which libFuzzer's binaries link")]
mod targets;

/// Inputs a target sees here.
const INPUTS: u32 = 4_000;
const MAX_INPUT_BYTES: usize = 4_096;
/// Bytes that often stand at the edge of a rule.
const EDGES: [u8; 12] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF, b'[', b']', b'-', b',', b'=', b'\n'];

#[test]
fn wire() {
    fuzz("wire", targets::wire);
}

#[test]
fn payload() {
    fuzz("payload", targets::payload);
}

#[test]
fn aggregate() {
    fuzz("aggregate", targets::aggregate);
}

#[test]
fn roster() {
    fuzz("roster", targets::roster);
}

#[test]
fn keyring() {
    fuzz("keyring", targets::keyring);
}

#[test]
fn control() {
    fuzz("control", targets::control);
}

/// Runs a target over its seeds and their mutations; prints the input on which it panics.
fn fuzz(name: &str, target: fn(&[u8])) {
    for input in inputs_of(name) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&input))) {
            eprintln!("target {name} panics on the input {}", input.escape_ascii());
            resume_unwind(panic);
        }
    }
}

/// The seeds of a target, then mutations of them.
fn inputs_of(name: &str) -> Vec<Vec<u8>> {
    let seeds = seeds_of(name);
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(0x7464_6E67);
    let mutated: Vec<_> = (0..INPUTS).map(|_| mutation(&seeds, &mut generator)).collect();
    seeds.into_iter().chain(mutated).collect()
}

fn seeds_of(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(name);
    let listed = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = listed.map(|file| file.expect("a readable folder").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no input", folder.display());
    files.iter().map(|file| fs::read(file).expect("a readable input")).collect()
}

/// One of the seeds, changed in one to eight places.
fn mutation(seeds: &[Vec<u8>], generator: &mut impl RngCore) -> Vec<u8> {
    let mut input = seeds[below(generator, seeds.len())].clone();
    for _ in 0..=below(generator, 8) {
        let at = below(generator, input.len() + 1);
        match below(generator, 6) {
            0 => input.insert(at, EDGES[below(generator, EDGES.len())]),
            1 => input.insert(at, generator.next_u32() as u8),
            2 => input.truncate(at),
            3 => splice(&mut input, at, &seeds[below(generator, seeds.len())], generator),
            4 if at < input.len() => input[at] ^= 1 << below(generator, 8),
            _ if at < input.len() => drop(input.remove(at)),
            _ => {}
        }
    }
    input.truncate(MAX_INPUT_BYTES);
    input
}

/// Puts a stretch of another seed in at `at`.
fn splice(input: &mut Vec<u8>, at: usize, other: &[u8], generator: &mut impl RngCore) {
    let from = below(generator, other.len() + 1);
    let to = from + below(generator, other.len() - from + 1);
    input.splice(at..at, other[from..to].iter().copied());
}

/// A number below `bound`, which is not 0. The bias of the remainder does not matter here.
fn below(generator: &mut impl RngCore, bound: usize) -> usize {
    generator.next_u64() as usize % bound
}

#[test]
fn a_target_that_panics_is_noticed() {
    let caught = catch_unwind(|| fuzz("roster", |input| assert!(input.len() < 40, "too long")));
    assert!(caught.is_err(), "no mutation of the seeds has 40 bytes");
}

#[test]
fn the_inputs_of_wire_reach_every_counter() {
    let mut reached = BTreeMap::new();
    for input in inputs_of("wire") {
        for (counter, _, value) in targets::counters_after(&input).iter() {
            *reached.entry(counter).or_insert(0) += value;
        }
    }
    let missed: Vec<_> =
        reached.iter().filter(|(_, total)| **total == 0).map(|(c, _)| *c).collect();
    assert!(missed.is_empty(), "no input reaches {missed:?}; all counts: {reached:?}");
}

#[test]
fn mutations_are_the_same_each_time_and_differ_from_their_seeds() {
    let seeds = seeds_of("wire");
    let draw = || {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
        (0..100).map(|_| mutation(&seeds, &mut generator)).collect::<Vec<_>>()
    };
    assert_eq!(draw(), draw());
    assert!(draw().iter().filter(|input| !seeds.contains(input)).count() > 80);
}
