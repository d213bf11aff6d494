//! All ranks on this machine, started by mpirun of Open MPI or of MPICH.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::kinds::{Mpi, MpiFamily};
use super::order::{Order, find_launcher, preloaded};
use crate::ExperimentError;
use crate::program::find;
use crate::run::Launch;

/// mpirun, and the libraries that go below what it starts.
#[derive(Debug)]
pub(super) struct Launcher {
    program: PathBuf,
    mpi: Mpi,
    /// As LD_PRELOAD names it.
    preloaded: Option<String>,
}

impl Launcher {
    /// Finds the launcher of an MPI.
    ///
    /// # Errors
    /// [`ExperimentError::Program`] if it or the shim is not here.
    pub(super) fn find(mpi: &Mpi) -> Result<Self, ExperimentError> {
        let program = match (&mpi.launcher, mpi.family) {
            (Some(launcher), _) => find(&launcher.to_string_lossy(), std::path::Path::new("."))?,
            (None, MpiFamily::OpenMpi) => find_launcher(
                &["mpirun.openmpi", "mpirun"],
                "Open MPI",
                "install Open MPI (Debian: openmpi-bin), or name its `launcher`",
            )?,
            (None, MpiFamily::Mpich) => find_launcher(
                &["mpirun.mpich", "mpiexec.hydra", "mpirun"],
                "HYDRA",
                "install MPICH (Debian: mpich), or name its `launcher`",
            )?,
        };
        Ok(Self { program, mpi: mpi.clone(), preloaded: preloaded(mpi)? })
    }

    /// What starts a run.
    pub(super) fn launch(&self, order: &Order<'_>) -> Launch {
        let mut words = vec![self.program.display().to_string()];
        words.extend(["-n".to_owned(), order.ranks.to_string()]);
        let mut environment = order.environment.clone();
        if self.mpi.family == MpiFamily::OpenMpi {
            // With a file of places it would be a second policy, which is refused.
            words.extend((!self.is_placed(order)).then(|| "--oversubscribe".to_owned()));
            // It refuses root otherwise; the user of a campaign has decided which user runs it.
            for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
                environment.push((name.to_owned(), "1".to_owned()));
            }
        }
        words.extend(self.arguments(order).cloned());
        words.extend(self.handed_on(&order.environment));
        words.extend(order.application.iter().cloned());
        let directory = order.directory.to_owned();
        Launch { words, environment, directory, ..Launch::default() }
    }

    /// The arguments that the machine and the program ask for.
    fn arguments<'a>(&'a self, order: &'a Order<'_>) -> impl Iterator<Item = &'a String> {
        self.mpi.launcher_arguments.iter().chain(order.launcher_arguments)
    }

    /// Whether one of them names a file that says where ranks are.
    pub(super) fn is_placed(&self, order: &Order<'_>) -> bool {
        let files: &[&str] = match self.mpi.family {
            MpiFamily::OpenMpi => &["--rankfile", "-rankfile", "-rf"],
            MpiFamily::Mpich => &["-f", "-machinefile"],
        };
        self.arguments(order).any(|word| files.contains(&word.as_str()))
    }

    /// Options that hand variables to the ranks. LD_PRELOAD is for them alone: the launcher is no
    /// MPI program.
    fn handed_on(&self, variables: &[(String, String)]) -> Vec<String> {
        let preload = self.preloaded.iter().map(|names| ("LD_PRELOAD".to_owned(), names.clone()));
        match self.mpi.family {
            MpiFamily::OpenMpi => {
                let names: BTreeSet<String> =
                    variables.iter().map(|(name, _)| name.clone()).collect();
                let preload = preload.map(|(name, value)| format!("{name}={value}"));
                names.into_iter().chain(preload).flat_map(|word| ["-x".to_owned(), word]).collect()
            }
            MpiFamily::Mpich => {
                let all = variables.iter().cloned().chain(preload);
                all.flat_map(|(name, value)| ["-genv".to_owned(), name, value]).collect()
            }
        }
    }
}
