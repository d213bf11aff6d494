//! A campaign: which applications run with which gossip, where, how often, and what is done about
//! disturbed runs.
//!
//! A [`Campaign`] comes from a TOML file ([`Campaign::read`]) and is checked in full before
//! anything runs: an unknown key, a value out of range or a key of another backend is refused with
//! its line. Nothing of it is decided after the first run.

mod text;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use tidings_experiment::hosts::Network;
use tidings_experiment::pressure::Contamination;
use tidings_experiment::scheduling::Scheduling;

use crate::LabError;

/// A campaign, checked.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Its name, for people.
    pub name: String,
    /// What all chance comes from: the order of runs, the seeds of gossip.
    pub seed: u64,
    /// How many laps.
    pub repetitions: u32,
    /// Laps before those, whose runs count for nothing.
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
    /// Every so manieth rank is hidden.
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

/// What a failed run means for the campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It stops, and tries that run again when it goes on.
    #[default]
    Stop,
    /// The failure is a result.
    GoOn,
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
    /// The time that counts.
    pub seconds: Reading,
    /// Seconds of its phases, by name.
    pub phases: Vec<(String, Reading)>,
    /// The object in which it names all of its phases itself.
    pub phases_object: Option<(String, String)>,
    /// Further figures, by name.
    pub figures: Vec<(String, Reading)>,
}

/// Where a number is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The run as a whole, from the launcher's start to its end.
    Wall,
    /// From MPI_Init to MPI_Finalize, as the shim measures it.
    Shim,
    /// A number of the last JSON object in a file of the run, `stdout` among them.
    Json {
        /// The file.
        file: String,
        /// The path of the number, keys with dots between them.
        key: String,
    },
    /// The number that follows a text.
    Text {
        /// The file.
        file: String,
        /// The text before the number.
        after: String,
        /// Which of several.
        take: Take,
    },
}

/// Which of several numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    /// The last.
    #[default]
    Last,
    /// The sum of all.
    Sum,
}

/// Where the applications run.
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
}

/// A real MPI and the shim built for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// Which one.
    pub family: MpiFamily,
    /// The shim to preload.
    pub shim: PathBuf,
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

impl Campaign {
    /// Reads a campaign file.
    ///
    /// # Errors
    /// [`LabError::Unreadable`], or [`LabError::Campaign`] with the line of what is wrong.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = fs::read_to_string(path)
            .map_err(|source| LabError::Unreadable { path: path.to_owned(), source })?;
        Self::from_text(&text, path)
    }

    /// The campaign of a text that stands in `path`.
    ///
    /// # Errors
    /// [`LabError::Campaign`].
    pub fn from_text(text: &str, path: &Path) -> Result<Self, LabError> {
        text::campaign(text, path)
    }

    /// Ranks of a run, and how many of them are hidden.
    pub fn ranks(&self, nodes: u32, doing: &Doing) -> (u32, u32) {
        let all = nodes * self.ranks_per_node;
        let hidden = all / self.every;
        match doing {
            Doing::None => (all - hidden, 0),
            _ => (all, hidden),
        }
    }

    /// Whether a run takes the same time whenever it is repeated.
    pub fn is_virtual(&self) -> bool {
        matches!(self.backend, Backend::Smpi(_))
    }
}

/// SHA-256 of a text, in hexadecimal digits.
fn digest(text: &str) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 0xf].map(|digit| char::from_digit(digit.into(), 16));
    Sha256::digest(text.as_bytes()).iter().flat_map(digits).flatten().collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A campaign on this machine: one application, two arms.
    pub(crate) const LOCAL: &str = r#"
name = "small"
seed = 1
repetitions = 20
limit_s = 10.0
controls = ["none"]

[world]
nodes = [2]
ranks_per_node = 2

[backend]
kind = "local"
mpi = "openmpi"
shim = "shim.so"

[gossip]
intervals_ms = [256.0]
windows = ["20%"]
entry_bytes = [64]

[contamination]
steal_share = 0.05

[[applications]]
name = "spin"
command = ["./spin", "--gossip", "{gossip}"]
seconds = { file = "stdout", json = "seconds" }
"#;

    /// A campaign on a simulated machine.
    pub(crate) const SMPI: &str = r#"
name = "torus"
repetitions = 3
limit_s = 10.0
[world]
nodes = [8]
ranks_per_node = 2
[backend]
kind = "smpi"
platform = "torus.xml"
[gossip]
intervals_ms = [4]
windows = ["20%", "40%"]
entry_bytes = [1024]
[[applications]]
name = "fft"
command = ["./fft", "{gossip}"]
seconds = { file = "stdout", json = "seconds" }
"#;

    pub(crate) fn campaign_of(text: &str) -> Campaign {
        Campaign::from_text(text, Path::new("c.toml")).expect("a right campaign")
    }

    pub(crate) fn small(repetitions: u32) -> Campaign {
        campaign_of(&LOCAL.replace("repetitions = 20", &format!("repetitions = {repetitions}")))
    }

    #[test]
    fn arms_are_the_controls_and_every_combination() {
        let text = LOCAL.replace("[256.0]", "[256, 4]").replace("[\"20%\"]", "[\"20%\", \"3\"]");
        let campaign = campaign_of(&text);
        let arms: Vec<String> = campaign.arms.iter().map(ToString::to_string).collect();
        let wanted = [
            "none hidden",
            "gossip 256 ms 20% 64 B",
            "gossip 256 ms 3 64 B",
            "gossip 4 ms 20% 64 B",
            "gossip 4 ms 3 64 B",
        ];
        assert_eq!(arms, wanted);
        assert_eq!(campaign.ranks(2, &Doing::None), (2, 0));
        assert_eq!(campaign.ranks(2, &Doing::Asleep), (4, 2));
        assert_eq!(
            campaign_of(SMPI).backend,
            Backend::Smpi(SimulatedMachine {
                platform: "./torus.xml".into(),
                host_pattern: "n{}".to_owned(),
                launcher_arguments: Vec::new(),
            })
        );
    }

    #[test]
    fn scheduling_has_a_class_and_what_belongs_to_it() {
        for (written, wanted) in [
            ("normal", Scheduling::Normal),
            ("fifo:1", Scheduling::Fifo(1)),
            ("rr:99", Scheduling::RoundRobin(99)),
            ("nice:-20", Scheduling::Nice(-20)),
        ] {
            let line = format!("scheduling = \"{written}\"\nseed = 1");
            assert_eq!(campaign_of(&LOCAL.replace("seed = 1", &line)).scheduling, wanted);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_a_remedy() {
        for (right, wrong, line, said) in [
            ("seed = 1", "sead = 1", 3, "unknown field `sead`"),
            ("seed = 1", "seed = ", 3, ""),
            ("limit_s = 10.0", "limit_s = 0.0", 5, "limit_s cannot be 0"),
            ("\"none\"", "\"idle\"", 6, "write none, asleep or busy"),
            ("\"none\"", "\"asleep\"", 1, "take it out"),
            ("nodes = [2]", "nodes = []", 9, "name a number"),
            ("ranks_per_node = 2", "ranks_per_node = 1", 10, "every rank would be hidden"),
            ("ranks_per_node = 2", "ranks_per_node = 2\nevery = 5", 11, "none would be hidden"),
            ("kind = \"local\"", "kind = \"cloud\"", 13, "local, hosts, slurm or smpi"),
            ("mpi = \"openmpi\"", "mpi = \"lam\"", 14, "openmpi"),
            ("mpi = \"openmpi\"", "", 13, "needs mpi"),
            ("kind = \"local\"", "kind = \"slurm\"", 1, "take the bounds out"),
            ("mpi = \"openmpi\"", "mpi = \"mpich\"\nplatform = \"x\"", 15, "of smpi"),
            ("[256.0]", "[0.01]", 18, "0.1 to 3600000"),
            ("\"20%\"", "\"120%\"", 19, "no window `120%`"),
            ("steal_share = 0.05", "steal_share = 5.0", 1, "write 0 to 1"),
            ("steal_share", "steel_share", 23, "unknown field"),
            ("[\"./spin\", \"--gossip\", \"{gossip}\"]", "[]", 25, "is empty"),
            ("file = \"stdout\"", "file = \"../x\"", 25, "no file of the run's directory"),
            ("seed = 1", "scheduling = \"rr:0\"", 3, "rr:1 to rr:99"),
            ("seed = 1", "scheduling = \"batch:1\"", 3, "nice:-20 to nice:19"),
            ("repetitions = 20", "repetitions = 3", 4, "3 repetitions can show nothing"),
            ("name = \"small\"", "name = \"a b\"", 2, "it names files"),
        ] {
            let text = LOCAL.replacen(right, wrong, 1);
            assert_ne!(text, LOCAL, "{right}");
            let refused = Campaign::from_text(&text, Path::new("c.toml")).expect_err(wrong);
            let refused = refused.to_string();
            assert!(refused.starts_with(&format!("c.toml:{line}: ")), "{wrong}: {refused}");
            assert!(refused.contains(said), "{wrong}: {refused}");
        }
    }
}
