//! The detector of races for programs in C, under sanitizers: each race is named by file and line
//! of both accesses, and nothing else is.

use std::fs;
use std::process::Command;

use tidings_experiment::agents::programs;

use crate::toolchain::{done, place, root};

const SOURCE: &str = include_str!("races_in_c.c");

/// The line of the source with this text, from 1.
fn line(text: &str) -> usize {
    1 + SOURCE.lines().position(|line| line.contains(text)).expect("the text is there")
}

/// What the programs print.
fn said() -> String {
    let directory = place();
    let program = directory.path().join("races_in_c");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-I"]);
    compiler.arg(root().join("crates/races-ffi/include"));
    compiler.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    compiler.args(["tests/mpi/races_in_c.c"]).current_dir(root());
    compiler.arg(programs().join("libtidings_races_c.a"));
    done(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    done(&mut Command::new(&program))
}

#[test]
fn races_are_found_where_they_are_and_nowhere_else() {
    let said = said();
    let races: Vec<&str> = said.lines().filter(|line| !line.starts_with(' ')).collect();
    let place = |what: &str| format!("tests/mpi/races_in_c.c:{}", line(what));
    let below =
        format!("race: nothing orders these two accesses, below {}:", place("fill, &right"));
    let look =
        format!("race: nothing orders these two accesses, below {}:", place("look, argument"));
    let expected =
        ["apart: 0", "overlapping: 15", &below, "add twice: 0", "add and look: 1", &look];
    assert_eq!(races[..6], expected, "{said}");
    assert_eq!(races[6..], ["use again: 0", "nothing: 0"], "{said}");
    let writes = format!("write at {}", place("TIDINGS_WRITES("));
    assert_eq!(said.matches(&writes).count(), 2, "{said}");
    assert!(said.contains(&format!("read at {}", place("static void look"))), "{said}");
    assert!(said.contains(&format!("update at {}", place("TIDINGS_UPDATES("))), "{said}");
}

#[test]
fn the_header_is_cpp_too() {
    let directory = place();
    let source = directory.path().join("races.cpp");
    let text = "#include <tidings_races.h>\nint main() { TIDINGS_READS(nullptr, 0); }\n";
    fs::write(&source, text).expect("the place can be written");
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"];
    let include = root().join("crates/races-ffi/include");
    done(Command::new("c++").args(flags).arg(include).arg(&source));
}
