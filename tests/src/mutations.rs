//! Inputs for fuzz targets without libFuzzer: the files in `fuzz/seeds` and a few thousand
//! mutations of them, the same ones each time.

#![expect(clippy::missing_panics_doc, reason = "this is test code: every method asserts")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use tidings_primitives::Chance;

/// Mutated inputs that a target sees.
const INPUTS: u32 = 4_000;
const MAX_INPUT_BYTES: usize = 4_096;
/// Bytes that often stand at the edge of a rule.
const EDGES: [u8; 12] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF, b'[', b']', b'-', b',', b'=', b'\n'];

/// Runs a target over its seeds and their mutations; prints the input on which it panics.
pub fn fuzz(name: &str, target: fn(&[u8])) {
    for input in inputs_of(name) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&input))) {
            eprintln!("target {name} panics on the input {}", input.escape_ascii());
            resume_unwind(panic);
        }
    }
}

/// The seeds of a target, then mutations of them.
pub fn inputs_of(name: &str) -> Vec<Vec<u8>> {
    let seeds = seeds_of(name);
    let mut chance = Chance::new(0x7464_6E67);
    let mutated: Vec<_> = (0..INPUTS).map(|_| mutation(&seeds, &mut chance)).collect();
    seeds.into_iter().chain(mutated).collect()
}

/// The files in the folder of a target.
pub fn seeds_of(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(name);
    let listed = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = listed.map(|file| file.expect("a readable folder").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no input", folder.display());
    files.iter().map(|file| fs::read(file).expect("a readable input")).collect()
}

/// One of the seeds, changed in one to eight places.
pub fn mutation(seeds: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut input = seeds[chance.below(seeds.len())].clone();
    for _ in 0..=chance.below(8) {
        let at = chance.below(input.len() + 1);
        match chance.below(6) {
            0 => input.insert(at, EDGES[chance.below(EDGES.len())]),
            1 => input.insert(at, chance.bits() as u8),
            2 => input.truncate(at),
            3 => splice(&mut input, at, &seeds[chance.below(seeds.len())], chance),
            4 if at < input.len() => input[at] ^= 1 << chance.below(8),
            _ if at < input.len() => drop(input.remove(at)),
            _ => {}
        }
    }
    input.truncate(MAX_INPUT_BYTES);
    input
}

/// Puts a stretch of another seed in at `at`.
fn splice(input: &mut Vec<u8>, at: usize, other: &[u8], chance: &mut Chance) {
    let from = chance.below(other.len() + 1);
    let to = from + chance.below(other.len() - from + 1);
    input.splice(at..at, other[from..to].iter().copied());
}
