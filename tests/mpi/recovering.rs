//! Recovery on the ranks of real MPI programs: ranks kill themselves, and every sum is right.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;
use tidings_experiment::agents::programs;

use crate::toolchain::{Mpi, done, place, root, run, said};

/// The program, built once for each MPI for all tests of this process.
pub(crate) fn program(mpi: Mpi) -> (PathBuf, PathBuf) {
    static BUILT: [OnceLock<TempDir>; 5] = [const { OnceLock::new() }; 5];
    let folder = BUILT[mpi as usize].get_or_init(|| {
        let folder = place();
        let library = programs().join("libtidings_recovery_c.a");
        let mut build = Command::new(root().join("mpi/recover/build"));
        build.arg(mpi.compiler("mpicc")).arg(library).arg(folder.path());
        if mpi == Mpi::Open5 {
            build.arg(programs().join("libtidings_tasks_c.a"));
        }
        done(&mut build);
        folder
    });
    let name = format!("tidings-mpi-recover.{}", mpi.name());
    (folder.path().join(name), folder.path().to_owned())
}

/// Runs it on ranks that survive the deaths of others.
pub(crate) fn survived(ranks: usize, words: &str) -> Output {
    let (program, folder) = program(Mpi::Open5);
    let mut launcher = Mpi::Open5.launcher(ranks, &folder);
    launcher.args(["--with-ft", "ulfm", "--mca", "async_mpi_finalize", "1"]);
    run(launcher.arg(program).args(words.split(' ')))
}

pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// With each scheme, so many ranks die and the sums of all phases are right.
fn is_exact(ranks: usize, deaths: usize, words: &str) {
    for scheme in ["lazy", "collective", "non-collective"] {
        let output = survived(ranks, &format!("--scheme {scheme} --phases 3 {words}"));
        let (lines, text) = (lines(&output), said(&output));
        assert_eq!((output.status.code(), lines.len()), (Some(0), 3), "{scheme}: {text}");
        assert!(lines.iter().all(|line| line["right"] == true), "{scheme}: {text}");
        let last = &lines[2];
        assert_eq!((&last["deaths"], &last["ranks"]), (&deaths.into(), &(ranks - deaths).into()));
        assert!(last["again"].as_u64() > Some(0), "{scheme}: {text}");
    }
}

#[test]
fn sums_are_right_when_a_rank_dies() {
    is_exact(4, 1, "--tasks 400 --kill 2,40");
}

#[test]
fn sums_are_right_when_the_first_rank_dies() {
    is_exact(3, 1, "--tasks 400 --kill 0,60");
}

#[test]
fn sums_are_right_when_two_die_at_once() {
    is_exact(5, 2, "--tasks 400 --kill 1,20 --kill 2,20");
}

/// The second has run all of the first phase, and dies with what it recovers, or soon after.
#[test]
fn sums_are_right_when_a_rank_dies_in_the_recovery() {
    is_exact(4, 2, "--tasks 400 --kill 1,30 --kill 3,120");
}

#[test]
fn a_block_without_a_copy_begins_again() {
    let output = survived(4, "--alone --tasks 400 --kill 1,10");
    let lines = lines(&output);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!((&lines[0]["right"], &lines[0]["deaths"]), (&true.into(), &1.into()));
    assert!(lines[0]["begun_again"].as_u64() > Some(0), "{}", lines[0]);
}

/// What a block held before the phase is nowhere: that is said, and no rank waits. However the
/// others are slowed, no rank runs more than all 400 tasks in the first phase: the 401st is in a
/// later one.
#[test]
fn a_lost_block_is_named() {
    for words in ["--refuse --kill 1,10", "--phases 40 --kill 1,401"] {
        let output = survived(4, &format!("--alone --tasks 400 {words}"));
        let text = said(&output);
        assert_eq!(output.status.code(), Some(5), "{text}");
        assert!(text.contains("block 1 of array `sums` is lost: its owner died"), "{text}");
    }
}

/// Ranks, tasks, schemes and who dies when are drawn; half of the deaths come from outside, also
/// while no task runs. The study has the long pass.
#[test]
fn random_runs_are_exact_or_refused_by_name() {
    let (program, folder) = program(Mpi::Open5);
    let mut runs = Command::new("python3");
    runs.arg("-B").arg(root().join("studies/recovery/random_runs.py"));
    runs.arg("--mpirun").arg(Mpi::Open5.compiler("mpirun")).arg("--program").arg(program);
    let said = done(runs.args(["--runs", "8", "--seed", "1001"]).current_dir(folder));
    assert!(said.contains("0 wrong, 0 hung"), "{said}");
}

/// It works, and says that a death would end the job.
#[test]
fn without_fault_tolerance_recovery_is_off() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        let (program, folder) = program(mpi);
        let output = run(mpi.launcher(3, &folder).arg(program).args(["--tasks", "200"]));
        let text = said(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.contains("recovery is off, and a death ends the job"), "{text}");
        assert!(text.contains("\"right\":true"), "{text}");
    }
}

#[test]
fn what_is_not_declared_ends_the_job() {
    let (program, folder) = program(Mpi::Mpich);
    let output = run(Mpi::Mpich.launcher(2, &folder).arg(program).arg("--stray"));
    let text = said(&output);
    assert!(!output.status.success() && !text.contains("\"right\""), "{text}");
    // On a loaded machine a launcher lacks what a rank says last.
    assert!(text.contains("has not declared that") || text.contains("MPI_COMM_WORLD"), "{text}");
}

/// A program in Fortran with the library's module. Open MPI 5 from PyPI has no Fortran.
#[test]
fn fortran_has_the_same() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        let folder = place();
        let mut objects = Vec::new();
        for name in [
            "recover/tidings_recover_mpi",
            "steal/enter",
            "steal/mail",
            "steal/coming",
            "steal/bell",
            "steal/deaths",
        ] {
            let object = folder.path().join(name.replace('/', "_")).with_extension("o");
            let mut compiler = Command::new(mpi.compiler("mpicc"));
            compiler.args(["-std=gnu11", "-I", "crates/recovery-ffi/include"]);
            compiler.args(["-I", "crates/steal-ffi/include", "-c"]).current_dir(root());
            done(compiler.arg(format!("mpi/{name}.c")).arg("-o").arg(&object));
            objects.push(object);
        }
        let program = folder.path().join("recovering");
        let mut compiler = Command::new(mpi.compiler("mpifort"));
        compiler.arg("-J").arg(folder.path()).current_dir(root());
        compiler.args(["mpi/recover/tidings_recover_mpi.f90", "tests/mpi/recovering.f90"]);
        compiler.args(objects).arg(programs().join("libtidings_recovery_c.a"));
        done(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
        assert_eq!(done(mpi.launcher(3, folder.path()).arg(program)), "done\n");
    }
}

#[test]
fn impossible_words_are_rejected() {
    let (program, _) = program(Mpi::Mpich);
    let checkpoint = ["--scheme", "checkpoint"]; // without a folder
    for words in [["--scheme", "eager"], ["--kill", "2"], ["--blocks", "0"], checkpoint] {
        let code = crate::toolchain::refused(Mpi::Mpich, &program, 2, &words, words[0]);
        assert_eq!(code, Some(2), "{words:?}");
    }
}
