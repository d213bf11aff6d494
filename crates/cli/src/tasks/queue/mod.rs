//! `tidings queue`: what lies in queues, and changes of it by hand.

mod claim;
mod ls;
mod page;
mod put;
mod sweep;
mod top;
mod trace;

use clap::{Args, Subcommand};

pub(super) use ls::without_board;

use super::client::Store;
use super::kinds;
use crate::Failure;
use crate::output::Agent;

const AFTER_HELP: &str = concat!(
    "\
A queue is there as long as it has tasks; nobody makes it. Workers run the commands that are put
into it. Data is for programs that claim it, each item once: what the command of `claim` prints is
the result, an exit status other than 0 puts the item back or, after --retries, among the dead.

Examples:
  tidings queue put jobs -- ./sim a.in            a command for a worker
  tidings queue put orders --data '{\"n\":3}'       an item for a program that claims it
  tidings queue claim orders -- ./handle          runs with the item as standard input
  tidings queue ls
  tidings queue top                               the same and rates, refreshed
  tidings queue dead jobs                         what has failed, and why
  tidings queue retry jobs                        try all of that again
  tidings queue trace jobs --out jobs.json        what ran where and when",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings queue`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    store: Store,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the queues that have tasks, and the workers
    Ls {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show a live table of queues, workers and the last failures, over the whole screen
    Top(top::Options),
    /// Serve a page for a browser of this machine: the same, and a time line
    Page(page::Options),
    /// Put a command or data into a queue, and print the task's id
    Put(put::Options),
    /// Run a command with the next item of data as its standard input
    Claim(claim::Options),
    /// List tasks of a queue that have not ended
    Peek(ls::Page),
    /// List tasks of a queue that have failed or were cancelled
    Dead(ls::Page),
    /// Try the failed tasks of a queue again
    Retry(Named),
    /// Wait until a queue has no tasks
    Drain(Named),
    /// Write a time line of what ran where, for ui.perfetto.dev
    Trace(trace::Options),
    /// Remove the records of tasks of queues that have ended
    Purge {
        /// The queue; several, if tasks of one wait for those of another
        #[arg(value_name = "QUEUE", value_parser = kinds::name, required = true)]
        queues: Vec<String>,
        /// Cancel those that have not, and remove them too
        #[arg(long)]
        all: bool,
    },
}

/// One queue.
#[derive(Debug, Args)]
struct Named {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = kinds::name)]
    name: String,
}

/// Shows or changes queues.
///
/// # Errors
/// [`super::TasksError`]; of `claim` the exit status of the command.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let place = &options.store.place(agent)?;
    match &options.action {
        Action::Ls { json } => ls::queues(place, *json),
        Action::Top(options) => top::run(place, options),
        Action::Page(options) => page::run(place, options),
        Action::Put(options) => put::run(place, options),
        Action::Claim(options) => claim::run(place, options),
        Action::Peek(page) => ls::live(place, page),
        Action::Dead(page) => ls::dead(place, page),
        Action::Retry(queue) => sweep::retry(place, &queue.name),
        Action::Trace(options) => trace::run(place, options),
        Action::Drain(queue) => sweep::drain(place, &queue.name),
        Action::Purge { queues, all } => sweep::purge(place, queues, *all),
    }
}
