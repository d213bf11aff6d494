//! The C interface, used by a C program under a sanitizer, and its header in C++.

use std::fs;
use std::process::Command;

use crate::toolchain::{done, library, place, root};

/// Builds tests/mpi/cluster.c with these flags and runs it; returns what it printed.
fn cluster(flags: &[&str]) -> String {
    let directory = place();
    let program = directory.path().join("cluster");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-O1"]).args(flags);
    compiler.arg("-I").arg(root().join("crates/ffi/include"));
    compiler.arg(root().join("tests/mpi/cluster.c")).arg(library());
    done(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    done(&mut Command::new(program))
}

#[test]
fn sixteen_nodes_know_each_other_under_sanitizers() {
    cluster(&["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
}

#[test]
fn a_cluster_that_is_up_allocates_no_memory() {
    let wrapped = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc";
    assert_eq!(cluster(&["-DCOUNT_ALLOCATIONS", wrapped]).trim(), "0");
}

#[test]
fn the_header_is_cpp_too() {
    let directory = place();
    let source = directory.path().join("node.cpp");
    fs::write(&source, "#include <tidings_node.h>\nint main() { tidings_node_free(nullptr); }\n")
        .expect("the place can be written");
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"];
    let include = root().join("crates/ffi/include");
    done(Command::new("c++").args(flags).arg(include).arg(&source));
}
