//! Backends: how a run is started where an experiment says.
//!
//! A [`Starter`] is made ready once, before the first run, and finds out then what is missing: the
//! launcher, what is preloaded, the platform. After that a run is a [`Launch`], words and
//! variables, and nothing but those.

mod bounds;
mod hosts;
mod kinds;
mod linked;
mod local;
mod order;
mod own_links;
mod simulated;
mod slurm;
mod text;

use std::time::Duration;

use crate::ExperimentError;
use crate::hosts::Mesh;
use crate::run::Launch;

pub use kinds::{Backend, Mpi, MpiFamily, SimulatedMachine};
pub use linked::must_fit;
pub use order::Order;
pub use text::BackendText;

/// What starts runs of programs with a backend.
#[derive(Debug)]
pub struct Starter(Kind);

#[derive(Debug)]
enum Kind {
    Local(local::Launcher),
    Hosts(Box<hosts::Launcher>),
    Slurm(slurm::Launcher),
    Simulated(simulated::Launcher),
    Plain,
}

impl Starter {
    /// Makes ready what runs on so many nodes at most need.
    ///
    /// # Errors
    /// [`ExperimentError::Program`] or [`ExperimentError::Machine`] for what is missing.
    pub fn prepare(backend: &Backend, most_nodes: u32) -> Result<Self, ExperimentError> {
        Ok(Self(match backend {
            Backend::Local(mpi) => Kind::Local(local::Launcher::find(mpi)?),
            Backend::Hosts(mpi, network) => {
                Kind::Hosts(Box::new(hosts::Launcher::make(mpi, network, most_nodes)?))
            }
            Backend::Slurm(mpi, words) => Kind::Slurm(slurm::Launcher::find(mpi, words)?),
            Backend::Smpi(machine) => Kind::Simulated(simulated::Launcher::find(machine)?),
            Backend::Plain => Kind::Plain,
        }))
    }

    /// What is to be started for a run, in a directory of its own that is there.
    ///
    /// # Errors
    /// [`ExperimentError::Unwritable`] if a file that the launcher reads cannot be laid there.
    pub fn launch(&self, order: &Order<'_>) -> Result<Launch, ExperimentError> {
        match &self.0 {
            Kind::Local(launcher) => Ok(launcher.launch(order)),
            Kind::Hosts(launcher) => Ok(launcher.launch(order)),
            Kind::Slurm(launcher) => Ok(launcher.launch(order)),
            Kind::Simulated(launcher) => launcher.launch(order),
            Kind::Plain => Ok(order.plain()),
        }
    }

    /// The hosts that were made for it, if they have links of their own.
    pub fn mesh(&self) -> Option<&Mesh> {
        match &self.0 {
            Kind::Hosts(launcher) => launcher.mesh(),
            Kind::Local(_) | Kind::Slurm(_) | Kind::Simulated(_) | Kind::Plain => None,
        }
    }

    /// How long a launcher may take to end, if longer than usual.
    pub fn farewell(&self) -> Option<Duration> {
        matches!(self.0, Kind::Slurm(_)).then_some(slurm::FAREWELL)
    }
}
