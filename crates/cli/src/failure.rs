//! Why a command fails: its message and its exit code.
//!
//! Every message names the place and the remedy. The codes are part of the interface
//! (`docs/reference/exit-codes.md`): 1 failure while running, 2 usage or configuration, 3 no agent
//! reachable, 4 not found. A reader that closed the pipe (`| head`) is not a failure.

use std::io;
use std::path::PathBuf;

use tidings_board::BoardError;
use tidings_characterize::advice::AdviceError;
use tidings_control::{ClientError, ErrorKind};
use tidings_cores::CoresError;
use tidings_experiment::ExperimentError;
use tidings_gossip::payload::PayloadError;
use tidings_nodes::columns::UnknownColumn;
use tidings_nodes::filter::FilterError;
use tidings_noise::NoiseError;

use crate::demo::DemoError;
use crate::hook::HookError;
use crate::keys::KeyFileError;
use crate::pick::NeedError;
use crate::plan::PlanError;
use crate::sim::SimulationError;
use crate::tasks::TasksError;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The agent could not be reached, or rejected the request.
    #[error(transparent)]
    Agent(#[from] ClientError),
    /// The board cannot be read.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The agent's program is not installed beside this one.
    #[error(
        "no program tidings-agent, neither beside {} nor on PATH: install both into one directory, \
         or build both with `cargo build --bins`", beside.display()
    )]
    NoAgentProgram {
        /// This program.
        beside: PathBuf,
    },
    /// The agent's program is there but does not start.
    #[error("{} does not start ({source}): is it executable?", program.display())]
    AgentProgram {
        /// The agent's program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The agent reports that it is unhealthy.
    #[error("the agent of {name} is unhealthy: {reason}")]
    Ill {
        /// The agent's node.
        name: String,
        /// The reason, as the agent gives it.
        reason: String,
    },
    /// Something lies between two nodes.
    #[error("in the way to {host}: {}", ways.join(", "))]
    InTheWay {
        /// The other node, as given.
        host: String,
        /// What it is.
        ways: Vec<String>,
    },
    /// Roles of cores cannot be planned, set, used or undone.
    #[error(transparent)]
    Cores(#[from] CoresError),
    /// Knobs do not have the value that was set.
    #[error("{count} knobs have another value than was set here")]
    Drifted {
        /// How many.
        count: usize,
    },
    /// The program of `cores run` does not start.
    #[error("{program} does not start ({source}): name a program that can be executed")]
    Program {
        /// Its name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The mechanisms of this machine cannot be tried.
    #[error(transparent)]
    Examination(#[from] tidings_doctor::ExaminationError),
    /// Mechanisms of this machine do not work as they are meant.
    #[error("of {tried} mechanisms {}", lacking(.degraded, .not))]
    Lacking {
        /// How many were tried.
        tried: usize,
        /// Those in whose place something else works.
        degraded: Vec<String>,
        /// Those of which nothing works.
        not: Vec<String>,
    },
    /// `--only` names no mechanism.
    #[error("--only {given}: no such mechanism{}: `tidings doctor --list` lists them", like(.nearest))]
    Mechanism {
        /// The name as given.
        given: String,
        /// Similar names.
        nearest: Vec<String>,
    },
    /// A step of an exchange of keys is not safe, or nodes have not said their keys.
    #[error("keys {what}: {reason}")]
    Keys {
        /// `promote` or `drop`; `status` if no step was asked about.
        what: &'static str,
        /// Which nodes are in the way, and why.
        reason: String,
    },
    /// A node is not alive.
    #[error("{name} is not alive: {observer} {state}")]
    NotThere {
        /// The node whose agent was asked.
        observer: String,
        /// The node in question.
        name: String,
        /// What that agent knows of it, such as "considers it dead".
        state: &'static str,
    },
    /// No node has this name.
    #[error("no node `{name}`{}: `tidings nodes --columns name` lists them all", like(.nearest))]
    UnknownNode {
        /// What was asked for.
        name: String,
        /// Similar known names, the most similar first.
        nearest: Vec<String>,
    },
    /// No node meets the condition.
    #[error("none of {nodes} nodes meets `{condition}`")]
    NothingMatched {
        /// The condition as given.
        condition: String,
        /// How many nodes were checked.
        nodes: usize,
    },
    /// `--where` cannot be read.
    #[error("--where: {0}\n(docs/reference/where.md describes conditions)")]
    Condition(#[from] FilterError),
    /// `--columns` or `--sort` names no column.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// `--readings` names a reading that aggregates do not have.
    #[error(
        "--readings: aggregates have no `{given}`, but {}",
        tidings_gossip::aggregate::Reading::ALL.map(tidings_gossip::aggregate::Reading::name)
            .join(", ")
    )]
    Reading {
        /// The name as given.
        given: String,
    },
    /// `--sort` has a direction other than `asc` and `desc`.
    #[error("--sort {given}: the direction is `asc` or `desc`, as in `--sort load1:desc`")]
    Direction {
        /// The argument as given.
        given: String,
    },
    /// An argument of `publish` has no `=`.
    #[error("`{given}` has no `=`: write KEY=VALUE, as in `tidings publish gpu=3`")]
    NotAPair {
        /// The argument as given.
        given: String,
    },
    /// A metric that `publish` names can never be published.
    #[error(transparent)]
    Metric(#[from] PayloadError),
    /// `--need` of `pick` cannot be read.
    #[error(transparent)]
    Need(#[from] NeedError),
    /// No advice about places of ranks can be given.
    #[error(transparent)]
    Advice(#[from] AdviceError),
    /// A key file could not be made or changed.
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    /// The program of a hook is not there.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The demo cannot be run or failed.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// A simulation cannot be run, or was stopped.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// No plan keeps the age, or none within the budget.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A campaign cannot be read, run, stored or evaluated.
    #[error(transparent)]
    Lab(#[from] ExperimentError),
    /// A machine cannot be modelled.
    #[error(transparent)]
    Flows(#[from] tidings_flows::error::FlowsError),
    /// A command on tasks fails.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// Noise cannot be measured, stored or compared.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Two campaigns or measurements differ.
    #[error("{count} of {all} {what} differ")]
    Differs {
        /// What was compared: `arms`.
        what: &'static str,
        /// How many differ.
        count: usize,
        /// How many were compared.
        all: usize,
    },
    /// A file cannot be written.
    #[error("{} cannot be written ({source}): name another place", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output or the terminal cannot be written.
    #[error("writing the output failed: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Agent(ClientError::Refused(refusal)) => match refusal.kind {
                ErrorKind::NotFound | ErrorKind::Unsatisfied => 4,
                ErrorKind::BadRequest => 2,
                _ => 1,
            },
            Self::Agent(error) if error.is_unreachable() => 3,
            Self::Board(
                BoardError::Unreadable { .. }
                | BoardError::DeadWriter { .. }
                | BoardError::Left { .. }
                | BoardError::Replaced { .. }
                | BoardError::Unfinished { .. },
            ) => 3,
            Self::UnknownNode { .. } | Self::NotThere { .. } | Self::NothingMatched { .. } => 4,
            Self::Condition(_)
            | Self::Column(_)
            | Self::Reading { .. }
            | Self::Direction { .. }
            | Self::NotAPair { .. }
            | Self::Metric(_)
            | Self::Need(_)
            | Self::Mechanism { .. }
            | Self::Program { .. }
            | Self::Flows(_)
            | Self::Hook(_)
            | Self::Advice(_)
            | Self::NoAgentProgram { .. } => 2,
            Self::Cores(error) => of_cores(error),
            Self::KeyFile(error) => error.exit_code(),
            Self::Demo(error) => error.exit_code(),
            Self::Simulation(error) => error.exit_code(),
            Self::Plan(error) => error.exit_code(),
            Self::Lab(error) => error.exit_code(),
            Self::Noise(error) => error.exit_code(),
            Self::Tasks(error) => error.exit_code(),
            Self::Differs { .. } => 5,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Ill { .. }
            | Self::InTheWay { .. }
            | Self::Drifted { .. }
            | Self::Examination(_)
            | Self::Lacking { .. }
            | Self::Keys { .. }
            | Self::Agent(_)
            | Self::Board(_)
            | Self::AgentProgram { .. }
            | Self::File { .. }
            | Self::Output(_) => 1,
        }
    }

    /// Whether it is silent: the reader has closed the pipe.
    pub fn is_silent(&self) -> bool {
        self.exit_code() == 0
    }
}

fn of_cores(error: &CoresError) -> u8 {
    match error {
        CoresError::OneCore
        | CoresError::NoCore { .. }
        | CoresError::Overlap { .. }
        | CoresError::Unmovable { .. }
        | CoresError::NoneLeft { .. }
        | CoresError::OtherMachine { .. }
        | CoresError::RoleFile { .. }
        | CoresError::NotEmpty { .. }
        | CoresError::NotRoot => 2,
        CoresError::NotApplied => 4,
        _ => 1,
    }
}

/// The mechanisms that lack something, by what they lack.
fn lacking(degraded: &[String], not: &[String]) -> String {
    let said = |names: &[String], what: &str| match names {
        [] => None,
        names => Some(format!("{} {what} ({})", names.len(), names.join(", "))),
    };
    let parts = [said(not, "do not work"), said(degraded, "are degraded")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

fn like(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!(", the nearest are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_control::ErrorReport;

    #[test]
    fn codes_are_as_documented() {
        let refused = |kind| Failure::Agent(ClientError::Refused(ErrorReport::new(kind, "no")));
        let gone = ClientError::Closed { path: PathBuf::from("/x") };
        let odd = ClientError::Malformed { path: PathBuf::from("/x"), reason: String::new() };
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        for (failure, code) in [
            (Failure::Agent(gone), 3),
            (Failure::Agent(odd), 1),
            (refused(ErrorKind::NotFound), 4),
            (refused(ErrorKind::BadValue), 1),
            (refused(ErrorKind::Unanswered), 1),
            (refused(ErrorKind::Busy), 1),
            (Failure::NotAPair { given: "x".to_owned() }, 2),
            (Failure::Output(pipe), 0),
            (Failure::Board(BoardError::Left { path: PathBuf::from("/x") }), 3),
            (Failure::Board(BoardError::NotABoard { path: PathBuf::from("/x") }), 1),
            (Failure::Output(io::Error::other("disk full")), 1),
        ] {
            assert_eq!(failure.exit_code(), code, "{failure}");
        }
    }
}
