//! Every function that takes a communicator, a group, a window or a file, called below the shim and
//! without it: their results must be the same, under both of each function's names.
//!
//! The program that calls them is generated from the mpi.h at hand, so a function that a later MPI
//! has is either called too, or fails here until it has a recipe, or a reason for none.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::shim::{GOSSIP, shimmed_with};
use crate::toolchain::{Mpi, done, place, root, run, said};

/// Makes the program for this MPI, as `calls`; returns what it covers.
fn generate(mpi: Mpi, directory: &Path) -> Value {
    let source = directory.join("calls.c");
    let sources = root().join("tests/mpi/differential");
    let mut generator = Command::new("python3");
    generator.arg("-B").arg(sources.join("program.py")).arg(mpi.compiler("mpicc")).arg(&source);
    let covered = done(generator.env("PYTHONPATH", root().join("mpi/shim")));
    // Functions that the standard calls deprecated are called all the same.
    let mut compiler = Command::new(mpi.compiler("mpicc"));
    compiler.args(["-std=gnu11", "-Wall", "-Werror", "-Wno-deprecated-declarations"]);
    compiler
        .args(["-Wno-stringop-overflow", "-Wno-stringop-overread", "-Wno-unused", "-I"])
        .arg(&sources)
        .arg(&source);
    done(compiler.arg("-o").arg(directory.join("calls")));
    serde_json::from_str(&covered).expect("what is covered is JSON")
}

/// The results of each rank, one line per call.
fn answers(launcher: &mut Command, directory: &Path, ranks: usize) -> Vec<String> {
    done(launcher.arg(directory.join("../calls")));
    let file = |rank| directory.join(format!("answers.{rank}"));
    assert!(!file(ranks).exists(), "more than {ranks} ranks answered");
    let read = |rank| fs::read_to_string(file(rank)).expect("each rank keeps its answers");
    (0..ranks).map(read).collect()
}

/// The lines of two runs that differ.
fn differences<'a>(plain: &'a str, hidden: &'a str) -> Vec<(&'a str, &'a str)> {
    assert_eq!(plain.lines().count(), hidden.lines().count());
    plain.lines().zip(hidden.lines()).filter(|(one, other)| one != other).collect()
}

fn names<'a>(covered: &'a Value, list: &str) -> Vec<&'a str> {
    let listed = covered[list].as_array().expect("a list");
    listed.iter().filter_map(Value::as_str).collect()
}

/// Compares; returns what was covered.
fn no_function_reveals(mpi: Mpi) -> Value {
    let directory = place();
    let covered = generate(mpi, directory.path());
    let [plain_in, hidden_in, six_in] = ["plain", "hidden", "six"].map(|name| {
        let inner = directory.path().join(name);
        fs::create_dir(&inner).expect("the place can be written");
        inner
    });
    let yielding = [mpi.yielding()];
    let mut plain = mpi.launcher(4, &plain_in);
    mpi.preload(&mut plain, &yielding);
    let plain = answers(&mut plain, &plain_in, 4);
    for name in names(&covered, "called") {
        for called in [name.to_owned(), format!("P{name}")] {
            let is_of_it = |line: &str| line.starts_with(&format!("{called} "));
            assert!(plain.iter().all(|rank| rank.lines().any(is_of_it)), "no answer of {called}");
        }
    }
    let mut hidden = shimmed_with(mpi, &GOSSIP, &hidden_in, &yielding);
    let hidden = answers(&mut hidden, &hidden_in, 4);
    for (rank, (plain, hidden)) in plain.iter().zip(&hidden).enumerate() {
        assert!(differences(plain, hidden).is_empty(), "{rank}: {:?}", differences(plain, hidden));
    }
    // Without the shim six ranks are six: the comparison can fail.
    let mut six = mpi.launcher(6, &six_in);
    mpi.preload(&mut six, &yielding);
    let six = answers(&mut six, &six_in, 6);
    assert!(differences(&plain[0], &six[0]).len() > 100);
    covered
}

/// A call that needs what the world lacks, a topology or a Fortran handle of a macro, gets
/// another communicator, made of the world; all others are called with MPI_COMM_WORLD itself.
fn covers(covered: &Value) {
    assert!(names(covered, "called").len() > 250, "{covered}");
    for name in names(covered, "never_with_world") {
        let queries = ["MPI_Cart", "MPI_Graph", "eighbor", "_remote_", "MPI_Comm_c2f", "_toint"];
        assert!(queries.iter().any(|query| name.contains(query)), "{name} never had the world");
    }
    let reasons = covered["left_out"].as_object().expect("reasons by name");
    assert!(reasons.len() <= 11 && reasons.values().all(Value::is_string), "{reasons:?}");
}

#[test]
fn no_function_of_open_mpi_tells_of_hidden_ranks() {
    covers(&no_function_reveals(Mpi::Open));
}

#[test]
fn no_function_of_mpich_tells_of_hidden_ranks() {
    covers(&no_function_reveals(Mpi::Mpich));
}

#[test]
fn no_function_of_open_mpi_5_tells_of_hidden_ranks() {
    covers(&no_function_reveals(Mpi::Open5));
}

#[test]
fn no_function_of_the_standards_abi_tells_of_hidden_ranks() {
    covers(&no_function_reveals(Mpi::Abi));
}

#[test]
fn a_function_without_a_recipe_is_an_error() {
    let directory = place();
    // An mpi.h of tomorrow, by way of a compiler that adds to it.
    let compiler = directory.path().join("mpicc.tomorrow");
    let text = "#!/bin/sh\necho 'int MPI_Comm_frob(MPI_Comm comm);'\nexec mpicc.mpich \"$@\"\n";
    fs::write(&compiler, text).expect("the place can be written");
    done(Command::new("chmod").arg("+x").arg(&compiler));
    let mut generator = Command::new("python3");
    generator.arg("-B").arg(root().join("tests/mpi/differential/program.py")).arg(&compiler);
    generator.arg(directory.path().join("calls.c")).env("PYTHONPATH", root().join("mpi/shim"));
    let output = run(&mut generator);
    assert!(!output.status.success());
    let said = said(&output);
    assert!(said.contains("MPI_Comm_frob: no recipe"), "{said}");
}
