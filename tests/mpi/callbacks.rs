//! Attributes, keys and error handlers below the shim, in C and Fortran: what a program sets on its
//! world it finds there, and functions that the library calls get MPI_COMM_WORLD.
//!
//! Programs of others showed that Fortran set attributes on the true world, past the shim: its
//! functions call internals of the library. `internals.py` finds all functions that do.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::shim::{GOSSIP, shimmed};
use crate::toolchain::{Mpi, done, place, root, run, said};

/// A program in Fortran, with what it calls in C.
fn with_c(mpi: Mpi, source: &str, of_c: &str, directory: &Path) -> PathBuf {
    let sources = root().join("tests/mpi");
    let (object, program) = (directory.join("of_c.o"), directory.join("program"));
    let mut compiler = Command::new(mpi.compiler("mpicc"));
    done(compiler.arg("-c").arg(sources.join(of_c)).arg("-o").arg(&object));
    let mut compiler = Command::new(mpi.compiler("mpifort"));
    done(compiler.arg(sources.join(source)).arg(object).arg("-o").arg(&program));
    program
}

/// What a program prints on four ranks, which must be what it prints on four of six.
fn the_same(mpi: Mpi, program: &Path, words: &[&str], directory: &Path) -> String {
    let plain = done(mpi.launcher(4, directory).arg(program).args(words));
    let hidden = done(shimmed(mpi, &GOSSIP, directory).arg(program).args(words));
    assert_eq!(hidden, plain, "{mpi:?} {} {words:?}", program.display());
    plain
}

#[test]
fn handlers_and_keys_are_called_as_without_the_shim() {
    for mpi in [Mpi::Open, Mpi::Mpich, Mpi::Abi, Mpi::Open5] {
        let directory = place();
        let program = mpi.compile("callbacks.c", directory.path());
        let said = the_same(mpi, &program, &[], directory.path());
        assert!(said.contains("0: the world has the second: 1"), "{said}");
        assert!(said.contains("3: of the duplicate: 202"), "{said}");
    }
}

#[test]
fn attributes_of_fortran_are_of_the_programs_world() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        for source in ["attributes.f", "attributes_f08.f90"] {
            let directory = place();
            let program = mpi.compile(source, directory.path());
            let said = the_same(mpi, &program, &[], directory.path());
            assert!(said.contains("called with the world T"), "{said}");
        }
    }
}

#[test]
fn c_and_fortran_see_each_others_attributes() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        let directory = place();
        let program = with_c(mpi, "attributes_mpi.f90", "seen_by_c.c", directory.path());
        let said = the_same(mpi, &program, &[], directory.path());
        let line = said.lines().find(|line| line.contains("C sees")).expect("it is printed");
        let numbers: Vec<&str> = line.split_whitespace().skip(2).collect();
        assert_eq!(numbers, ["90", "366"], "{said}");
    }
}

/// A program that begins with a session was refused, since it has no world to hide ranks of.
#[test]
fn a_program_may_begin_with_a_session() {
    for mpi in [Mpi::Mpich, Mpi::Abi, Mpi::Open5] {
        let directory = place();
        let program = mpi.compile("session_first.c", directory.path());
        let said = the_same(mpi, &program, &[], directory.path());
        assert!(said.contains("second: 4 ranks, sum 6, initialized 0"), "{said}");
        let said = the_same(mpi, &program, &["world"], directory.path());
        assert!(said.contains("the world: 4 ranks, initialized 1"), "{said}");
    }
}

/// The Fortran libraries that a program of this MPI loads.
fn fortran_libraries(mpi: Mpi, directory: &Path) -> Vec<String> {
    let program = mpi.compile("world_f08.f90", directory);
    let listed = done(Command::new("ldd").arg(program));
    let paths = listed.lines().filter_map(|line| line.split_whitespace().nth(2));
    let names = ["libmpi_mpifh", "libmpi_usempi", "libmpichfort"];
    let is_of_fortran = |path: &&str| names.iter().any(|name| path.contains(name));
    paths.filter(is_of_fortran).map(str::to_owned).collect()
}

/// What `internals.py` finds that a shim does not reach.
fn internals(shim: &Path, libraries: &[String]) -> Output {
    let script = root().join("tests/mpi/internals.py");
    run(Command::new("python3").arg("-B").arg(script).arg(shim).args(libraries))
}

#[test]
fn no_function_of_fortran_passes_the_shim_by() {
    for (mpi, least) in [(Mpi::Open, 2), (Mpi::Mpich, 1)] {
        let directory = place();
        let libraries = fortran_libraries(mpi, directory.path());
        assert!(libraries.len() >= least, "{mpi:?}: {libraries:?}");
        let output = internals(&mpi.shim(), &libraries);
        assert!(output.status.success(), "{}", said(&output));
        // A library without wrappers reaches nothing: the check can fail.
        let output = internals(&mpi.yielding(), &libraries);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        for name in ["mpi_comm_set_attr_", "mpi_comm_get_attr_", "mpi_attr_put_", "mpi_attr_get_"] {
            assert!(said(&output).contains(name), "{name}: {}", said(&output));
        }
    }
}
