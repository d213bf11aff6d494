//! `tidings`, the one command: watch a cluster, ask about its nodes, try it all out on one machine.
//!
//! Each sub-command is one module that turns its arguments into text or into a [`Failure`]; nothing
//! here implements the gossip protocol. A command gets its knowledge from an agent, over the
//! control socket (`tidings-control`).
//!
//! * [`nodes`], [`colonies`], [`top`], [`show`], [`health`], [`status`], [`publish`],
//!   [`watch`]: ask one agent. [`hook`]: tells programs what has happened to nodes.
//! * [`doctor`]: what works on this machine, and what lies between two nodes.
//! * [`cores`]: keeps cores for applications, and undoes it.
//! * [`demo`]: starts a whole cluster of agents on loopback and measures it.
//! * [`sim`]: simulates a cluster and prints its figures. [`plan`]: predicts them.
//! * [`lab`]: measures what gossip costs the applications that run with it.
//! * [`tasks`]: durable tasks: runs, workers, queues, semaphores.
//! * [`agent`]: becomes the agent. [`keys`]: makes and changes key files.
//! * [`help`]: what each command does, and the version. [`completions`] for shells, which ask
//!   [`complete`] for what only the agent knows.
//! * [`table`]: the form of tables, [`paint`] their colours, [`summary`] a cluster in a few lines.
//!   Columns, units and the language of conditions are those of `tidings-nodes`.

#![deny(unsafe_code)]

pub mod agent;
pub mod arguments;
pub mod colonies;
pub mod complete;
pub mod completions;
pub mod cores;
pub mod demo;
pub mod doctor;
mod exit_codes;
pub mod failure;
mod full_screen;
pub mod health;
pub mod help;
pub mod hook;
pub mod keys;
pub mod lab;
pub mod manuals;
pub mod nodes;
pub mod output;
pub mod paint;
pub mod pick;
pub mod plan;
mod prompt;
pub mod publish;
pub mod show;
mod signals;
pub mod sim;
pub mod status;
pub mod summary;
pub mod table;
pub mod tasks;
pub mod top;
pub mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Command, CommandLine};
pub use failure::Failure;

/// Runs the command line `arguments`, the first of which is the program's name.
///
/// Errors are reported on standard error as `tidings: what and where: remedy`. The exit code is one
/// of `docs/reference/exit-codes.md`.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(words) = complete::asked(&arguments) {
        return complete::run(words);
    }
    let outcome = match agent::Passage::find(&arguments) {
        Some(passage) => Err(passage.become_agent()),
        None => match CommandLine::try_parse_from(arguments.iter().cloned()) {
            Ok(CommandLine { command: Command::Help(options), .. }) => {
                let program = arguments.first().cloned().unwrap_or_default();
                return run(options.as_option(program));
            }
            Ok(line) => dispatch(line),
            Err(answer) => return usage(&answer),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                output::complain(&failure.to_string());
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints the help that was asked for, or what is wrong with the command line.
fn usage(answer: &clap::Error) -> ExitCode {
    match answer.render().to_string().strip_prefix("error: ") {
        Some(message) => output::complain(message.trim_end()),
        None => drop(answer.print()), // a closed pipe is not a failure
    }
    ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(1))
}

fn dispatch(line: CommandLine) -> Result<(), Failure> {
    let agent = output::Agent::at(line.runtime_dir);
    match line.command {
        // Options that `Passage` does not know are before the word `agent`.
        Command::Agent { arguments } => Err(agent::become_agent(&arguments, None)),
        Command::Demo(options) => demo::run(&options),
        Command::Nodes(options) => nodes::run(&agent, &options),
        Command::Colonies(options) => colonies::run(&agent, &options),
        Command::Top(options) => top::run(&agent, &options),
        Command::Watch(options) => watch::run(&agent, &options),
        Command::Hook(options) => hook::run(&agent, &options),
        Command::Show(options) => show::run(&agent, &options),
        Command::Health(options) => health::run(&agent, &options),
        Command::Doctor(options) => doctor::run(&agent, &options),
        Command::Cores(options) => cores::run(&options),
        Command::Status(options) => status::run(&agent, &options),
        Command::Pick(options) => pick::run(&agent, &options),
        Command::Publish(options) => publish::run(&agent, &options),
        Command::Sim(options) => sim::run(&options),
        Command::Lab(options) => lab::run(&agent, &options),
        Command::Plan(options) => plan::run(&options),
        Command::Run(options) => tasks::run::run(&agent, &options),
        Command::Worker(options) => tasks::worker::run(&agent, &options),
        Command::Queue(options) => tasks::queue::run(&agent, &options),
        Command::Task(options) => tasks::task::run(&agent, &options),
        Command::Sem(options) => tasks::sem::run(&agent, &options),
        Command::Space(options) => tasks::space::run(&agent, &options),
        Command::Store(options) => tasks::store::run(&agent, &options),
        Command::Keys(options) => keys::run(&agent, &options),
        Command::Completions(options) => completions::run(&options, CommandLine::command()),
        Command::Manuals(options) => manuals::run(&options, CommandLine::command()),
        Command::Version(help::VersionOptions {}) => help::version(),
        Command::Help(_) => Ok(()), // `run` has asked again by `--help`
    }
}
