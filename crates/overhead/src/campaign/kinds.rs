//! What a campaign holds.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tidings_experiment::backend::Backend;
use tidings_experiment::conduct::OnFailure;
use tidings_experiment::pressure::Contamination;
use tidings_experiment::reading::Reading;
use tidings_experiment::scheduling::Scheduling;

/// The file in a run's directory that the shim writes its times to.
pub(crate) const TIMES: &str = "tidings-times.json";

/// A campaign, checked.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Its name, for people.
    pub name: String,
    /// What all chance comes from: the order of runs, the seeds of gossip.
    pub seed: u64,
    /// How many repetitions.
    pub repetitions: u32,
    /// Repetitions before those, whose runs count for nothing.
    pub warm_up: u32,
    /// How long a run may take before it is ended, in seconds.
    pub limit_s: f64,
    /// What a run that fails means for the campaign.
    pub on_failure: OnFailure,
    /// How its processes are scheduled.
    pub scheduling: Scheduling,
    /// Numbers of nodes.
    pub nodes: Vec<u32>,
    /// Ranks on a node, the hidden one included.
    pub ranks_per_node: u32,
    /// Every k-th rank is hidden.
    pub every: u32,
    /// What the arms are compared with.
    pub baseline: Doing,
    /// The arms: controls, then gossip.
    pub arms: Vec<Doing>,
    /// Further options of gossip.
    pub gossip_options: Vec<String>,
    /// Bounds beyond which a run is disturbed.
    pub contamination: Contamination,
    /// The applications.
    pub applications: Vec<Application>,
    /// Where they run.
    pub backend: Backend,
    /// The folder of the file: relative paths begin there.
    pub folder: PathBuf,
    /// SHA-256 of the file's text.
    pub digest: String,
    /// The file's text.
    pub text: String,
}

/// What the hidden ranks do while an application runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "arm")]
pub enum Doing {
    /// There are none: as many ranks fewer are started.
    None,
    /// They sleep: the node's core is left idle, as in the paper.
    Asleep,
    /// They look for messages without pause, and none comes.
    Busy,
    /// They gossip.
    Gossip {
        /// The unit of time, in milliseconds.
        interval_ms: f64,
        /// Entries sent in a unit, a number or per cent of the nodes.
        window: String,
        /// Bytes of payload in an entry.
        entry_bytes: u32,
    },
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none hidden"),
            Self::Asleep => f.write_str("asleep"),
            Self::Busy => f.write_str("busy"),
            Self::Gossip { interval_ms, window, entry_bytes } => {
                write!(f, "gossip {interval_ms} ms {window} {entry_bytes} B")
            }
        }
    }
}

/// An application, and where it says how long it took.
#[derive(Clone, Debug)]
pub struct Application {
    /// Its name in tables.
    pub name: String,
    /// Program and arguments. `{gossip}`, `{nodes}`, `{ranks}` and `{seed}` are replaced.
    pub command: Vec<String>,
    /// Files copied into the run's directory, by their name there.
    pub files: Vec<(String, PathBuf)>,
    /// Variables of the environment.
    pub environment: Vec<(String, String)>,
    /// Whether it is not linked to an MPI but loads one when it runs.
    pub loads_mpi: bool,
    /// The time that counts.
    pub seconds: Reading,
    /// Seconds of its phases, by name.
    pub phases: Vec<(String, Reading)>,
    /// The object in which it names all of its phases itself.
    pub phases_object: Option<(String, String)>,
    /// Further figures, by name.
    pub figures: Vec<(String, Reading)>,
}

impl Campaign {
    /// Ranks of a run, and how many of them are hidden.
    pub fn ranks(&self, nodes: u32, doing: &Doing) -> (u32, u32) {
        let all = nodes * self.ranks_per_node;
        let hidden = all / self.every;
        match doing {
            Doing::None => (all - hidden, 0),
            _ => (all, hidden),
        }
    }

    /// Whether runs are on other machines, which alone know what else they do.
    pub fn is_on_nodes(&self) -> bool {
        matches!(self.backend, Backend::Slurm(..))
    }

    /// Whether a run takes the same time whenever it is repeated.
    pub fn is_virtual(&self) -> bool {
        self.backend.is_virtual()
    }
}
