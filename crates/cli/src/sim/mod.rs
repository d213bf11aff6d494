//! `tidings sim`: a cluster simulated in virtual time, its figures printed or drawn.
//!
//! The simulator is a crate of its own without clock, file or thread (`tidings-sim`). This module
//! is its driver: it reads scenario files, lets options override them, prints the parameters on
//! standard error before a run, shows the progress on a terminal, measures the time, and stops at
//! Ctrl-C between two units of time. Independent runs of a figure share the processors.

mod ages;
mod colonies;
mod deaths;
mod failure;
mod failures;
mod figure2;
mod model;
mod overrule;
mod parallel;
mod run;
mod strategies;
mod table;
pub(crate) mod watch;

use clap::{Args, Subcommand};

use crate::Failure;
pub use failure::SimulationError;
use run::Run;
use table::TableOptions;

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings sim run --nodes 1024 --mode compact
  tidings sim run --nodes 128 --loss 0.1 --latency exponential:100us --seed 7 --json
  tidings sim run --scenario crates/sim/scenarios/churn.toml --json
  tidings sim run --nodes 1024 --mode compact --runs 8 --csv runs.csv --json
  tidings sim figure2 --output results
  tidings sim colonies --nodes 1000000 --units 50 --seed 7 --json
  tidings sim failures --nodes 1024 --strategy uniform,grid
  tidings sim strategies --nodes-max 1024
docs/reference/sim.md describes scenarios and the object that --json prints.",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings sim`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Simulate one cluster and print its ages, traffic and checks
    #[command(after_help = AFTER_HELP)]
    Run(Box<Run>),
    /// Redraw Figure 2 of the paper: average age against window, 128 to 8,192 nodes
    #[command(after_help = AFTER_HELP)]
    Figure2(TableOptions),
    /// Simulate up to a million nodes in colonies that know each other by aggregates
    #[command(after_help = AFTER_HELP)]
    Colonies(Box<colonies::Options>),
    /// The slides' age table: ages in seconds by number of nodes and interval
    #[command(after_help = AFTER_HELP)]
    Ages(ages::Options),
    /// Ages under loss and dead nodes, and the time until all nodes have detected a dead node
    #[command(after_help = AFTER_HELP)]
    Failures(failures::Options),
    /// How soon the death of a killed process is detected: 48 nodes, with and without loss
    #[command(after_help = AFTER_HELP)]
    Deaths(deaths::Options),
    /// All strategies compared: nodes, windows, loss, dead nodes, wrong clocks
    #[command(after_help = AFTER_HELP)]
    Strategies(TableOptions),
    /// The model behind `tidings plan` compared with simulations: 64 to 8,192 nodes
    #[command(after_help = AFTER_HELP)]
    Model(TableOptions),
}

/// Runs a simulation and prints what it gives.
///
/// # Errors
/// [`Failure::Simulation`], or a failure to print.
pub fn run(options: &Options) -> Result<(), Failure> {
    match &options.action {
        Action::Run(run) => run.run(),
        Action::Figure2(options) => figure2::run(options),
        Action::Colonies(options) => colonies::run(options),
        Action::Ages(options) => ages::run(options),
        Action::Failures(options) => failures::run(options),
        Action::Deaths(options) => deaths::run(options),
        Action::Strategies(options) => strategies::run(options),
        Action::Model(options) => model::run(options),
    }
}
