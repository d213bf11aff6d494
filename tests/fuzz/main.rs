//! The fuzz targets over seeded inputs: a few thousand mutations of the inputs in `fuzz/seeds`, the
//! same ones each time, on the stable toolchain. `make fuzz` continues from there with libFuzzer.
//! The target `config` is run by the agent's own tests, since nothing here may depend on the agent.

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use tidings_primitives::Chance;
use tidings_tests::mutations::{fuzz, inputs_of, mutation, seeds_of};

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "public in the fuzz crate, which libFuzzer's binaries link")]
mod targets;

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
fn delta() {
    fuzz("delta", targets::delta);
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

#[test]
fn requests() {
    fuzz("requests", targets::requests);
}

#[test]
fn records() {
    fuzz("records", targets::records);
}

#[test]
fn seals() {
    fuzz("seals", targets::seals);
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
        let mut chance = Chance::new(1);
        (0..100).map(|_| mutation(&seeds, &mut chance)).collect::<Vec<_>>()
    };
    assert_eq!(draw(), draw());
    assert!(draw().iter().filter(|input| !seeds.contains(input)).count() > 80);
}
