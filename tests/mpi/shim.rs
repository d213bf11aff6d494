//! The shim below unmodified programs: nothing tells them of hidden ranks, and what it cannot do is
//! refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::toolchain::{Mpi, done, place, run, said};

/// How ranks are hidden, and from how many.
pub(crate) struct Hiding {
    variables: &'static [(&'static str, &'static str)],
    ranks: usize,
}

/// Four ranks and two that gossip.
pub(crate) const GOSSIP: Hiding = Hiding {
    variables: &[("TIDINGS_HIDE", "every:3"), ("TIDINGS_GOSSIP", "--interval 4 --window 100%")],
    ranks: 6,
};

/// Four ranks and two that sleep.
const SLEEP: Hiding =
    Hiding { variables: &[("TIDINGS_HIDE", "every:3"), ("TIDINGS_HIDDEN", "sleep")], ranks: 6 };

/// Four ranks and one that has no other to gossip with, the last of the machine.
const ONE_A_NODE: Hiding =
    Hiding { variables: &[("TIDINGS_HIDE", "node"), ("TIDINGS_HIDE_ONE_A_NODE", "1")], ranks: 5 };

/// The launcher with the shim below the program that is to follow.
pub(crate) fn shimmed(mpi: Mpi, hiding: &Hiding, directory: &Path) -> Command {
    shimmed_with(mpi, hiding, directory, &[])
}

/// The same with other libraries above the shim.
pub(crate) fn shimmed_with(
    mpi: Mpi,
    hiding: &Hiding,
    directory: &Path,
    above: &[PathBuf],
) -> Command {
    let mut command = mpi.launcher(hiding.ranks, directory);
    command.envs(hiding.variables.iter().copied());
    mpi.preload(&mut command, &[above, &[mpi.shim()]].concat());
    command
}

/// Both must print the same: the program on four ranks, and on more of which four are its own.
fn tells_nothing(mpi: Mpi, source: &str, hidings: &[Hiding]) {
    let directory = place();
    let program = mpi.compile(source, directory.path());
    let plain = done(mpi.launcher(4, directory.path()).arg(&program));
    assert!(!plain.is_empty());
    for hiding in hidings {
        let hidden = done(shimmed(mpi, hiding, directory.path()).arg(&program));
        assert_eq!(hidden, plain, "{source} with {:?}", hiding.variables);
    }
    // Without the shim more ranks are more ranks: the comparison can fail.
    let six = done(mpi.launcher(6, directory.path()).arg(&program));
    assert_ne!(six, plain);
}

#[test]
fn no_query_of_open_mpi_tells_of_hidden_ranks() {
    tells_nothing(Mpi::Open, "leaks.c", &[GOSSIP, SLEEP, ONE_A_NODE]);
}

#[test]
fn no_query_of_mpich_tells_of_hidden_ranks() {
    tells_nothing(Mpi::Mpich, "leaks.c", &[GOSSIP, SLEEP, ONE_A_NODE]);
}

#[test]
fn no_query_of_open_mpi_5_tells_of_hidden_ranks() {
    tells_nothing(Mpi::Open5, "leaks.c", &[GOSSIP, ONE_A_NODE]);
}

#[test]
fn no_query_by_the_standards_abi_tells_of_hidden_ranks() {
    tells_nothing(Mpi::Abi, "leaks.c", &[GOSSIP]);
}

#[test]
fn fortran_does_not_see_hidden_ranks() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        for source in ["world.f", "world_mpi.f90", "world_f08.f90"] {
            tells_nothing(mpi, source, &[GOSSIP]);
        }
    }
}

#[test]
fn a_program_that_spawns_is_refused_and_its_exit_code_kept() {
    let directory = place();
    let program = Mpi::Mpich.compile("spawn.c", directory.path());
    let output = run(shimmed(Mpi::Mpich, &GOSSIP, directory.path()).arg(program));
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert!(said(&output).lines().any(|line| line == "refused"), "{}", said(&output));
    assert!(said(&output).contains("MPI_Comm_spawn is unavailable"), "{}", said(&output));
}

/// A run of four ranks with these variables, of a program that would do well without.
fn refusal(variables: &'static [(&'static str, &'static str)], program: &Path) -> Output {
    let directory = place();
    let hiding = Hiding { variables, ranks: 4 };
    run(shimmed(Mpi::Mpich, &hiding, directory.path()).arg(program))
}

#[test]
fn what_cannot_be_hidden_is_refused_with_the_remedy() {
    let directory = place();
    let program = Mpi::Mpich.compile("leaks.c", directory.path());
    let cases: [(&'static [(&'static str, &'static str)], &str); 3] = [
        (&[("TIDINGS_HIDE", "every:9")], "every:9, but there are 4 ranks: start more"),
        (&[("TIDINGS_HIDE", "some")], "TIDINGS_HIDE cannot be 'some': write every:K"),
        (
            &[("TIDINGS_HIDE", "every:2"), ("TIDINGS_HIDE_ONE_A_NODE", "1")],
            "not every node has one hidden rank",
        ),
    ];
    for (variables, complaint) in cases {
        let output = refusal(variables, &program);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(complaint), "{}", said(&output));
    }
}

#[test]
fn gossip_that_cannot_be_leaves_the_program_alone() {
    let directory = place();
    let program = Mpi::Mpich.compile("leaks.c", directory.path());
    let wrong: &[(&str, &str)] =
        &[("TIDINGS_HIDE", "every:2"), ("TIDINGS_GOSSIP", "--window nothing")];
    let output = refusal(wrong, &program);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("--window cannot be 'nothing'; the hidden ranks sleep"));
}
