//! What a run of a campaign asks of its backend: the application's words, the options of gossip,
//! and what the shim receives.
//!
//! A [`Stage`] is made ready once, before the first run, and finds out then what is missing. There
//! is no shim on a simulated machine: a program for it links gossip itself and receives what to do
//! by its arguments (`{gossip}`, `{hidden}`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_experiment::backend::{self, Backend, Order, Starter};
use tidings_experiment::program::{find, must_be_dynamic};
use tidings_experiment::run::Launch;
use tidings_experiment::{ExperimentError, pressure};

use crate::Campaign;
use crate::campaign::{Application, Doing, TIMES};
use crate::schedule::Planned;

/// The file that gossip writes its report to.
pub(crate) const REPORT: &str = "tidings-gossip.json";

/// Units of time before gossip counts its ages, unless the campaign's options say otherwise.
const WARM_UP_UNITS: f64 = 10.0;
/// No unit of time is longer: hidden ranks that are to be busy, and no more, gossip once in it.
const NEVER_MS: f64 = 3_600_000.0;

/// A place where the runs of a campaign can be started.
#[derive(Debug)]
pub struct Stage<'a> {
    campaign: &'a Campaign,
    /// The programs of the applications, in their order.
    programs: Vec<PathBuf>,
    starter: Starter,
}

impl<'a> Stage<'a> {
    /// Makes ready what the runs of a campaign need.
    ///
    /// # Errors
    /// [`ExperimentError::Program`] or [`ExperimentError::Machine`] for what is missing.
    pub fn prepare(campaign: &'a Campaign) -> Result<Self, ExperimentError> {
        campaign.scheduling.must_be_allowed()?;
        pressure::must_be_known(&campaign.contamination)?;
        let programs =
            campaign.applications.iter().map(|application| program(campaign, application));
        let programs = programs.collect::<Result<Vec<_>, _>>()?;
        let most_nodes = campaign.nodes.iter().copied().max().unwrap_or(1);
        let starter = Starter::prepare(&campaign.backend, most_nodes)?;
        if let Backend::Local(mpi) | Backend::Hosts(mpi, _) | Backend::Slurm(mpi, _) =
            &campaign.backend
        {
            for (application, program) in campaign.applications.iter().zip(&programs) {
                backend::must_fit(mpi, program, application.loads_mpi)?;
            }
        }
        Ok(Self { campaign, programs, starter })
    }

    /// What is to be started for a run, in a directory of its own that is there.
    ///
    /// # Errors
    /// [`ExperimentError::Unwritable`] if a file that the launcher reads cannot be laid there.
    pub fn launch(&self, planned: &Planned, directory: &Path) -> Result<Launch, ExperimentError> {
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
        let mut environment: Vec<(String, String)> =
            shim_variables(campaign, doing, &gossip, directory).into_iter().chain(own).collect();
        let hides_one_a_node = *doing != Doing::None && campaign.every == campaign.ranks_per_node;
        if hides_one_a_node && campaign.is_on_nodes() {
            // The shim refuses a run in which Slurm has dealt ranks otherwise.
            environment.push(("TIDINGS_HIDE_ONE_A_NODE".to_owned(), "1".to_owned()));
        }
        let order = Order {
            launcher_arguments: &[],
            application: std::iter::once(program).chain(arguments).collect(),
            environment,
            nodes: planned.nodes,
            ranks,
            directory,
        };
        self.starter.launch(&order)
    }

    /// How long a launcher may take to end, if longer than usual.
    pub(crate) fn farewell(&self) -> Option<Duration> {
        self.starter.farewell()
    }
}

/// The options of gossip that a run asks for; none where the hidden ranks do not gossip.
fn gossip_words(campaign: &Campaign, doing: &Doing, seed: u64) -> Vec<String> {
    let mut words: Vec<String> = match doing {
        // A program that links gossip has no environment variables for it: mpi/beside knows this
        // word.
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

/// What the shim receives (docs/reference/mpi.md).
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
fn program(campaign: &Campaign, application: &Application) -> Result<PathBuf, ExperimentError> {
    let program = find(&application.command[0], &campaign.folder)?;
    if !campaign.is_virtual() {
        must_be_dynamic(&program)?; // smpirun loads programs itself
    }
    for (_, path) in &application.files {
        if !path.is_file() {
            let reason = format!("{}: no such file: {} needs it", path.display(), application.name);
            return Err(ExperimentError::Program(reason));
        }
    }
    Ok(program)
}
