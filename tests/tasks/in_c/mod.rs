//! Tasks in programs in C, C++ and Fortran: every call, under sanitizers too, and processes that
//! are killed with what they have.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tidings_experiment::mpi::Mpi;

use crate::place::Place;
use crate::servers::Servers;

/// What every program is compiled with.
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-g"];

/// A program that was started, and speaks line by line.
pub(crate) struct Spoken {
    child: Child,
    lines: BufReader<ChildStdout>,
}

/// Compiles sources, named from the repository's root, and links them with the library.
pub(crate) fn compiled(place: &Place, compiler: &str, flags: &[&str], sources: &[&str]) -> PathBuf {
    let program = place.path(Path::new(sources[0]).file_stem().unwrap().to_str().unwrap());
    let library = tidings_experiment::agents::programs().join("libtidings_tasks_c.a");
    let mut command = Command::new(compiler);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    command.args(WARNINGS).args(flags).args(["-I", "crates/tasks-ffi/include"]);
    command.args(sources).arg(library).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// What a program prints; it must end with 0.
pub(crate) fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

impl Spoken {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Compiles a program of this folder, and runs it with a store of its own.
fn assert_done(compiler: &str, flags: &[&str], source: &str) {
    let place = Place::new();
    let source = format!("tests/tasks/in_c/{source}");
    let program = compiled(&place, compiler, flags, &[&source]);
    assert_says_done(&place, &program);
}

/// Runs a program with a store, and a folder of its own for what it shares.
fn assert_says_done(place: &Place, program: &Path) {
    let mut command = place.with_store(program);
    command.env("TIDINGS_SHARED", place.path("shared"));
    assert_eq!(printed(&mut command), "done\n");
}

/// A process that claims a task or holds a permit until it is told to go on.
pub(crate) fn holder(place: &Place) -> PathBuf {
    compiled(place, "cc", &["-std=gnu11"], &["tests/tasks/in_c/holder.c"])
}

#[test]
fn each_call_does_what_the_header_says() {
    assert_done("cc", &["-std=gnu11"], "calls.c");
}

#[test]
fn each_call_is_sound_under_sanitizers() {
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    assert_done("cc", &[&["-std=gnu11"], &sanitizers[..]].concat(), "calls.c");
}

#[test]
fn tuples_are_put_read_and_pulled() {
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    assert_done("cc", &[&["-std=gnu11"], &sanitizers[..]].concat(), "tuples.c");
}

#[test]
fn flows_are_declared_and_done() {
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    assert_done("cc", &[&["-std=gnu11"], &sanitizers[..]].concat(), "flows.c");
}

#[test]
fn large_blobs_are_shared_by_handle() {
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    assert_done("cc", &[&["-std=gnu11"], &sanitizers[..]].concat(), "handles.c");
}

#[test]
fn the_header_is_cpp_too() {
    assert_done("c++", &["-std=c++11", "-Wpedantic"], "header.cpp");
}

/// Compiles a program in Fortran with these modules of the library, and runs it with a store.
fn assert_done_in_fortran(place: &Place, modules: &[&str], source: &str) {
    let folder = place.path("");
    let flags = ["-std=f2018", "-J", folder.to_str().unwrap()];
    let modules = modules.iter().map(|name| format!("crates/tasks-ffi/fortran/{name}.f90"));
    let mut sources: Vec<String> = modules.collect();
    sources.push(format!("tests/tasks/in_c/{source}"));
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let program = compiled(place, "gfortran", &flags, &sources);
    assert_says_done(place, &program);
}

#[test]
fn fortran_has_the_same() {
    assert_done_in_fortran(&Place::new(), &["tidings_tasks"], "calls.f90");
}

#[test]
fn fortran_has_tuples_and_flows() {
    let modules = ["tidings_tasks", "tidings_tasks_tuples", "tidings_tasks_flows"];
    assert_done_in_fortran(&Place::new(), &modules, "spaces.f90");
}

#[test]
fn a_program_uses_an_etcd() {
    let servers = Servers::start(3);
    let place = Place::of(servers.address("fortran"));
    assert_done_in_fortran(&place, &["tidings_tasks"], "calls.f90");
}

/// Ranks of an MPI get blobs from each other.
fn ranks_share_blobs(mpi: Mpi) {
    let place = Place::new();
    let sources = ["tests/tasks/in_c/one_sided.c", "mpi/tasks/tidings_tasks_mpi.c"];
    let flags = ["-std=gnu11", "-I", "mpi/tasks", "-DTIDINGS_TASKS_MPI_BLOBS=8"];
    let program = compiled(&place, &mpi.compiler("mpicc"), &flags, &sources);
    for ranks in [2, 4] {
        let mut launcher = mpi.launcher(ranks, &place.path(""));
        let command = place.in_store(&mut launcher).arg(&program);
        command.env("TIDINGS_SHARED", place.path(&format!("shared{ranks}")));
        assert_eq!(printed(command), "done\n", "{ranks} ranks");
    }
}

#[test]
fn ranks_of_open_mpi_read_the_blobs_of_others() {
    ranks_share_blobs(Mpi::Open);
}

#[test]
fn ranks_of_mpich_read_the_blobs_of_others() {
    ranks_share_blobs(Mpi::Mpich);
}

/// Four ranks of an MPI have the sum of the squares below a hundred.
fn ranks_share_tasks(mpi: Mpi) {
    let place = Place::new();
    let program =
        compiled(&place, &mpi.compiler("mpicc"), &["-std=gnu11"], &["tests/tasks/in_c/ranks.c"]);
    let mut launcher = mpi.launcher(4, &place.path(""));
    assert_eq!(printed(place.in_store(&mut launcher).arg(program)).trim(), "328350");
}

#[test]
fn ranks_of_open_mpi_share_tasks() {
    ranks_share_tasks(Mpi::Open);
}

#[test]
fn ranks_of_mpich_share_tasks() {
    ranks_share_tasks(Mpi::Mpich);
}

#[test]
fn the_example_squares_numbers() {
    let place = Place::new();
    let program = compiled(&place, "cc", &["-std=c11"], &["examples/tasks.c"]);
    let squares: Vec<u32> = (0..10).map(|number| number * number).collect();
    // Started again it finds what it has done.
    for _ in 0..2 {
        let text = printed(&mut place.with_store(&program));
        assert_eq!(text.lines().map(|line| line.parse().unwrap()).collect::<Vec<u32>>(), squares);
    }
}

#[test]
fn the_task_of_a_process_that_is_killed_goes_to_another() {
    let place = Place::new();
    let program = holder(&place);
    let claim = || Spoken::start(place.with_store(&program).args(["claim", "q"]));
    let put = place.text(&["queue", "put", "q", "--data", "payload"]);
    // The first holds the store too, and serves the second.
    let mut first = claim();
    assert_eq!(first.line(), "attempt 1");
    let mut second = claim();
    drop(first);
    assert_eq!(second.line(), "attempt 2");
    second.go_on();
    assert_eq!(second.line(), "done");
    let shown = place.json(&["task", "show", put.trim(), "--json"]);
    assert_eq!((&shown["state"], &shown["attempts"]), (&"done".into(), &2.into()));
    assert_eq!(shown["failures"][0]["cause"], "lost");
}

#[test]
fn what_is_collected_is_the_same_when_one_of_those_who_collect_is_killed() {
    let place = Place::new();
    let flags = ["-std=gnu11", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compiled(&place, "cc", &flags, &["tests/tasks/in_c/collects.c"]);
    let start = |what| Spoken::start(place.with_store(&program).args([what, "400"]));
    assert_eq!(printed(place.with_store(&program).args(["make", "400"])), "made\n");
    let mut stopped = start("stop");
    assert_eq!(stopped.line(), "combining");
    let mut others = [start("collect"), start("collect")];
    drop(stopped);
    for other in &mut others {
        assert_eq!(other.line(), "79800 seventeen");
    }
}

#[test]
fn the_permits_of_a_process_that_is_killed_go_to_another() {
    let place = Place::new();
    let program = holder(&place);
    let hold = || Spoken::start(place.with_store(&program).args(["hold", "licences"]));
    let mut first = hold();
    assert_eq!(first.line(), "held");
    let mut second = hold();
    drop(first);
    assert_eq!(second.line(), "held");
    second.go_on();
    assert_eq!(second.line(), "done");
}
