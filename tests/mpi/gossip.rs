//! Gossip among the ranks of real MPI programs, and of one on a simulated torus.
//!
//! Four ranks share two cores here, so nothing is said of times: what is checked is that every rank
//! knows every other, that every message that was sent is received, and that too much to do is shed
//! and counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::toolchain::{compile, gossip_sources, root, run, said};

#[derive(Clone, Copy)]
enum Mpi {
    OpenMpi,
    Mpich,
    Smpi,
}

impl Mpi {
    fn compiler(self) -> &'static str {
        match self {
            Self::OpenMpi => "mpicc.openmpi",
            Self::Mpich => "mpicc.mpich",
            Self::Smpi => "smpicc",
        }
    }

    /// The launcher of so many ranks.
    fn launcher(self, ranks: usize) -> Command {
        let mut command = match self {
            Self::OpenMpi => Command::new("mpirun.openmpi"),
            Self::Mpich => Command::new("mpirun.mpich"),
            Self::Smpi => Command::new("smpirun"),
        };
        match self {
            Self::OpenMpi => {
                command.arg("--oversubscribe");
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            Self::Mpich => {}
            Self::Smpi => {
                let torus = root().join("lab/platforms/torus-4x4x4.xml");
                command.arg("-platform").arg(torus).args(["--log=root.thres:error"]);
            }
        }
        command.args(["-n", &ranks.to_string()]);
        command
    }
}

/// The gossip process, built for one MPI.
struct Program {
    mpi: Mpi,
    path: PathBuf,
    directory: TempDir,
}

impl Program {
    fn of(mpi: Mpi) -> Self {
        let directory = TempDir::new().expect("a place for the program");
        let path = directory.path().join("tidings-mpi-gossip");
        // MPICH declares MPI_STATUSES_IGNORE so that this compiler takes it for a short array.
        let flags = ["-O2", "-Wno-stringop-overflow"];
        compile(mpi.compiler(), &gossip_sources(), &flags, &path);
        Self { mpi, path, directory }
    }

    fn run(&self, ranks: usize, arguments: &[&str]) -> Output {
        let mut command = self.mpi.launcher(ranks);
        if matches!(self.mpi, Mpi::Smpi) {
            let hosts = hosts(self.directory.path(), ranks);
            command.arg("-hostfile").arg(hosts);
        }
        run(command.arg(&self.path).args(arguments).current_dir(self.directory.path()))
    }

    fn report(&self, ranks: usize, arguments: &[&str]) -> Value {
        let output = self.run(ranks, arguments);
        assert!(output.status.success(), "{}", said(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.starts_with('{'));
        let line = line.unwrap_or_else(|| panic!("no report: {}", said(&output)));
        serde_json::from_str(line).expect("the report is JSON")
    }
}

/// A file of simulated hosts, one for each rank.
fn hosts(directory: &Path, ranks: usize) -> PathBuf {
    let path = directory.join("hosts");
    let names: String = (0..ranks).map(|host| format!("n{host}\n")).collect();
    fs::write(&path, names).expect("the place can be written");
    path
}

/// What must hold of every run.
fn holds(report: &Value, ranks: u64) {
    assert_eq!(report["ranks"], ranks, "{report}");
    assert_eq!(report["never_heard_pairs"], 0, "{report}");
    assert_eq!(report["messages_sent"], report["messages_received"], "{report}");
    assert!(report["age_avg_units"].as_f64() > Some(0.0), "{report}");
    assert!(report["age_max_units"].as_f64() >= report["age_avg_units"].as_f64(), "{report}");
}

fn ranks_know_each_other(mpi: Mpi) {
    let program = Program::of(mpi);
    for strategy in ["uniform", "grid"] {
        let arguments = ["--interval", "8", "--warmup", "0.5", "--seconds", "0.3"];
        let report = program.report(4, &[&arguments[..], &["--strategy", strategy]].concat());
        holds(&report, 4);
        assert_eq!(report["mode"], "polite");
        assert_eq!(report["strategy"], strategy);
    }
}

#[test]
fn ranks_of_open_mpi_know_each_other() {
    ranks_know_each_other(Mpi::OpenMpi);
}

#[test]
fn ranks_of_mpich_know_each_other() {
    ranks_know_each_other(Mpi::Mpich);
}

/// Windows of 256 KiB each 0.1 ms are more than these cores can do: messages are dropped and
/// counted, units passed over, and at the end not one is missing.
fn overload_is_shed(mpi: Mpi) {
    let program = Program::of(mpi);
    let heavy = ["--interval", "0.1", "--entry", "1024", "--window", "100%", "--slots", "1"];
    let report = program
        .report(4, &[&heavy[..], &["--busy", "--warmup", "0.2", "--seconds", "0.3"]].concat());
    holds(&report, 4);
    assert_eq!(report["mode"], "busy");
    let shed = |counter: &str| report[counter].as_u64().expect("a count");
    assert!(shed("messages_dropped") + shed("rounds_skipped") > 0, "{report}");
}

#[test]
fn overload_under_open_mpi_is_shed_and_counted() {
    overload_is_shed(Mpi::OpenMpi);
}

#[test]
fn overload_under_mpich_is_shed_and_counted() {
    overload_is_shed(Mpi::Mpich);
}

#[test]
fn sixty_four_ranks_gossip_on_a_simulated_torus() {
    let arguments = ["--interval", "16", "--warmup", "0.96", "--seconds", "0.32"];
    let report = Program::of(Mpi::Smpi).report(64, &arguments);
    holds(&report, 64);
    assert_eq!(report["messages_dropped"], 0, "{report}");
    // The paper's algorithm: 64 nodes, 20 %, some 7 units (DESIGN.md: 7.8 at 128 nodes).
    let age = report["age_avg_units"].as_f64().expect("a number");
    assert!((6.0..8.5).contains(&age), "{report}");
}

#[test]
fn wrong_command_lines_are_refused() {
    let program = Program::of(Mpi::OpenMpi);
    let cases = [
        (&["--interval", "0"][..], "--interval cannot be '0'; see --help"),
        (&["--window", "120%"], "--window cannot be '120%'; see --help"),
        (&["--strategy", "best"], "--strategy cannot be 'best'; see --help"),
        (&["--entry"], "--entry is no option, or lacks a value; see --help"),
        (&["more"], "'more' is no option; see --help"),
    ];
    for (arguments, complaint) in cases {
        let output = program.run(2, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(&format!("tidings-mpi-gossip: {complaint}")));
    }
    let alone = program.run(1, &[]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(said(&alone).contains("gossip takes two ranks or more"), "{}", said(&alone));
}
