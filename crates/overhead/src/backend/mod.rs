//! Backends: how a run is started where the campaign says.
//!
//! A [`Stage`] is made ready once, before the first run, and finds out then what is missing: the
//! launcher, the shim, the platform. After that a run is a [`Launch`], words and variables, and
//! nothing but those.

mod hosts;
mod local;
mod simulated;
mod slurm;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::application;
use crate::campaign::{Application, Backend, Doing, Mpi};
use crate::schedule::Planned;
use crate::{Campaign, LabError};
use tidings_experiment::pressure;
use tidings_experiment::run::Launch;

/// The file in a run's directory that the shim writes its times to.
pub(crate) const TIMES: &str = "tidings-times.json";
/// The file that gossip writes its report to.
pub(crate) const REPORT: &str = "tidings-gossip.json";

/// Units of time before gossip counts its ages, unless the campaign's options say otherwise.
const WARM_UP_UNITS: f64 = 10.0;
/// No unit of time is longer: hidden ranks that are to be busy, and no more, gossip once in it.
const NEVER_MS: f64 = 3_600_000.0;

/// What stands in the library that has ranks yield (mpi/yield), and in no other of `make mpi`.
const YIELDS: &[u8] = b"OMPI_MCA_mpi_yield_when_idle";

/// A place where the runs of a campaign can be started.
#[derive(Debug)]
pub struct Stage<'a> {
    campaign: &'a Campaign,
    /// The programs of the applications, in their order.
    programs: Vec<PathBuf>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Local(local::Launcher),
    Hosts(hosts::Launcher),
    Slurm(slurm::Launcher),
    Simulated(simulated::Launcher),
}

/// What a backend has to know of a run.
#[derive(Debug)]
struct Order<'a> {
    /// The application's program and arguments.
    application: Vec<String>,
    /// Variables for the application's processes.
    environment: Vec<(String, String)>,
    nodes: u32,
    ranks: u32,
    /// Whether the ranks of each node but one are the application's.
    hides_one_a_node: bool,
    directory: &'a Path,
}

impl<'a> Stage<'a> {
    /// Makes ready what the runs of a campaign need.
    ///
    /// # Errors
    /// [`LabError::Program`] or [`LabError::Machine`] for what is missing.
    pub fn prepare(campaign: &'a Campaign) -> Result<Self, LabError> {
        campaign.scheduling.must_be_allowed()?;
        pressure::must_be_told(&campaign.contamination)?;
        let programs =
            campaign.applications.iter().map(|application| program(campaign, application));
        let programs = programs.collect::<Result<_, _>>()?;
        let kind = match &campaign.backend {
            Backend::Local(mpi) => Kind::Local(local::Launcher::find(mpi)?),
            Backend::Hosts(mpi, network) => {
                Kind::Hosts(hosts::Launcher::make(mpi, network, campaign)?)
            }
            Backend::Slurm(mpi, words) => Kind::Slurm(slurm::Launcher::find(mpi, words)?),
            Backend::Smpi(machine) => {
                Kind::Simulated(simulated::Launcher::find(machine, campaign)?)
            }
        };
        Ok(Self { campaign, programs, kind })
    }

    /// What is to be started for a run, in a directory of its own that is there.
    ///
    /// # Errors
    /// [`LabError::Unwritable`] if a file that the launcher reads cannot be laid there.
    pub fn launch(&self, planned: &Planned, directory: &Path) -> Result<Launch, LabError> {
        let campaign = self.campaign;
        let application = &campaign.applications[planned.application];
        let doing = planned.doing(campaign);
        let (ranks, hidden) = campaign.ranks(planned.nodes, doing);
        let gossip = gossip_words(campaign, doing, planned.seed);
        let fill = |word: &String| {
            word.replace("{gossip}", &gossip.join(" "))
                .replace("{hidden}", hidden_word(doing))
                .replace("{nodes}", &planned.nodes.to_string())
                .replace("{ranks}", &(ranks - hidden).to_string())
                .replace("{seed}", &planned.seed.to_string())
                .replace("{folder}", &campaign.folder.display().to_string())
        };
        let program = self.programs[planned.application].display().to_string();
        let arguments = application.command[1..].iter().flat_map(|word| match word.as_str() {
            "{gossip}" => gossip.clone(), // a word of its own becomes as many as there are
            _ => vec![fill(word)],
        });
        // What the application's part of the file says comes last, and so overrules the lab.
        let own = application.environment.iter().map(|(name, value)| (name.clone(), fill(value)));
        let environment: Vec<(String, String)> =
            shim_variables(campaign, doing, &gossip, directory).into_iter().chain(own).collect();
        let order = Order {
            application: std::iter::once(program).chain(arguments).collect(),
            environment,
            nodes: planned.nodes,
            ranks,
            hides_one_a_node: *doing != Doing::None && campaign.every == campaign.ranks_per_node,
            directory,
        };
        match &self.kind {
            Kind::Local(launcher) => Ok(launcher.launch(&order)),
            Kind::Hosts(launcher) => Ok(launcher.launch(&order)),
            Kind::Slurm(launcher) => Ok(launcher.launch(&order)),
            Kind::Simulated(launcher) => launcher.launch(&order),
        }
    }

    /// How long a launcher may take to end, if longer than usual.
    pub(crate) fn farewell(&self) -> Option<Duration> {
        matches!(self.kind, Kind::Slurm(_)).then_some(slurm::FAREWELL)
    }
}

/// The options of gossip that a run asks for; none where the hidden ranks do not gossip.
fn gossip_words(campaign: &Campaign, doing: &Doing, seed: u64) -> Vec<String> {
    let mut words: Vec<String> = match doing {
        // Who links gossip has no environment to be told by: mpi/beside knows this word.
        Doing::None | Doing::Asleep if campaign.is_virtual() => return vec!["--idle".to_owned()],
        Doing::None | Doing::Asleep => return Vec::new(),
        Doing::Busy => vec!["--interval".into(), NEVER_MS.to_string(), "--busy".into()],
        Doing::Gossip { interval_ms, window, entry_bytes } => {
            let warm_up_s = WARM_UP_UNITS * interval_ms / 1e3;
            let pairs = [
                ("--interval", interval_ms.to_string()),
                ("--window", window.clone()),
                ("--entry", entry_bytes.to_string()),
                ("--warmup", warm_up_s.to_string()),
            ];
            // On a simulated machine the application itself waits until windows are full.
            let pairs =
                pairs.into_iter().filter(|(name, _)| *name != "--warmup" || !campaign.is_virtual());
            let words = pairs.flat_map(|(name, value)| [name.to_owned(), value]);
            words.chain(campaign.gossip_options.iter().cloned()).collect()
        }
    };
    words.extend(["--seed".to_owned(), seed.to_string()]);
    if campaign.is_virtual() {
        words.extend(["--report".to_owned(), REPORT.to_owned()]);
    }
    words
}

/// One word for what the hidden ranks do, for programs that have gossip of their own.
fn hidden_word(doing: &Doing) -> &'static str {
    match doing {
        Doing::None => "none",
        Doing::Asleep => "asleep",
        Doing::Busy => "busy",
        Doing::Gossip { .. } => "gossip",
    }
}

/// What the shim is told (docs/reference/mpi.md).
fn shim_variables(
    campaign: &Campaign,
    doing: &Doing,
    gossip: &[String],
    directory: &Path,
) -> Vec<(String, String)> {
    let file = |name: &str| directory.join(name).display().to_string();
    let mut variables = vec![("TIDINGS_TIMES", file(TIMES))];
    if *doing != Doing::None {
        variables.push(("TIDINGS_HIDE", format!("every:{}", campaign.every)));
    }
    match doing {
        Doing::None => {}
        Doing::Asleep => variables.push(("TIDINGS_HIDDEN", "sleep".to_owned())),
        Doing::Busy | Doing::Gossip { .. } => {
            variables.push(("TIDINGS_HIDDEN", "gossip".to_owned()));
            variables.push(("TIDINGS_GOSSIP", gossip.join(" ")));
            variables.push(("TIDINGS_REPORT", file(REPORT)));
        }
    }
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The program of an application, if it can be measured with this backend.
fn program(campaign: &Campaign, application: &Application) -> Result<PathBuf, LabError> {
    let program = application::find(&application.command[0], &campaign.folder)?;
    if !campaign.is_virtual() {
        application::must_be_dynamic(&program)?; // smpirun loads programs itself
    }
    for (_, path) in &application.files {
        if !path.is_file() {
            let reason = format!("{}: no such file: {} needs it", path.display(), application.name);
            return Err(LabError::Program(reason));
        }
    }
    Ok(program)
}

/// A launcher among these names on PATH whose `--version` says `wanted`.
fn find_launcher(names: &[&str], wanted: &str, remedy: &str) -> Result<PathBuf, LabError> {
    let here = Path::new("/");
    for name in names {
        let Ok(path) = application::find(name, here) else { continue };
        let output = Command::new(&path).arg("--version").output();
        let said = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
        if String::from_utf8_lossy(&said).contains(wanted) {
            return Ok(path);
        }
    }
    Err(LabError::Program(format!("no {} on PATH: {remedy}", names.join(" or "))))
}

/// What is preloaded below the ranks, as LD_PRELOAD names it: what has them yield is asked before
/// the shim.
fn preloaded(mpi: &Mpi) -> Result<String, LabError> {
    let shim = find_library(&mpi.shim)?;
    let Some(yielding) = &mpi.yielding else { return Ok(shim) };
    let library = find_library(yielding)?;
    let content = std::fs::read(yielding).unwrap_or_default(); // a folder is no such library either
    if !content.windows(YIELDS.len()).any(|bytes| bytes == YIELDS) {
        return Err(LabError::Program(format!(
            "{}: has no waiting rank yield: name libtidings-yield.so, which `make mpi` builds",
            yielding.display()
        )));
    }
    Ok(format!("{library}:{shim}"))
}

/// A library by its whole path.
fn find_library(path: &Path) -> Result<String, LabError> {
    let whole = std::fs::canonicalize(path).map_err(|error| {
        let path = path.display();
        LabError::Program(format!("{path}: {error}: `make mpi` builds it, into target/mpi"))
    })?;
    Ok(whole.display().to_string())
}
