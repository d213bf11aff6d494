//! Compilers and launchers: Open MPI, MPICH and SimGrid's SMPI side by side, as Debian has them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tidings_tests::agents::programs;

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository")
}

/// Builds a C program with the node library, as strictly as the compiler can.
pub(crate) fn compile(compiler: &str, sources: &[PathBuf], flags: &[&str], program: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g"]).args(flags);
    command.arg("-I").arg(root().join("crates/ffi/include"));
    command.args(sources).arg(programs().join("libtidings_node.a"));
    command.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(program);
    let output = run(&mut command);
    assert!(output.status.success(), "{compiler}: {}", said(&output));
}

/// The sources of the gossip process.
pub(crate) fn gossip_sources() -> Vec<PathBuf> {
    ["ring.c", "gossip.c", "main.c"].map(|file| root().join("mpi/gossip").join(file)).into()
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().unwrap_or_else(|error| panic!("{name}: {error}; is it installed?"))
}

/// All that a program printed.
pub(crate) fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}
