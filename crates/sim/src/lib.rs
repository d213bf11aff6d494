//! A deterministic simulator of a cluster: the very nodes of the core, in virtual time.
//!
//! A [`Scenario`] says everything a run depends on; [`run`] gives a [`Report`]; the same scenario
//! always gives the same report, down to a hash over every delivered datagram. There is no clock,
//! thread, file or socket in here: how long a run took is for the caller to measure.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scenario`], [`memory`] | what is run, and what is refused before |
//! | [`fault`], [`plan`] | what affects nodes and paths, and when, as it was drawn |
//! | [`network`], [`latency`], [`clock`], [`event_queue`] | the virtual world |
//! | `simulation`, `host` | the full mode: every node a `Node` |
//! | `compact`, `row` | the compact mode: every node a row of births |
//! | [`sample`], [`report`], [`trace`], [`checker`] | what comes out, and what must hold |
//! | [`colonies`] | up to a million nodes in colonies, one colony at a time |
//! | [`summary`] | the reports of independent runs, as means with their standard errors |
//! | [`departed`] | the last entries of nodes that are down |
//! | [`figure2`], [`ages`], [`failures`], [`strategies`] | what the paper's figure, the slides' table and their question of faults run, and the tables of it |
//! | [`readings`] | readings of machines: recorded, generated, and how much news they are |
//! | [`predicted`] | the core's model of ages and costs beside what is simulated |
//! | [`chance`], [`span`] | random draws, spans of time |
//!
//! Invariants: a run is a function of its scenario; ordered collections only; nothing is simulated
//! before the scenario has passed its checks.

#![forbid(unsafe_code)]

pub mod ages;
pub mod chance;
pub mod checker;
pub mod clock;
pub mod colonies;
mod compact;
pub mod deaths;
pub mod departed;
pub mod event_queue;
pub mod failures;
pub mod fault;
pub mod figure2;
mod host;
pub mod kills;
pub mod latency;
pub mod memory;
pub mod network;
pub mod plan;
pub mod predicted;
pub mod readings;
pub mod report;
mod row;
pub mod sample;
pub mod scenario;
mod simulation;
pub mod span;
pub mod strategies;
pub mod summary;
mod text;
pub mod trace;

use core::ops::ControlFlow;

pub use fault::Fault;
pub use latency::Latency;
pub use plan::Plan;
pub use report::Report;
pub use scenario::{Mode, Scenario, ScenarioError};
pub use span::Span;
/// The core's own words for what a scenario sets.
pub use tidings_gossip::{Strategy, Window};

/// Checks a scenario, runs it, and reports.
///
/// `progress` receives after each unit of time how many have passed and how many there are; if it
/// breaks the run off, the report covers what was measured until then.
///
/// # Errors
/// If the scenario cannot be run; nothing was simulated then.
pub fn run(
    scenario: &Scenario,
    progress: &mut dyn FnMut(u32, u32) -> ControlFlow<()>,
) -> Result<Report, ScenarioError> {
    scenario.check()?;
    let plan = Plan::draw(scenario);
    let refused = |error: tidings_gossip::ConfigError| ScenarioError::Cluster(error.to_string());
    let outcome = match scenario.mode {
        Mode::Full => simulation::Simulation::of(scenario, &plan)
            .and_then(|simulation| simulation.run(scenario, progress))
            .map_err(refused)?,
        Mode::Compact => compact::Compact::of(scenario, &plan).run(scenario, progress),
    };
    Ok(Report::of(scenario, outcome))
}
