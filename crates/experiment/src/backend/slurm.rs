//! Nodes of a Slurm cluster: each run is a job step, started by srun.
//!
//! Slurm's block distribution fills node after node. The folder of the campaign must lie where all
//! nodes see it.

use std::path::PathBuf;
use std::time::Duration;

use super::kinds::{Mpi, MpiFamily};
use super::order::{Order, find_launcher, preloaded};
use crate::ExperimentError;
use crate::run::Launch;

/// How long srun may take to end: it waits for Slurm to end the job, by default 32 seconds, and
/// would leave it in the queue if it were killed before.
pub(super) const FAREWELL: Duration = Duration::from_secs(45);

/// srun, and the libraries that go below what it starts.
#[derive(Debug)]
pub(super) struct Launcher {
    program: PathBuf,
    words: Vec<String>,
    /// As LD_PRELOAD names it.
    preloaded: Option<String>,
}

impl Launcher {
    /// Finds srun.
    ///
    /// # Errors
    /// [`ExperimentError::Program`] if it or the shim is not here.
    pub(super) fn find(mpi: &Mpi, arguments: &[String]) -> Result<Self, ExperimentError> {
        let remedy = "install Slurm's client (Debian: slurm-client)";
        let program = find_launcher(&["srun"], "slurm", remedy)?;
        let interface = match mpi.family {
            MpiFamily::OpenMpi => "--mpi=pmix",
            MpiFamily::Mpich => "--mpi=pmi2",
        };
        let mut words = vec![interface.to_owned(), "--distribution=block".to_owned()];
        words.extend(mpi.launcher_arguments.iter().chain(arguments).cloned());
        Ok(Self { program, words, preloaded: preloaded(mpi)? })
    }

    /// What starts a run.
    pub(super) fn launch(&self, order: &Order<'_>) -> Launch {
        let mut words = vec![self.program.display().to_string()];
        words.push(format!("--nodes={}", order.nodes));
        words.push(format!("--ntasks={}", order.ranks));
        words.push(format!("--ntasks-per-node={}", order.ranks / order.nodes));
        words.push("--overcommit".to_owned());
        words.extend(self.words.iter().chain(order.launcher_arguments).cloned());
        let environment = order.environment.clone();
        words.extend(self.preloaded.iter().map(|names| format!("--export=ALL,LD_PRELOAD={names}")));
        words.extend(order.application.iter().cloned());
        let directory = order.directory.to_owned();
        Launch { words, environment, directory, farewell: Some(FAREWELL), adopts: false }
    }
}
