//! The C interface of stealing among processes of one host, used by a C program under sanitizers,
//! and its header in C++.

use std::fs;
use std::process::Command;

use tidings_experiment::agents::programs;

use crate::toolchain::{done, place, root};

/// So many workers with each search.
#[test]
fn processes_share_tasks_under_sanitizers() {
    let directory = place();
    let program = directory.path().join("shared_by_stealing");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O1"]);
    compiler.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"]);
    compiler.arg(root().join("crates/steal-host-ffi/include"));
    compiler.arg(root().join("tests/mpi/shared_by_stealing.c"));
    compiler.arg(programs().join("libtidings_steal_host_c.a"));
    done(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    let memory = tempfile::tempdir_in("/dev/shm").expect("a file system in memory");
    for (workers, search) in [("1", "0"), ("2", "0"), ("3", "1"), ("3", "2"), ("3", "3")] {
        let mut run = Command::new(&program);
        run.arg(memory.path().join("segment")).args([workers, search]);
        assert_eq!(done(&mut run).trim(), "right");
    }
}

#[test]
fn the_header_is_cpp_too() {
    let directory = place();
    let source = directory.path().join("host.cpp");
    let text = "#include <tidings_steal_host.h>\nint main() { tidings_host_leave(nullptr); }\n";
    fs::write(&source, text).expect("the place can be written");
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"];
    let include = root().join("crates/steal-host-ffi/include");
    done(Command::new("c++").args(flags).arg(include).arg(&source));
}
