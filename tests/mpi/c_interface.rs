//! The C interface, used by a C program under a sanitizer, and its header in C++.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::toolchain::{compile, root, run, said};

/// Builds tests/mpi/cluster.c with these flags and runs it; returns what it printed.
fn cluster(flags: &[&str]) -> String {
    let directory = TempDir::new().expect("a place for the program");
    let program = directory.path().join("cluster");
    compile("cc", &[root().join("tests/mpi/cluster.c")], flags, &program);
    let output = run(&mut Command::new(&program));
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

#[test]
fn sixteen_nodes_know_each_other_under_sanitizers() {
    cluster(&["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
}

#[test]
fn a_cluster_that_is_up_takes_no_memory() {
    let wrapped = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc";
    assert_eq!(cluster(&["-O1", "-DCOUNT_ALLOCATIONS", wrapped]).trim(), "0");
}

#[test]
fn the_header_is_cpp_too() {
    let directory = TempDir::new().expect("a place for the source");
    let source = directory.path().join("node.cpp");
    fs::write(&source, "#include <tidings_node.h>\nint main() { tidings_node_free(nullptr); }\n")
        .expect("the place can be written");
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"];
    let include = root().join("crates/ffi/include");
    let output = run(Command::new("c++").args(flags).arg(include).arg(&source));
    assert!(output.status.success(), "{}", said(&output));
}
