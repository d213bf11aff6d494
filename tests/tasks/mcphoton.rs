//! The example mcphoton: what is known of slabs comes out, and the same digest for every number of
//! workers and each engine of the store, also when one is killed with a batch in hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::in_c::{Spoken, compiled, holder, printed};
use crate::place::Place;
use crate::servers::Servers;

/// A slab that scatters only, in 25 batches.
const RUN: [&str; 8] = ["-t", "1", "-a", "1", "-n", "50000", "-b", "2000"];

/// What that comes to; python/tests/tasks/test_mcphoton.py has the same of the program in Python.
const DIGEST: &str = "1c9ce2cef71057fa";

/// A worker that waits for more than any test takes.
const WORK: [&str; 3] = ["work", "-i", "600000"];

fn program(place: &Place) -> PathBuf {
    let flags = ["-std=gnu11", "-O2", "-ffp-contract=off"];
    compiled(place, "cc", &flags, &["examples/mcphoton/mcphoton.c", "examples/mcphoton/slab.c"])
}

/// What it prints, by name.
fn told(place: &Place, program: &Path, arguments: &[&str]) -> BTreeMap<String, String> {
    let text = printed(place.with_store(program).args(arguments));
    text.lines().filter_map(|line| line.split_once(' ')).map(pair).collect()
}

fn pair((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.trim().to_owned())
}

#[test]
fn what_is_known_of_slabs_comes_out() {
    let place = Place::new();
    let program = program(&place);
    let absorbing = [0.1, 1.0, 3.0].map(|t: f64| (t, "0", false, (-t).exp()));
    // Heaslet and Warming, Int. J. Heat Mass Transfer 8 (1965) 979-994.
    let scattering = [(0.1, 0.9157), (0.5, 0.7040), (1.0, 0.5532), (2.0, 0.3900), (5.0, 0.2077)];
    let scattering = scattering.map(|(t, share)| (t, "1", true, share));
    for (thickness, albedo, is_diffuse, share) in absorbing.into_iter().chain(scattering) {
        let thickness = thickness.to_string();
        let mut arguments = vec!["alone", "-t", &thickness, "-a", albedo, "-n", "400000"];
        arguments.extend(is_diffuse.then_some("-d"));
        let transmitted: f64 = told(&place, &program, &arguments)["transmitted"].parse().unwrap();
        // Five standard deviations of a share of 400,000 photons. The seed is always the same.
        let noise = 5.0 * (share * (1.0 - share) / 400_000.0_f64).sqrt();
        assert!((transmitted - share).abs() < noise + 0.00005, "{arguments:?}: {transmitted}");
    }
}

#[test]
fn random_numbers_are_those_of_the_paper() {
    let place = Place::new();
    let flags = ["-std=c11", "-I", "examples/mcphoton"];
    let program = compiled(&place, "cc", &flags, &["tests/tasks/in_c/philox.c"]);
    assert_eq!(printed(&mut place.with_store(&program)), "done\n");
}

#[test]
fn the_digest_is_the_same_for_one_two_and_three_workers() {
    let compiled_at = Place::new();
    let program = program(&compiled_at);
    let alone = told(&compiled_at, &program, &[&["alone"], &RUN[..]].concat());
    assert_eq!(alone["digest"], DIGEST);
    for workers in 1..4 {
        // Each has a store of its own: in the same one nothing would be done twice.
        let place = Place::new();
        let work = |_| Spoken::start(place.with_store(&program).args(WORK));
        let working: Vec<Spoken> = (0..workers).map(work).collect();
        assert_eq!(told(&place, &program, &[&["run"], &RUN[..]].concat()), alone, "{workers}");
        drop(working);
    }
}

/// Kills a worker with a batch in hand, and one at any moment, of a run or of a flow.
fn kill_workers(place: &Place, how: &str) {
    let (program, holder) = (program(place), holder(place));
    let alone = told(place, &program, &[&["alone"], &RUN[..]].concat());
    let mut run = Spoken::start(place.with_store(&program).arg(how).args(RUN));
    let mut holding = Spoken::start(place.with_store(&holder).args(["claim", "mcphoton"]));
    assert_eq!(holding.line(), "attempt 1");
    let working = Spoken::start(place.with_store(&program).args(WORK));
    drop(holding);
    drop(working);
    let working = Spoken::start(place.with_store(&program).args(WORK));
    let lines: Vec<String> = (0..4).map(|_| run.line()).collect();
    let told = lines.iter().filter_map(|line| line.split_once(' ')).map(pair).collect();
    assert_eq!(alone, told);
    drop(working);
}

#[test]
fn a_killed_worker_changes_nothing() {
    kill_workers(&Place::new(), "run");
}

#[test]
fn a_killed_worker_changes_nothing_in_a_flow() {
    kill_workers(&Place::new(), "flow");
}

/// Places without a batch, on each level of the tree, count nothing.
#[test]
fn a_flow_has_the_digest_for_every_number_of_batches() {
    let compiled_at = Place::new();
    let program = program(&compiled_at);
    for batch in ["50000", "6250", "5600", "700"] {
        let place = Place::new();
        let working = Spoken::start(place.with_store(&program).args(WORK));
        let flow = ["flow", "-t", "1", "-a", "1", "-n", "50000", "-b", batch];
        assert_eq!(told(&place, &program, &flow)["digest"], DIGEST, "{batch}");
        drop(working);
    }
}

#[test]
fn the_same_program_runs_over_an_etcd() {
    let servers = Servers::start(1);
    // Each has a store of its own: in the same one nothing would be done twice.
    for how in ["run", "flow"] {
        kill_workers(&Place::of(servers.address(how)), how);
    }
}

/// Of the processes that have the store in their memory two are killed, and others come.
#[test]
fn the_same_program_runs_over_the_memory_of_its_processes() {
    let views = Place::new();
    let head = views.start(&["worker", "--slots", "1"]);
    for how in ["run", "flow"] {
        kill_workers(&Place::of(format!("block:{how}@{}", views.store())), how);
    }
    drop(head);
}
