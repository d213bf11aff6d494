//! Which backends there are, and what each has to know.

use std::path::PathBuf;

use serde::Deserialize;

use crate::hosts::Network;

/// Where programs run.
#[derive(Clone, Debug, PartialEq)]
pub enum Backend {
    /// All ranks on this machine.
    Local(Mpi),
    /// Each node a host of its own on this machine.
    Hosts(Mpi, Network),
    /// Nodes of a Slurm cluster.
    Slurm(Mpi, Vec<String>),
    /// A simulated machine, in virtual time.
    Smpi(SimulatedMachine),
    /// This machine, without MPI: a program is one process.
    Plain,
}

/// A real MPI, and what is preloaded below its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// Which one.
    pub family: MpiFamily,
    /// The library to preload below the ranks, if any: a shim.
    pub shim: Option<PathBuf>,
    /// The library to preload before it that has waiting ranks let others run, if any.
    pub yielding: Option<PathBuf>,
    /// Its launcher, where it is not Debian's.
    pub launcher: Option<PathBuf>,
    /// Further arguments of its launcher.
    pub launcher_arguments: Vec<String>,
}

/// The MPIs whose launchers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MpiFamily {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
}

impl MpiFamily {
    /// Its name in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
        }
    }
}

/// A machine of SimGrid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedMachine {
    /// The platform file.
    pub platform: PathBuf,
    /// The name of its hosts, `{}` for their number.
    pub host_pattern: String,
    /// Further arguments of smpirun.
    pub launcher_arguments: Vec<String>,
}

impl Backend {
    /// The MPI of its launcher, if it is a real one.
    pub fn mpi(&self) -> Option<&Mpi> {
        match self {
            Self::Local(mpi) | Self::Hosts(mpi, _) | Self::Slurm(mpi, _) => Some(mpi),
            Self::Smpi(_) | Self::Plain => None,
        }
    }

    /// Whether a run takes the same time whenever it is repeated.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Self::Smpi(_))
    }

    /// Whether runs are on this machine, and in its own time.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Local(_) | Self::Hosts(..) | Self::Plain)
    }
}
