//! The MPIs that Debian has side by side, Open MPI, MPICH and SimGrid's SMPI; what is built for
//! them here, and how their programs are started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;
use tidings_tests::agents::programs;

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository")
}

/// The gossip core as C has it.
pub(crate) fn library() -> PathBuf {
    programs().join("libtidings_node.a")
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mpi {
    Open,
    Mpich,
    Simulated,
}

impl Mpi {
    /// Its name in file names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "openmpi",
            Self::Mpich => "mpich",
            Self::Simulated => "smpi",
        }
    }

    /// What `mpi/build` builds for it, once for all tests of this process.
    fn built(self) -> &'static Path {
        static BUILT: [OnceLock<TempDir>; 3] = [const { OnceLock::new() }; 3];
        BUILT[self as usize]
            .get_or_init(|| {
                let directory = place();
                let mpicc = match self {
                    Self::Open => "mpicc.openmpi",
                    Self::Mpich => "mpicc.mpich",
                    Self::Simulated => "smpicc",
                };
                let mut build = Command::new(root().join("mpi/build"));
                done(build.arg(mpicc).arg(library()).arg(directory.path()));
                directory
            })
            .path()
    }

    /// The gossip process.
    pub(crate) fn gossip(self) -> PathBuf {
        self.built().join(format!("tidings-mpi-gossip.{}", self.name()))
    }

    /// The shim.
    pub(crate) fn shim(self) -> PathBuf {
        self.built().join(format!("libtidings-shim.{}.so", self.name()))
    }

    /// Builds a program of tests/mpi with this MPI's compiler for its language.
    pub(crate) fn compile(self, source: &str, directory: &Path) -> PathBuf {
        let is_c = Path::new(source).extension().is_some_and(|extension| extension == "c");
        let compiler = if is_c { "mpicc" } else { "mpifort" };
        let program = directory.join(source.replace('.', "_"));
        let mut command = Command::new(format!("{compiler}.{}", self.name()));
        done(command.arg(root().join("tests/mpi").join(source)).arg("-o").arg(&program));
        program
    }

    /// The launcher of so many ranks, in a directory. A simulated machine has 64 at most.
    pub(crate) fn launcher(self, ranks: usize, directory: &Path) -> Command {
        let mut command = match self {
            Self::Open => Command::new("mpirun.openmpi"),
            Self::Mpich => Command::new("mpirun.mpich"),
            Self::Simulated => Command::new("smpirun"),
        };
        match self {
            Self::Open => {
                command.arg("--oversubscribe");
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            Self::Mpich => {}
            Self::Simulated => {
                let torus = root().join("lab/platforms/torus-4x4x4.xml");
                command.arg("-platform").arg(torus).arg("--log=root.thres:error");
                command.arg("-hostfile").arg(simulated_hosts(directory, ranks));
            }
        }
        command.args(["-n", &ranks.to_string()]).current_dir(directory);
        command
    }
}

/// A file of simulated hosts, one for each rank.
fn simulated_hosts(directory: &Path, ranks: usize) -> PathBuf {
    let path = directory.join("hosts");
    let names: Vec<String> = (0..ranks).map(|host| format!("n{host}")).collect();
    fs::write(&path, names.join("\n")).expect("the place can be written");
    path
}

/// A directory of a test's own.
pub(crate) fn place() -> TempDir {
    TempDir::new().expect("there is room for temporary files")
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().unwrap_or_else(|error| panic!("{name}: {error}; is it installed?"))
}

/// Runs a command that must succeed; returns its standard output.
pub(crate) fn done(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All that a program printed.
pub(crate) fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}
