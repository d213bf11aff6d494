//! The shim below unmodified programs: nothing tells them of hidden ranks, and their results are
//! those of a plain run with as many ranks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::toolchain::{Mpi, done, place, root, run, said};

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

/// Four ranks and one that has nobody to gossip with, the last of the machine.
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
fn no_query_by_the_standards_abi_tells_of_hidden_ranks() {
    tells_nothing(Mpi::Abi, "leaks.c", &[GOSSIP]);
}

#[test]
fn fortran_is_not_told_of_hidden_ranks() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        for source in ["world.f", "world_mpi.f90", "world_f08.f90"] {
            tells_nothing(mpi, source, &[GOSSIP]);
        }
    }
}

/// The lines of LAMMPS's log that say what was computed.
fn thermo(directory: &Path, launcher: &mut Command) -> Vec<String> {
    let input = root().join("tests/mpi/melt.in");
    done(launcher.arg("lmp").arg("-in").arg(input).args(["-log", "melt.log"]));
    let log = fs::read_to_string(directory.join("melt.log")).expect("LAMMPS keeps a log");
    let computed = log.lines().skip_while(|line| !line.starts_with("Step"));
    computed.take_while(|line| !line.starts_with("Loop")).map(str::to_owned).collect()
}

#[test]
fn lammps_computes_the_same_to_the_last_digit() {
    let directory = place();
    let plain = thermo(directory.path(), &mut Mpi::Open.launcher(4, directory.path()));
    assert!(plain.len() > 5, "{plain:?}");
    let mut command = shimmed(Mpi::Open, &GOSSIP, directory.path());
    command.env("TIDINGS_REPORT", "gossip.json").env("TIDINGS_TIMES", "times.json");
    assert_eq!(thermo(directory.path(), &mut command), plain);
    let read = |file| -> Value {
        let text = fs::read_to_string(directory.path().join(file)).expect("it was written");
        serde_json::from_str(&text).expect("it is JSON")
    };
    let gossip = read("gossip.json");
    assert_eq!(gossip["ranks"], 2, "{gossip}");
    assert_eq!(gossip["messages_sent"], gossip["messages_received"], "{gossip}");
    assert!(gossip["rounds"].as_u64() > Some(0), "{gossip}");
    let times = read("times.json");
    assert_eq!(times["ranks"], 4, "{times}");
    assert!(times["calls"].as_u64() > Some(100), "{times}");
    let share = times["mpi_share"].as_f64().expect("a number");
    assert!(share > 0.0 && share <= 1.0, "{times}");
}

/// What pw.x printed of silicon on four ranks, but for times.
fn energies(directory: &Path, launcher: &mut Command) -> Vec<String> {
    let examples = Path::new("/usr/share/doc/quantum-espresso/examples");
    let potential = examples.join("EPW/sic/pp/Si.pz-vbc.UPF.gz");
    let text = done(Command::new("zcat").arg(potential));
    fs::write(directory.join("Si.pz-vbc.UPF"), text).expect("the place can be written");
    let input = root().join("tests/mpi/silicon.in");
    let printed = done(launcher.arg("pw.x").args(["-ndiag", "1", "-in"]).arg(input));
    let is_time = |line: &str| {
        [" CPU ", "cpu time", " starts on ", "terminated on"].iter().any(|time| line.contains(time))
    };
    printed.lines().filter(|line| !is_time(line)).map(str::to_owned).collect()
}

#[test]
fn quantum_espresso_computes_the_same_to_the_last_digit() {
    let directory = place();
    let mut plain = Mpi::Open.launcher(4, directory.path());
    Mpi::Open.preload(&mut plain, &[Mpi::Open.yielding()]);
    let plain = energies(directory.path(), &mut plain);
    let above = [Mpi::Open.yielding()];
    let mut hidden = shimmed_with(Mpi::Open, &GOSSIP, directory.path(), &above);
    assert_eq!(energies(directory.path(), &mut hidden), plain);
    for told in ["running on     4 processors", "!    total energy", "Total force =", "P= "] {
        assert!(plain.iter().any(|line| line.contains(told)), "{told} is missing: {plain:?}");
    }
}

#[test]
fn hpcc_succeeds_on_the_ranks_that_are_its_own() {
    let directory = place();
    let example = fs::read_to_string("/usr/share/doc/hpcc/examples/_hpccinf.txt");
    let example = example.expect("Debian's hpcc has an example").replace("\n1000  ", "\n64  ");
    let example = example.replace("\n80    ", "\n16    ");
    fs::write(directory.path().join("hpccinf.txt"), example).expect("the place can be written");
    done(shimmed(Mpi::Open, &GOSSIP, directory.path()).arg("hpcc"));
    let result = fs::read_to_string(directory.path().join("hpccoutf.txt")).expect("a result");
    for line in ["Success=1", "CommWorldProcs=4", "PTRANS_residual=0"] {
        assert!(result.lines().any(|found| found == line), "{line} is missing:\n{result}");
    }
}

#[test]
fn a_program_that_spawns_is_refused_and_its_exit_code_kept() {
    let directory = place();
    let program = Mpi::Mpich.compile("spawn.c", directory.path());
    let output = run(shimmed(Mpi::Mpich, &GOSSIP, directory.path()).arg(program));
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert!(said(&output).lines().any(|line| line == "refused"), "{}", said(&output));
    assert!(said(&output).contains("MPI_Comm_spawn cannot be had"), "{}", said(&output));
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
